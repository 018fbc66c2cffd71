"""Explains each step of a request in Varnish, for `make trace`."""

from collections.abc import Callable, Iterator

from .explaining import absent, expired
from .varnishlog import Request, Transaction

# The keys are the return values of the VCL's subroutines.
SENTENCES: dict[str, str | Callable[[Request], str]] = {
    "recv -> hash": "may be in the cache",
    "recv -> pass": "not looked up",
    "recv -> pipe": "a WebSocket: bytes are copied from here on",
    "recv -> synth": "answered by Varnish itself",
    "recv -> vcl": "handed over to another VCL (handover.vcl)",
    "hash -> lookup": "looked up by host and URL",
    "hit -> deliver": lambda seen: f"a copy that {_age(seen)}",
    "hit -> restart": "a copy so old that a new one is fetched first",
    "miss -> fetch": absent,
    "miss -> restart": "it has waited, and no new copy has come: look for the old one",
    "miss -> synth": "in the meantime the old copy has gone",
    "pass -> fetch": "the response will be for this client alone",
    "pipe -> pipe": "connected to the backend",
    "backend_fetch -> fetch": "the backend is asked",
    "backend_fetch -> abandon": "not asked: it has just failed",
    "backend_response -> deliver": "its response is accepted",
    "backend_response -> error": "its response is an error",
    "backend_error -> retry": "the request is repeated once",
    "backend_error -> abandon": "the old copy stays",
    "backend_error -> deliver": "given up",
    "deliver -> restart": "the fetch has failed: look for the old copy",
    "deliver -> synth": "the fetch has failed, and there is no copy",
    "deliver -> deliver": "sent",
    "synth -> deliver": "Varnish's own page",
}


def steps(seen: Request) -> Iterator[tuple[str, str]]:
    """Say what Varnish did, and why. A fetch that the request waited for, or a part of its page, is listed
    where it happened; a fetch in the background is listed at the end.
    """
    caused = {each.xid: each for each in (*seen.restarts, *seen.fetches)}
    parts = {part.client.xid: part for part in seen.parts}

    def tell(transaction: Transaction) -> Iterator[tuple[str, str]]:
        step, looked_up = "", False
        for tag, value in transaction.records:
            match tag, value.split():
                case "VCL_call", [name]:
                    step = name.lower()
                    if step == "backend_response":
                        yield "", _answered(transaction)
                case "VCL_return", [action, *_]:
                    if step == "recv":
                        looked_up = action == "hash"
                    elif step == "hash" and not looked_up:  # Varnish computes the key in any case
                        continue
                    sentence = SENTENCES.get(f"{step} -> {action}", "")
                    yield f"{step} -> {action}", sentence if isinstance(sentence, str) else sentence(seen)
                    if (step, action) == ("backend_response", "deliver"):
                        yield "", _stored(seen, transaction)
                case "BackendOpen", [_, backend, *_, last]:
                    connection = "a connection that was open" if last == "reuse" else "a new connection"
                    yield "", f"over {connection} to {backend}"
                case "VCL_Log", ["rule:", *_]:
                    yield "rule", value.removeprefix("rule: ")
                case "FetchError", _:
                    yield "", f"failed: {value}"
                case "Timestamp", ["Resp:", _, total, _]:
                    yield "", f"done after {_ms(float(total))}"
                case "Link", [_, xid, reason, *_] if int(xid) in parts:
                    yield "part", parts[int(xid)].url
                    yield from steps(parts[int(xid)])
                case "Link", [_, xid, reason, *_] if int(xid) in caused and reason != "bgfetch":
                    yield from tell(caused[int(xid)])

    yield from tell(seen.client)
    for fetch in seen.fetches:
        if fetch.reason == "bgfetch":
            yield "in the background", "a fetch for later requests"
            yield from tell(fetch)


def _age(seen: Request) -> str:
    return expired(seen) if seen.remaining < 0 else f"stays fresh for {seen.remaining:.0f} s"


def _answered(fetch: Transaction) -> str:
    lifetime = fetch.header("Cache-Control", "BerespHeader")
    said = f"Cache-Control: {lifetime}" if lifetime else "no Cache-Control"
    return f"answered {fetch.first('BerespStatus')} after {_ms(fetch.until('Beresp') or 0)}, {said}"


def _stored(seen: Request, fetch: Transaction) -> str:
    """A response that is not stored has a lifetime too: until it ends, requests for it go to the backend in
    parallel, because they could not share a response.
    """
    if "PASS" in seen.client.calls:
        return "not stored: it is a pass"
    _, ttl, grace, *_, storable = fetch.last_ttl
    if storable != "cacheable":
        return f"not stored; for {ttl} s requests for this do not wait for each other (hit-for-miss)"
    if grace == "0":
        return f"kept for {ttl} s, and no longer: it must be revalidated"
    return f"kept for {ttl} s, and for another {grace} s in case the backend fails"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"

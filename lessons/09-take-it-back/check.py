"""The fox went on both hosts and the diva stayed; then the diva went by its tag; from outside: 405."""

from checking import Attempt, Choice, Question
from logs.varnishlog import Request

HOSTS = ("localhost", "classic.localhost")
TAG = "medium-diva-svg"

QUESTION = Question(
    right=Choice(
        "It bans all objects that carry this path.",
        "A ban is a condition on objects, tested when one is looked up and by a background thread.",
    ),
    wrong=(
        Choice(
            "It empties the cache, as a restart of Varnish does.",
            "The diva kept her Age, and the counters their values.",
        ),
        Choice(
            "It purges the path once for each host that it knows.",
            "It has no list of hosts; a theatre can be added any time.",
        ),
        Choice("It ends the lifetime of all that is stored.", "The diva was still a hit."),
    ),
)


def check(attempt: Attempt) -> None:
    """In the order of the four steps. The last purge of each kind counts, so a step can be repeated."""
    need = attempt.need

    fox = {host: pictures(attempt, "fox", host) for host in HOSTS}
    diva = {host: pictures(attempt, "diva", host) for host in HOSTS}
    for host in HOSTS:
        need(fox[host], f"Request /media/fox.svg?WORD on {host} first.")
        need(diva[host], f"Request /media/diva.svg?WORD on {host} first.")

    purges = attempt.purges()
    inside = [purge for purge in purges if purge.client.first("ReqStart").endswith("purge")]
    of_fox = [purge.began for purge in inside if purge.path == "/media/fox.svg"]
    need(
        of_fox,
        'You have not purged the fox yet: make purge URL="/media/fox.svg?WORD". (A ban by varnishadm has '
        "the same effect on one Varnish; make purge does what the backend does, for all of them.)",
    )
    for host in HOSTS:
        need(
            before(fox[host], of_fox[-1]) and before(diva[host], of_fox[-1]),
            f"Fox and diva were not in the cache on {host} when you purged the fox: warm them, purge again.",
        )
        again = after(fox[host], of_fox[-1])
        need(again, f"Request the fox on {host} once more: has it gone there too?")
        need(again[0].outcome == "miss", f"On {host} the fox was a {again[0].outcome} after the purge.")
        stayed = after(diva[host], of_fox[-1])
        need(stayed, f"Request the diva on {host} too: it must have stayed.")
        need(
            stayed[0].object in {request.object for request in before(diva[host], of_fox[-1])},
            f"On {host} the diva went as well: the purge removed too much. Purge the fox again, alone.",
        )

    outside = [purge for purge in purges if purge not in inside and attempt.word in purge.url]
    need(
        outside,
        "Try the purge from outside too: "
        f'curl -sI -X PURGE "http://localhost:{attempt.stack.http_port}/media/fox.svg?WORD"',
    )
    need(
        outside[-1].status == 405,
        f"A purge from outside was answered with {outside[-1].status}: so any client could empty the cache. "
        "Try it with the shipped configuration.",
    )

    tagged = [purge.began for purge in inside if purge.header("X-Tag") == TAG and purge.began > of_fox[-1]]
    need(tagged, f"The diva has not gone by its own tag yet: make purge TAG={TAG}")
    for host in HOSTS:
        again = after(diva[host], tagged[-1])
        need(again, f"Request the diva on {host} once more: has it gone there too?")
        need(again[0].outcome == "miss", f"On {host} the diva was a {again[0].outcome} after the purge.")


def pictures(attempt: Attempt, name: str, host: str) -> list[Request]:
    """The learner's requests for one of the pictures."""
    return [r for r in attempt.requests(f"/media/{name}.svg", host) if r.method in ("GET", "HEAD")]


def before(requests: list[Request], time: float) -> list[Request]:
    """Those that came before a time."""
    return [request for request in requests if request.began < time]


def after(requests: list[Request], time: float) -> list[Request]:
    """Those that came after it."""
    return [request for request in requests if request.began > time]

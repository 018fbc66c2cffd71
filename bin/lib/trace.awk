# Explains one request from the output of varnishlog: each step of the VCL, and the reason for it. `unasked` says why
# there may be no such request.
BEGIN {
    why["RECV hash"] = "may be in the cache"
    why["RECV pass"] = "never cached: another method, a private path (passed.vcl), a cookie or Authorization"
    why["RECV pipe"] = "a WebSocket: bytes are copied from here on"
    why["RECV synth"] = "answered by Varnish itself"
    why["RECV vcl"] = "handed over to another VCL (handover.vcl)"
    why["HASH lookup"] = "looked up by host and URL"
    why["HIT deliver"] = "found"
    why["MISS fetch"] = "no copy, or one too old to use"
    why["MISS synth"] = "no copy, and the backend has failed"
    why["PASS fetch"] = "the backend is asked, and the response is for this client alone"
    why["BACKEND_FETCH fetch"] = "the backend is asked"
    why["BACKEND_RESPONSE deliver"] = "its response is accepted"
    why["BACKEND_RESPONSE error"] = "its response is an error"
    why["BACKEND_ERROR retry"] = "the request is repeated once"
    why["BACKEND_ERROR abandon"] = "the old copy stays"
    why["BACKEND_ERROR deliver"] = "given up"
    why["DELIVER restart"] = "the fetch has failed: look for an old copy"
    why["DELIVER synth"] = "the fetch has failed, and a pass has no copy"
    why["DELIVER deliver"] = "sent"
    why["PIPE pipe"] = "connected to the backend"
    why["SYNTH deliver"] = "Varnish's own page"
}
# The log has a fetch after the request that caused it: the later steps of the request are printed last.
function tell(left, right,   line) {
    line = sprintf("  %-28s %s\n", left, right)
    if (waiting && $1 == "-") afterwards = afterwards line; else printf "%s", line
    seen = 1
}
function ms(seconds) { return sprintf("%.1f ms", seconds * 1000) }
function s(seconds) { return sprintf("%.0f s", seconds) }

# How the backend's response is stored. One that is not stored has a lifetime too: until it ends, requests for it go to
# the backend in parallel, because they could not share a response.
function fate() {
    if (passed) return "not stored: it is a pass"
    if (storable == "cacheable" && grace == 0) return "kept for " s(kept) ", and no longer: it must be revalidated"
    if (storable == "cacheable") return "kept for " s(kept) ", and for another " s(grace) " in case the backend fails"
    return "not stored; for " s(kept) " requests for this do not wait for each other (hit-for-miss)"
}

# No request waits for a background fetch.
$2 == "Link" && $3 == "bereq" && $NF != "bgfetch" { waiting = 1 }
$2 == "Begin" && $3 == "bereq" {
    passed = ($NF == "pass")
    if ($NF == "bgfetch") tell("in the background", "a fetch for later requests")
}
$2 == "VCL_call" { step = $3 }
# Varnish computes the key even if it does not look anything up.
$2 == "VCL_return" && step == "RECV" { cacheable = ($3 == "hash") }
$2 == "VCL_return" && (step != "HASH" || cacheable) {
    tell(tolower(step) " -> " $3, why[step " " $3])
    if (step == "BACKEND_RESPONSE" && $3 == "deliver") tell("", fate())
}
$2 == "Hit" && $4 >= 0 { tell("", "a copy that stays fresh for " s($4)) }
$2 == "Hit" && $4 < 0 { tell("", "a copy that expired " s(-$4) " ago: served immediately, while one request fetches") }
$2 == "HitMiss" { tell("", "the last response could not be stored, so requests do not wait for each other") }
$2 == "BackendOpen" { tell("", "over " ($NF == "reuse" ? "a connection that was open" : "a new connection") " to " $4) }
$2 == "FetchError" { sub(/^-+ +FetchError +/, ""); tell("", "failed: " $0) }
$2 == "BerespStatus" { status = $3; lifetime = "no Cache-Control" }
$2 == "BerespHeader" && tolower($3) == "cache-control:" { lifetime = $0; sub(/^-+ +BerespHeader +/, "", lifetime) }
$2 == "Timestamp" && $3 == "Beresp:" { took = ms($6) } # Varnish 7.1 logs it before the status
$2 == "VCL_call" && $3 == "BACKEND_RESPONSE" { tell("", "answered " status " after " took ", " lifetime) }
$2 == "TTL" { kept = $4; grace = $5; storable = $NF }
$2 == "Timestamp" && $3 == "Resp:" { tell("", "done after " ms($5)) }
END {
    printf "%s", afterwards
    if (!seen) print "  was not asked" (unasked ? ": " unasked : "")
}

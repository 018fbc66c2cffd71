# A request as varnishlog tells it, in the words of somebody who wants to know why.
BEGIN {
    why["RECV hash"] = "may be in the cache"
    why["RECV pass"] = "never cached: another method, a private path (routes.vcl), a cookie or a password"
    why["RECV pipe"] = "a WebSocket: from here on only bytes"
    why["RECV synth"] = "answered by Varnish itself"
    why["RECV vcl"] = "handed over to another VCL (handover.vcl)"
    why["HASH lookup"] = "looked for under its host and URL"
    why["HIT deliver"] = "found"
    why["MISS fetch"] = "not there, or too old to be used"
    why["MISS synth"] = "not there, and the backend has failed"
    why["PASS fetch"] = "the backend is asked, and the answer belongs to this client alone"
    why["BACKEND_FETCH fetch"] = "the backend is asked"
    why["BACKEND_RESPONSE deliver"] = "its answer is taken"
    why["BACKEND_RESPONSE error"] = "its answer is a failure"
    why["BACKEND_RESPONSE abandon"] = "its answer is a failure: the old copy stays"
    why["BACKEND_ERROR retry"] = "once more"
    why["BACKEND_ERROR abandon"] = "the old copy stays"
    why["DELIVER restart"] = "a failure: is there an old copy after all?"
    why["DELIVER deliver"] = "on its way"
}
# The log tells of a fetch after the request that caused it; what the request did afterwards has to wait.
function tell(left, right,   line) {
    line = sprintf("  %-28s %s\n", left, right)
    if (waiting && $1 == "-") afterwards = afterwards line; else printf "%s", line
    seen = 1
}
function ms(seconds) { return sprintf("%.1f ms", seconds * 1000) }

$2 == "Link" && $3 == "bereq" { waiting = 1 }
$2 == "VCL_call" { step = $3 }
$2 == "VCL_return" {
    tell(tolower(step) " -> " $3, why[step " " $3])
    if (step == "BACKEND_RESPONSE") tell("", "kept for " kept " s, and for another " grace " s in case the backend fails")
}
$2 == "Hit" { tell("", "a copy that stays fresh for " int($4) " s") }
$2 == "HitMiss" { tell("", "the last answer could not be kept, so nobody waits for this one") }
$2 == "BackendOpen" { tell("", "over " ($NF == "reuse" ? "a connection that was open" : "a new connection") " to " $4) }
$2 == "FetchError" { sub(/^-+ +FetchError +/, ""); tell("", "failed: " $0) }
$2 == "BerespStatus" { status = $3 }
$2 == "Timestamp" && $3 == "Beresp:" { asked = $6 }
$2 == "TTL" && $3 == "RFC" { tell("", "answered after " ms(asked) "; its own headers would keep it for " $4 " s") }
$2 == "TTL" { kept = $4; grace = $5 }
$2 == "Timestamp" && $3 == "Resp:" { tell("", "done after " ms($5)) }
END {
    printf "%s", afterwards
    if (!seen) print "  was not asked"
}

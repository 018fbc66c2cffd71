# Reads a line for each container, "SERVICE STATE HEALTH", then "SERVICE expected" for each service that should run.
# Prints which services are missing or do not run as they should, and what to type.
BEGIN {
    cure["stopped"] = cure["created"] = cure["dead"] = "make up"
    cure["restarting"] = "docker compose logs"
    cure["paused"] = "docker compose unpause"
    cure["unhealthy"] = "docker compose restart"
}
$2 == "expected" {
    if (!($1 in seen)) print $1 " is missing. Type: make up"
    next
}
{
    seen[$1]
    state = $2 == "running" && $3 ? $3 : $2
}
state ~ /^(running|healthy)$/ { next }
state == "exited" { state = "stopped" }
state == "starting" {
    print $1 " is starting."
    next
}
{ print $1 " is " state ". Type: " cure[state] (cure[state] == "make up" ? "" : " " $1) }

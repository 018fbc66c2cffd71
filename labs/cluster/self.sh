#!/bin/sh
# A Varnish that knows the others, self-1 to self-$NODES. Whichever of them is asked routes the request to the file's
# owner, by a consistent hash of its own; so nginx may ask any. With COPIES=2 the owner fetches a file from the next one
# on the ring instead of from the backend, so that two of them have it.
# https://varnish-cache.org/docs/7.7/reference/vmod_directors.html#directors-shard
set -eu
me=self_${NODE#self-}
names="backend $(seq -f self-%g -s ' ' "$NODES")"

# addresses: a line "NAME ADDRESS" for each name that the engine knows, which are those of running containers.
addresses() { for name in $names; do getent ahostsv4 "$name" | awk -v name="$name" 'NR == 1 { print name, $1 }'; done; }

# rules: the VCL, for the addresses in $known.
rules() {
    echo 'vcl 4.1; import directors;'
    echo "$known" | while read -r name address; do
        [ "$name" != backend ] || { echo "backend upstage { .host = \"$address\"; .port = \"8081\"; }" && continue; }
        echo "backend self_${name#self-} { .host = \"$address\"; .port = \"8083\"; .connect_timeout = 0.3s;"
        echo '    .probe = { .url = "/.varnish/health"; .interval = 1s; .timeout = 0.5s; .window = 2; .threshold = 1; } }'
    done
    echo 'sub vcl_init { new ring = directors.shard();'
    for slot in $(seq "$NODES"); do echo "    ring.add_backend(self_$slot);"; done
    echo '    ring.reconfigure(67); }'
    cat <<END
sub vcl_recv {
    if (req.url == "/.varnish/health") { return (synth(200)); }
    if (req.http.X-Routed == "copy") {
        set req.backend_hint = upstage;
        return (hash);
    }
    set req.backend_hint = ring.backend(by=KEY, key=ring.key(req.http.Host + req.url), resolve=NOW);
    if (req.backend_hint != $me) {
        set req.http.X-Routed = "owner";
        return (pass);
    }
    set req.backend_hint = upstage;
    if ($COPIES > 1) {
        set req.http.X-Routed = "copy";
        set req.backend_hint = ring.backend(by=KEY, key=ring.key(req.http.Host + req.url), alt=1, resolve=NOW);
        if (req.backend_hint == $me) { set req.backend_hint = upstage; }
    }
    return (hash);
}
sub vcl_backend_response {
    set beresp.ttl = 12h;
    if (beresp.status != 200 && beresp.status != 206) { set beresp.uncacheable = true; set beresp.ttl = 0s; }
    unset beresp.http.Cache-Control;
}
sub vcl_hit { set req.http.Cache-Status = "varnish; hit; node=$NODE"; }
sub vcl_miss { set req.http.Cache-Status = "varnish; fwd=uri-miss; node=$NODE"; }
sub vcl_deliver {
    if (req.http.Cache-Status) { set resp.http.Cache-Status = req.http.Cache-Status; }
}
END
}

known=
# Writes the VCL if every name has an address, and one of them is new: a container that is replaced has another one.
changed() {
    now=$(addresses)
    [ "$(echo "$now" | wc -l)" = $((NODES + 1)) ] && [ "$now" != "$known" ] || return 1
    known=$now
    rules >/tmp/self.vcl
}

until changed; do sleep 0.3; done
while sleep 1; do
    if changed; then
        version=rules-$(date +%s)
        varnishadm -n /var/lib/varnish/varnishd vcl.load "$version" /tmp/self.vcl
        varnishadm -n /var/lib/varnish/varnishd vcl.use "$version"
    fi
done &
exec varnishd -F -n /var/lib/varnish/varnishd -f /tmp/self.vcl -a :8083 -s "$VARNISH_STORAGE" -s Transient=malloc,64m

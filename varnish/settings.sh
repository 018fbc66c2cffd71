# shellcheck shell=sh disable=SC2034  # what is set here is used by the two that source it
# Sourced by start.sh and reload.sh: where things are, and the VCL that depends on it.
host=${1:-}
folder=$(cd "$(dirname "$0")" && pwd)
sockets=${VARNISH_SOCKETS:-/run/proscenium}     # shared with nginx and the backends
generated=${VARNISH_GENERATED:-/tmp/varnish}    # what is written here at every start; vcl_path names it first
cli=${host:-127.0.0.1}:8180                     # where varnishd takes orders, from whoever knows the secret
secret=$generated/secret

# Each load has a name of its own: the version that runs stays until the next one has compiled.
stamp=$(date +%Y-%m-%d_%H-%M-%S)_$$
classic=classic_$stamp
default=default_$stamp

write_vcl() {
    mkdir -p "$generated"
    for file in backends mirror second; do
        sed "s,/run/proscenium,$sockets," "$folder/$file.vcl" >"$generated/$file.vcl"
    done
    # A profile is on when its backend has made its socket.
    {
        echo 'include "handover.vcl";'
        for profile in mirror second; do
            [ ! -S "$sockets/$profile.sock" ] || echo "include \"$profile.vcl\";"
        done
    } >"$generated/profiles.vcl"
}

# shellcheck shell=sh disable=SC2154  # generated is set by the scripts that source this one
# The name servers that this machine or container was given: Docker's is 127.0.0.11, Podman has one for each network.
# nginx wants an IPv6 address in brackets and knows no zone (fe80::1%eth0). Without any it is the C library's default.
servers=$(sed -nE 's/^nameserver[[:space:]]+([0-9.]+)([[:space:]].*)?$/\1/p
                   s/^nameserver[[:space:]]+([[:xdigit:].]*:[[:xdigit:]:.]*)([[:space:]].*)?$/[\1]/p' \
    "${RESOLV_CONF:-/etc/resolv.conf}" 2>/dev/null) || true
# shellcheck disable=SC2086  # one address a line becomes one line
echo resolver ${servers:-127.0.0.1} "valid=2s ipv6=off;" >"$generated/resolver.conf"

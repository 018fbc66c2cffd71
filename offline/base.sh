#!/usr/bin/env bash
# base.sh IMAGE: makes the base of the offline images with debootstrap and imports it into the engine. Needs root.
set -euo pipefail
image=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Use the mirror that this machine installs from: it is known to answer.
# shellcheck disable=SC2016  # apt expands these names
read -r origin mirror < <(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' |
    awk '($1 == "Debian" || $1 == "Ubuntu") && $2 == "main" && $3 !~ /security/ { print $1, $3; exit }')
case $origin in
Debian) suite=trixie components=main ;;
# A mirror of Ubuntu does not carry Debian; Ubuntu's own release has the same programs.
Ubuntu) suite=$(. /etc/os-release && echo "$VERSION_CODENAME") components=main,universe ;;
*) echo "No Debian or Ubuntu mirror in this machine's package sources" >&2 && exit 1 ;;
esac
debootstrap --variant=minbase --include=ca-certificates --components="$components" "$suite" "$work/root" "$mirror"

# Behind a proxy that inspects TLS only this machine's bundle contains the proxy's certificate.
cp -L /etc/ssl/certs/ca-certificates.crt "$work/root/etc/ssl/certs/ca-certificates.crt"
rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/*
tar -C "$work/root" -c . | docker import - "$image"

# shellcheck shell=bash
# What this machine has, and what may be installed.

is_root() { [ "$EUID" = 0 ]; }
has() { command -v "$1" >/dev/null 2>&1; }
is_debian_like() { has apt-get && grep -qE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release; }

may_install() { is_root && is_debian_like; }

# require_python WHAT [VERSION]: exits with a message about WHAT unless this machine has Python 3.11, or that version.
require_python() {
    python3 -c 'import sys; sys.exit(sys.version_info < tuple(map(int, sys.argv[1].split("."))))' "${2:-3.11}" 2>/dev/null ||
        die "$1 needs Python ${2:-3.11} or newer on this machine."
}

# Installs distribution packages without starting their services, which would take our ports.
install_packages() {
    local guard=/usr/sbin/policy-rc.d
    if [ -e $guard ]; then guard=; else printf '#!/bin/sh\nexit 101\n' >$guard && chmod +x $guard; fi
    # shellcheck disable=SC2064  # the path is known now
    trap "rm -f $guard" RETURN EXIT
    export DEBIAN_FRONTEND=noninteractive
    quietly apt-update apt-get -o DPkg::Lock::Timeout=300 update
    quietly "apt-$1" apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

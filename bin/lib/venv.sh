# shellcheck shell=bash
# One virtual environment for native mode, the tests and the labs; their lock files agree with each other (make lock).

# ensure_venv LOCK: installs what LOCK lists into .venv, unless it is already installed.
ensure_venv() {
    local lock=$1 stamp
    stamp=.venv/installed-$(cksum <"$lock" | tr ' ' -)
    [ -e "$stamp" ] && return
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        may_install || die "python3-venv is missing. Type: sudo apt-get install python3-venv"
        install_packages python3 python3-venv
    fi
    step "Installing the Python packages of $lock into .venv"
    # What an interrupt has left half-made is made again.
    if [ ! -x .venv/bin/pip ] || [ -e .venv/unfinished ]; then python3 -m venv --clear .venv; fi
    touch .venv/unfinished
    (quietly "pip-$(basename "$(dirname "$lock")")" .venv/bin/pip install -q --disable-pip-version-check --require-hashes -r "$lock") ||
        { rm .venv/unfinished && exit 1; } # pip itself has failed, and left what was there
    # A `target` in the user's pip.conf leads elsewhere.
    .venv/bin/pip show -q "$(sed -n '1s/==.*//p' "$lock")" 2>/dev/null || die "pip has not installed $lock into .venv. Its settings: pip config list"
    touch "$stamp"
    rm .venv/unfinished
}

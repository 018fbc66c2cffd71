# shellcheck shell=bash
# Each command in either mode: those that begin with containers_ and with native_.
. bin/lib/containers.sh
. native/native.sh

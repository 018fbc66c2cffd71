# shellcheck shell=bash
# Each command in every mode: those that begin with containers_, with native_ and with swarm_.
. bin/lib/containers.sh
. bin/lib/swarm.sh
. native/native.sh

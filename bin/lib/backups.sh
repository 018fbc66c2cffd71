# shellcheck shell=bash
# Sourced by backup and restore: which UpStage is meant, and where its backups are.
. bin/lib/modes.sh

use_started_mode
require_stack
require_python "make $asked" 3.9
THEATRES=$(started_theatres)
if [ -z "${THEATRE:-}" ] && is_other_machine; then die "The data are on the first machine, $FIRST_MACHINE."; fi
if without upstage; then die "UpStage does not run here (WITH=upstage starts it), and a backup is of its data."; fi

# The service with the data: the backend, or a theatre.
service=$(active_server) backups=backups/$COMPOSE_PROJECT_NAME
if [ -n "${THEATRE:-}" ]; then
    [[ " $THEATRES " == *" $THEATRE "* ]] || die "THEATRE is '$THEATRE'; the stack has these: ${THEATRES:-none}."
    service=$THEATRE backups+=.$THEATRE
fi

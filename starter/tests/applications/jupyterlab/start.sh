#!/bin/sh
# One password and one file, on port 8000. settings.py is the head of recipes/jupyterlab.vcl.
set -eu
hash=$(python -c 'from jupyter_server.auth import passwd; print(passwd("the curtain rises"))')
mkdir -p /plays
echo "The play about Hamlet." >/plays/hamlet.txt
exec jupyter lab --allow-root --no-browser --ip=0.0.0.0 --port=8000 --config=/settings.py --ServerApp.root_dir=/plays \
    --PasswordIdentityProvider.hashed_password="$hash"

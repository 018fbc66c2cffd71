#!/usr/bin/env bash
# open [FOLDER]: puts Proscenium on a machine without internet, from the bundle that this file is part of (make bundle):
# loads the images and clones the repository into FOLDER, ./proscenium by default.
set -euo pipefail
bundle=$(cd "$(dirname "$0")" >/dev/null && pwd)
folder=${1:-proscenium}
say() { printf '%s\n' "$*"; }
step() { printf '==> %s (%d s)\n' "$*" "$SECONDS"; }
die() { say "$*" >&2 && exit 1; }

[ ! -e "$folder" ] || die "'$folder' already exists. Remove it, or name another folder: $0 FOLDER"
{ read -r machine && read -r python; } <"$bundle/made-for"
[ "$machine" = "$(uname -m)" ] || die "The images are for $machine, but this machine is $(uname -m): make the bundle on such a machine."
for program in docker git make python3; do
    command -v $program >/dev/null || die "$program is missing. It is not in the bundle: install it while there is a network."
done
docker info >/dev/null 2>&1 || die "No container engine answers: start Docker, and let this user use it (docker info says more)."

step "Comparing checksums"
(cd "$bundle" && sha256sum --check --quiet SHA256SUMS) || die "The bundle is damaged: copy it again."
step "Loading the images"
docker load -i "$bundle/images.tar.gz"
step "Cloning the repository into $folder"
git clone -q -o origin "$bundle/repository.bundle" "$folder"
git -C "$folder" remote remove origin
mkdir "$folder/.run"
cp -r "$bundle/wheels" "$folder/.run/wheels"

printf '\nReady, in %d seconds. Type:\n    cd %s\n    make up\n' "$SECONDS" "$folder"
if ! python3 -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$python')"; then
    say "The tests' Python packages are for Python $python, but this machine has $(python3 -V): everything but make test will work."
fi

#!/usr/bin/env bash
# images.sh [FILE]: builds or chooses the images of the stack, and saves them into FILE, with the image that containerd needs
# for every pod; without FILE, loads the two that are built here into the cluster that `kind` has made. Which nginx and
# Varnish were chosen is in .run/kubernetes/images.env, for the overlay of the test.
file=${1:-}
. "${0%/*}/../../../bin/lib/common.sh"
. offline/images.sh

# As in extras/kubernetes/README.md.
export BACKEND_IMAGE=registry.example.org/backend:1 POLICYD_IMAGE=registry.example.org/policyd:1
choose_images
build_images
mkdir -p .run/kubernetes
printf '%s=%s\n' NGINX_IMAGE "${NGINX_IMAGE:-}" VARNISH_IMAGE "${VARNISH_IMAGE:-}" >.run/kubernetes/images.env
if [ -z "$file" ]; then
    exec kind load docker-image $BACKEND_IMAGE $POLICYD_IMAGE # it pulls the others itself
fi

pause=proscenium/pause:kubernetes # containerd.toml
tar -c -C .run/kubernetes/bin pause | docker import -c 'ENTRYPOINT ["/pause"]' - $pause >/dev/null
mapfile -t images < <(docker compose config --images nginx varnish backend policyd | sort -u)
for image in "${images[@]}"; do here "$image" || docker pull -q "$image"; done
docker save -o "$file" $pause "${images[@]}"
docker rmi $pause $BACKEND_IMAGE $POLICYD_IMAGE >/dev/null

# shellcheck shell=bash
# Chooses the images: the official ones if they are on this machine or a registry has them, otherwise those of
# offline/Dockerfile.

. bin/lib/build.sh

choose_images() {
    local image
    for image in $(base_images); do
        if here "$image" || registry_answers "$image"; then continue; fi
        say "No image registry answers for $image: the images come from Debian packages (offline/README.md)."
        ensure_offline_images
        # Exported, because Compose prefers the environment to .env.
        set -a
        . offline/images.env
        set +a
        write_override
        return
    done
    # Images named in the environment or .env say nothing about the official ones.
    if [ -z "${NGINX_IMAGE:-}${VARNISH_IMAGE:-}${PYTHON_IMAGE:-}${LOCUST_IMAGE:-}${PROMETHEUS_IMAGE:-}" ] && override_is_ours; then rm $override .run/$override; fi
}

# images_in_use: prints the images of the Compose files in use, and the one that ours are built on.
images_in_use() { { docker compose config --images && python_image; } | sort -u; }
# base_images: prints the images that Compose would pull: all but the two that it builds. COMPOSE_FILE leaves our override out.
base_images() {
    images_in_use | grep -vxF -e "${BACKEND_IMAGE:-$COMPOSE_PROJECT_NAME-backend}" -e "${POLICYD_IMAGE:-$COMPOSE_PROJECT_NAME-policyd}"
}

registry_answers() { timeout 8 docker manifest inspect "$1" >/dev/null 2>&1; }

# --- Building

# ensure_offline_images: builds the images. A label of each is a checksum of its sources: an image whose checksum is still right
# is not built again.
ensure_offline_images() {
    local target content targets=(nginx varnish python)
    if ! is_other_machine; then targets+=(locust); fi
    if chosen extras/observe/compose.yaml; then targets+=(prometheus); fi
    ensure_base
    content=$({ docker image inspect -f '{{.RootFS.Layers}}' proscenium/base:trixie && cat offline/Dockerfile loadtest/requirements.lock; } | cksum | tr ' ' -)
    for target in "${targets[@]}"; do
        if [ "$(label_of "proscenium/$target:offline" content)" = "$content" ]; then continue; fi
        step "Building the offline image for $target"
        quietly "build-$target" docker build --label "content=$content" -f offline/Dockerfile --target "$target" \
            -t "proscenium/$target:offline" loadtest
    done
}

ensure_base() {
    if here proscenium/base:trixie; then return; fi
    may_install || die "Without a registry the images are built from Debian packages, which needs root on Debian or Ubuntu. Type: sudo make up, or make up MODE=native"
    has debootstrap || { step "Installing debootstrap"; install_packages debootstrap; }
    step "Making the offline base image (debootstrap, about half a minute)"
    quietly debootstrap offline/base.sh proscenium/base:trixie
}

# --- Plain Compose commands. Compose reads compose.override.yaml automatically, so a copy of offline/compose.yaml gives it
# the names of the offline images. A file of that name that the user has made or changed stays.

write_override() {
    if [ ! -e $override ] || override_is_ours; then
        mkdir -p .run
        rm -f $override # it may be a link
        cp offline/compose.yaml $override
        cp offline/compose.yaml .run/$override
    else
        say "$override is yours, so plain Compose commands need this first: set -a; . offline/images.env; set +a"
    fi
}

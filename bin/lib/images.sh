# shellcheck shell=bash
# Which images: the official ones where they are here or can be had, else our own from Debian packages.

# Compose reads this file by itself. A link to ours tells plain Compose commands of the offline images; the user may have
# another one.
override=compose.override.yaml
override_is_ours() { [ "$(readlink $override)" = offline/compose.yaml ]; }

# Compose without our override: the images that would be used if there were a registry.
compose_as_delivered() { if override_is_ours; then docker compose -f compose.yaml "$@"; else docker compose "$@"; fi; }

# The images that this checkout does not build but needs, by the names compose.yaml gives them.
base_images() {
    compose_as_delivered config --images | grep -vxF -e "${BACKEND_IMAGE:-$COMPOSE_PROJECT_NAME-backend}" -e "${POLICYD_IMAGE:-$COMPOSE_PROJECT_NAME-policyd}"
    compose_as_delivered config | sed -n 's/^ *PYTHON_IMAGE: //p' | sort -u
}

here() { docker image inspect "$1" >/dev/null 2>&1; }

registry_answers() { timeout 8 docker manifest inspect "$1" >/dev/null 2>&1; }

choose_images() {
    local image
    for image in $(base_images); do
        here "$image" && continue
        registry_answers "$image" && continue
        say "The image registry does not answer for $image."
        ensure_offline_images
        # Exported: Compose lets the environment win over .env.
        set -a
        . offline/images.env
        set +a
        break
    done
    tell_plain_compose
}

# Links or removes our override, by which images have been chosen.
tell_plain_compose() {
    if [[ $(base_images) != *:offline* ]]; then
        if override_is_ours; then rm $override; fi
    elif [ ! -e $override ]; then
        ln -s offline/compose.yaml $override
    elif ! override_is_ours; then
        say "$override is yours, so plain Compose commands need this first: set -a; . offline/images.env; set +a"
    fi
}

ensure_offline_images() {
    local target
    if ! here proscenium/base:trixie; then
        may_install || die "Without a registry the images are built from Debian packages, which takes root on Debian or Ubuntu. Type: sudo make up, or make up MODE=native"
        has debootstrap || { step "Installing debootstrap"; install_packages debootstrap; }
        step "Making the offline base image (debootstrap, about half a minute)"
        quietly debootstrap offline/base.sh proscenium/base:trixie
    fi
    for target in nginx varnish python locust; do
        step "Building the offline image for $target"
        quietly "build-$target" docker build -q -f offline/Dockerfile --target "$target" -t "proscenium/$target:offline" loadtest
    done
}

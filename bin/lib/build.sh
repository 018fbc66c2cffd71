# shellcheck shell=bash
# Builds the images whose code is in this checkout, unless the engine already has one that was built from the same files:
# for another copy of the stack, or brought by a bundle to a machine that can build nothing (make bundle).

# build_images: builds the images of the backend and of the policy daemon, if these run here. Compose itself builds those of
# services that the user has added.
build_images() {
    local base part name image content found composed hint=
    if [ -n "$(client_proxy)" ]; then hint="The build goes by way of $(client_proxy), which is in Docker's client configuration."; fi
    composed=$(docker compose config --images)
    base=$(python_image)
    here "$base" || quietly pull docker pull "$base"
    for part in backend policyd; do
        name=${part^^}_IMAGE
        image=${!name:-$COMPOSE_PROJECT_NAME-$part}
        grep -qxF "$image" <<<"$composed" || continue
        content=$(built_from "$part" "$base")
        # Look at the image under its own name first: two builds at the same time leave two images with this label, and with the
        # other one Compose would re-create the service.
        if [ "$(label_of "$image" "proscenium.$part")" = "$content" ]; then continue; fi
        found=$(docker images -q --no-trunc --filter "label=proscenium.$part=$content" | sed -n 1p)
        if [ -n "$found" ]; then docker tag "$found" "$image"; else
            step "Building the image for $part"
            quietly "build-$COMPOSE_PROJECT_NAME" docker build --label "proscenium.$part=$content" \
                --build-arg "PYTHON_IMAGE=$base" -t "$image" "$part"
        fi
    done
}

# python_image: prints the image that both are built on.
python_image() { docker compose -f - config --images <<<'services: { base: { extends: { file: hardened.yaml, service: base } } }'; }

# client_proxy: prints the proxy that Docker's client gives to builds and containers.
client_proxy() { python3 -m proscenium.client_proxy 2>/dev/null || true; } # without Python the hint is left out

label_of() { docker image inspect -f "{{index .Config.Labels \"$2\"}}" "$1" 2>/dev/null || true; }

here() { docker image inspect "$1" >/dev/null 2>&1; }

# built_from FOLDER BASE: prints a checksum of the files and of the image below them. The image's layers count, not its id,
# because engines with another image store give the same image another id.
built_from() {
    {
        docker image inspect -f '{{.RootFS.Layers}}' "$2"
        find "$1" \( -name tests -o -name __pycache__ -o -name '*.egg-info' \) -prune -o -type f -print0 |
            LC_ALL=C sort -z | xargs -0 cksum
    } | cksum | tr ' ' -
}

#!/bin/sh
# Prints the kustomization.yaml of this checkout: the objects beside this script, the images of compose.yaml, your
# settings, and a ConfigMap of each folder that a container reads. RESOURCES names files of further objects, separated by
# commas. Its place is the top folder of the checkout, because kustomize reads no file above its own; and it is printed,
# because kustomize knows no wildcards.
set -eu
cd "$(dirname "$0")/../.."
: "${BACKEND_IMAGE:?names your image of the backend in a registry}" "${POLICYD_IMAGE:?names your image of policyd in a registry}"

# image VARIABLE: the image that Compose would take.
image() {
    reference=
    eval "reference=$(grep -oh "\${$1:-[^}]*}" compose.yaml hardened.yaml | head -n 1)"
    echo "  - { name: $1, newName: \"$reference\" }"
}

# config_map FOLDER: its files, without the folders in it.
config_map() {
    echo "  - name: $(echo "$1" | tr / -)"
    echo "    files:"
    find "$1" -maxdepth 1 -type f ! -name '.*' ! -name '*.md' ! -name Dockerfile ! -name '*.toml' | sort | sed 's/^/      - /'
}

cat <<END
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: proscenium
resources: [extras/kubernetes${RESOURCES:+, $RESOURCES}]
images:
END
for variable in NGINX_IMAGE VARNISH_IMAGE BACKEND_IMAGE POLICYD_IMAGE; do image $variable; done
cat <<END
configMapGenerator:
  - name: settings
    literals:
      - SERVER_NAMES=${SERVER_NAMES:-}
      - TLS_CERTIFICATE=${TLS_CERTIFICATE:-}
      - TLS_CERTIFICATE_KEY=${TLS_CERTIFICATE_KEY:-}
END
for folder in nginx nginx/*/ varnish policyd; do
    case $folder in
    */tests/ | */site/ | */theatres/ | */observe/ | */edge/) ;; # on Kubernetes there is none of these
    *) config_map "${folder%/}" ;;
    esac
    [ "$folder" != varnish ] || echo "      - starter/varnish/analytics.vcl"
done

"""The images that the commands use, official ones or those built from packages; the engine is simulated."""

from pathlib import Path

from tests.bare import functions

REGISTRY = """#!/bin/sh
# An engine. The file `registry` says whether a registry answers; an image's label is in the file of its name.
for last; do :; done
case "$*" in
"compose config --images") echo "${NGINX_IMAGE:-nginx:1}" ;;
"compose -f - config --images") echo "${PYTHON_IMAGE:-python:3}" ;;
"image inspect proscenium/"*) ;;
"image inspect -f {{.RootFS.Layers}}"*) echo base ;;
"image inspect -f"*) cat "built-${last##*/}" ;;
"build --label "*) echo "${3#content=}" >"built-${9##*/}" ;;
*inspect*) [ -e registry ] ;;
esac
"""


def choose_images(bare: Path, **images: str) -> str:
    return functions(bare, ". offline/images.sh; choose_images; echo ${NGINX_IMAGE:-}", **images).stdout


def install_registry(bare: Path) -> None:
    docker = bare.parent / "bin" / "docker"
    docker.write_text(REGISTRY)
    docker.chmod(0o755)


def test_the_offline_images_are_built_anew_after_a_change_and_prometheus_for_its_extra(
    bare: Path,
) -> None:
    install_registry(bare)
    assert choose_images(bare).count("Building") == 4
    assert choose_images(bare).count("Building") == 0
    assert choose_images(bare, EXTRAS="observe").count("Building the offline image for prometheus") == 1
    assert choose_images(bare, EXTRAS="observe").count("Building") == 0
    with (bare / "offline" / "Dockerfile").open("a") as dockerfile:
        dockerfile.write("# changed\n")
    assert choose_images(bare).count("Building") == 4


def test_plain_compose_hears_of_the_offline_images(bare: Path) -> None:
    install_registry(bare)
    override = bare / "compose.override.yaml"
    override.unlink(missing_ok=True)
    for _ in range(2):
        assert choose_images(bare).endswith("proscenium/nginx:offline\n")
        assert override.read_text() == (bare / "offline" / "compose.yaml").read_text()
        assert not override.is_symlink()  # an editor would write through a link
    # Images that the user has named say nothing about the official ones.
    choose_images(bare, NGINX_IMAGE="proscenium/nginx:newest", PYTHON_IMAGE="proscenium/python:newest")
    assert override.exists()
    (bare / "registry").touch()
    assert choose_images(bare) == "\n"
    assert not override.exists()

    override.write_text("services: {}\n")
    assert choose_images(bare) == "\n"
    (bare / "registry").unlink()
    assert "compose.override.yaml is yours" in choose_images(bare)
    assert override.read_text().endswith("services: {}\n")

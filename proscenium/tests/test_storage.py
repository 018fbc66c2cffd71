"""Varnish's storage: whether it fits into the container, and is where Varnish may write."""

import pytest

from proscenium.storage import MB, mistake

OURS = [{"target": "/etc/varnish", "read_only": True}, {"target": "/var/lib/varnish"}]
DISK = {"target": "/cache"}


@pytest.mark.parametrize(
    ("storage", "memory", "sentence"),
    [
        ("malloc,128m", 512, ""),
        ("malloc,128m", 511, "VARNISH_STORAGE=malloc,128m needs more than Varnish's container may have: set"),
        ("malloc,1g", 512, "set VARNISH_MEMORY=2304m"),
        ("file,/tmp/x,257m", 512, "set VARNISH_MEMORY=513m, or a smaller storage"),
        ("file,/tmp/x,256m", 512, ""),
        ("file,/var/lib/varnish/x.bin,1m", 512, "Varnish may write below /tmp only"),
        ("file,/etc/varnish/x.bin,1m", 512, "Varnish may write below /tmp only"),
        ("file,/disk/x.bin,1m", 512, "or where compose.override.yaml mounts a volume"),
        ("file,/cache/varnish.bin,100g", 512, ""),
        ("file,/cache/below/varnish.bin,100g", 512, ""),
    ],
)
def test_what_does_not_fit_is_named(storage: str, memory: int, sentence: str) -> None:
    environment, limit = {"VARNISH_STORAGE": storage}, str(memory * MB)
    found = mistake({"environment": environment, "mem_limit": limit, "volumes": [*OURS, DISK]})
    assert (sentence in found) if sentence else not found

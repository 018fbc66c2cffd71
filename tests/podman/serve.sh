#!/bin/sh
# Podman's Docker-compatible API, on /run/podman/podman.sock, and the two things that systemd does for it elsewhere: a
# control group that it may write to, and the health checks, until they succeed.
set -eu
for controller in /sys/fs/cgroup/*/; do mount -o remount,rw,bind "$controller"; done
while sleep 0.5; do
    for container in $(podman ps -q --filter health=starting); do podman healthcheck run "$container" >/dev/null 2>&1 || true; done
done &
exec podman --cgroup-manager=cgroupfs system service --time=0 unix:///run/podman/podman.sock

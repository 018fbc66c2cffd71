#!/usr/bin/env bash
# node.sh up | kubectl ARGUMENT... | network COMMAND... | down | build
# A Kubernetes of one node on this machine, for test_run.py: etcd, Kubernetes, CoreDNS and the network
# plugins, built from Go modules (twelve minutes once, into .run/kubernetes), and this machine's containerd. Exits with 77
# where that cannot be.
#
# Its processes are in namespaces of their own: all end with the first of them, their mounts end with them, and no address
# or rule is one of this machine. `network` runs a command beside them.
#
# KUBERNETES_ADDRESS, the address of a node that `kind` has made: kubectl reaches that cluster already, so `up` and `down`
# only load the images and remove the stack.
set -euo pipefail

kubernetes=v1.34.2 coredns=v1.12.4 plugins=v1.7.1
name=proscenium-kubernetes # names the network namespace and the control groups
address=10.79.0.1          # the node's, in that network alone
here=$(cd "$(dirname "$0")" && pwd)
work=$here/../../../.run/kubernetes
node=/run/$name # `work`, as the node sees it: paths of sockets must be short
state=$node/state
PATH=$PATH:/usr/sbin:/sbin

skip() {
    echo "No Kubernetes can run here: $*" >&2
    exit 77
}

# --- The parts of the node.

build() (
    versions="$kubernetes $coredns $plugins" log=$work/build.log
    if [ "$(cat "$work/bin/versions" 2>/dev/null)" = "$versions" ]; then return; fi
    command -v go >/dev/null || skip "Go is not installed."
    rm -rf "${work:?}/bin" "${work:?}/go"
    mkdir -p "$work/bin" "$work/go"
    cd "$work/go"
    export GOBIN=$work/bin GOFLAGS=-buildvcs=false
    go mod init node 2>"$log"
    go mod download -json "k8s.io/kubernetes@$kubernetes" >module 2>>"$log" ||
        skip "Go's module proxy does not answer, or Go is too old ($log)."
    # Kubernetes' parts are folders of its repository that its module omits; each is a module of its own, with v0 for v1.
    mapfile -t parts < <(sed -n 's|^\t\(.*\) => \./staging/.*|\1|p' "$(sed -n 's/.*"GoMod": "\(.*\)".*/\1/p' module)")
    for part in "${parts[@]}"; do go mod edit "-replace=$part=$part@v0${kubernetes#v1}"; done
    go mod edit -go=1.24.0 "-require=k8s.io/kubernetes@$kubernetes"
    trap 'tail "$log" >&2' EXIT
    {
        local of=github.com/containernetworking/plugins/plugins
        go_make install $of/main/{bridge,loopback}@$plugins $of/{ipam/host-local,meta/portmap}@$plugins
        go_make install github.com/coredns/coredns@$coredns
        CGO_ENABLED=0 go_make build -o "$GOBIN/pause" "$here/pause.go"
        go_make build -mod=mod -o "$GOBIN/etcd" go.etcd.io/etcd/server/v3
        go_make build -mod=mod -o "$GOBIN/" k8s.io/kubernetes/cmd/kube{-apiserver,-controller-manager,-scheduler,-proxy,let,ctl}
    } >>"$log" 2>&1
    trap - EXIT
    echo "$versions" >"$GOBIN/versions"
)

# go_make COMMAND ARGUMENT...: runs go COMMAND; all other work of this machine comes first.
go_make() {
    local of=k8s.io/component-base/version
    nice -n 15 go "$1" -ldflags "-s -w -X $of.gitVersion=$kubernetes -X $of.gitMajor=1 -X $of.gitMinor=${kubernetes:3:2}" "${@:2}"
}

# --- The node.

up() {
    if [ -n "${KUBERNETES_ADDRESS:-}" ]; then
        "$here/images.sh"
        return
    fi
    [ "$(id -u)" = 0 ] || skip "it needs root."
    for program in docker containerd ctr ip iptables openssl; do
        command -v $program >/dev/null || skip "$program is not installed."
    done
    docker info >/dev/null 2>&1 || skip "no container engine answers."
    build
    exec 9>>"/run/$name.lock" # the node holds the lock until it ends
    flock -n 9 || skip "another one is running. To end it: $0 down"
    down
    trap failed EXIT
    mkdir -p "$work"/state/{certificates,cni,sysctl,volume}
    "$here/images.sh" "$work/state/images.tar"
    ip netns add $name
    # Version 1 of control groups has a tree for each controller.
    for folder in /sys/fs/cgroup/*/tasks; do
        if [ -e "$folder" ]; then mkdir -p "${folder%/tasks}/$name"; fi
    done
    mkdir -p /sys/fs/cgroup/$name
    setsid nsenter --net=/run/netns/$name unshare --mount --pid --fork --kill-child --mount-proc "$here/node.sh" inside \
        >"$work/state/node.log" 2>&1 </dev/null &
    for _ in {1..240}; do
        if kubectl get node node 2>/dev/null | grep -q ' Ready '; then break; fi
        kill -0 $! || exit 1
        sleep 0.5
    done
    kubectl wait --for=condition=Ready node/node --timeout=1s
    kubectl apply -f "$here/volume.yaml"
    trap - EXIT
}

failed() {
    tail -n 5 "$work"/state/*.log >&2 || true
    down
}

# inside: the first process of the node.
inside() {
    local file copy
    export NO_PROXY='*'
    ip link set lo up
    ip link add eth0 type veth peer name cable
    ip link set cable up
    ip address add $address/24 dev eth0
    ip link set eth0 up
    ip route add default dev eth0
    echo 1 >/proc/sys/net/ipv4/ip_forward
    # The kubelet sets these for the whole machine; here it sets copies.
    for file in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_max{keys,bytes}; do
        copy=$work/state/sysctl/${file//\//_}
        cat "/proc/sys/$file" >"$copy"
        mount --bind "$copy" "/proc/sys/$file"
    done
    mkdir -p $node
    mount --bind "$work" $node
    mount --make-shared $node
    cp "$here"/{containerd.toml,kubelet.yaml,kubeconfig,Corefile} $state
    cp "$here/network.conflist" $state/cni
    chmod 777 $state/volume # any pod may write there
    # Whatever their configurations say, the kubelet and containerd write here, too.
    for folder in /run/netns /run/containerd /opt /var/lib /var/log; do
        mkdir -p $folder
        mount -t tmpfs tmpfs $folder
    done
    PATH=$node/bin:$PATH
    cd $state
    echo "nameserver $address" >resolv.conf
    echo 'token,admin,admin,system:masters' >tokens.csv
    openssl genrsa -out accounts.key 2048 2>/dev/null

    part etcd --data-dir etcd --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379
    part containerd --config containerd.toml
    part kube-apiserver --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --advertise-address=$address \
        --cert-dir=certificates \
        --service-account-key-file=accounts.key --service-account-signing-key-file=accounts.key \
        --service-account-issuer=https://kubernetes.default.svc --token-auth-file=tokens.csv --authorization-mode=AlwaysAllow \
        --service-cluster-ip-range=10.96.0.0/16 --kubelet-preferred-address-types=InternalIP
    until [ -S $state/containerd.sock ]; do sleep 0.1; done
    ctr -a $state/containerd.sock -n k8s.io images import --all-platforms images.tar >import.log 2>&1
    until command kubectl --kubeconfig=kubeconfig get --raw=/readyz >ready.log 2>&1; do sleep 0.5; done
    part kube-controller-manager --kubeconfig=kubeconfig --service-account-private-key-file=accounts.key --leader-elect=false
    part kube-scheduler --kubeconfig=kubeconfig --leader-elect=false
    part kubelet --config=kubelet.yaml --kubeconfig=kubeconfig --root-dir=$state/kubelet --cert-dir=$state/certificates \
        --node-ip=$address --hostname-override=node
    part kube-proxy --kubeconfig=kubeconfig --hostname-override=node --cluster-cidr=10.244.0.0/16 \
        --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
    part coredns -conf Corefile
    wait -n || true
    echo "A part of the node has ended."
}

# part PROGRAM ARGUMENT...: starts the program, with a log of its own.
part() { "$@" >"$1.log" 2>&1 & }

kubectl() {
    if [ -n "${KUBERNETES_ADDRESS:-}" ]; then
        command kubectl "$@"
    else
        network "$work/bin/kubectl" --kubeconfig="$here/kubeconfig" "$@"
    fi
}

network() {
    if [ -n "${KUBERNETES_ADDRESS:-}" ]; then "$@"; else NO_PROXY='*' nsenter --net=/run/netns/$name "$@"; fi
}

down() {
    if [ -n "${KUBERNETES_ADDRESS:-}" ]; then
        command kubectl delete namespace proscenium --ignore-not-found
        return
    fi
    ip netns pids $name 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    for _ in {1..100}; do # the groups can be removed when their processes have ended
        find /sys/fs/cgroup -depth -type d -path "*/$name*" -exec rmdir {} + 2>/dev/null || true
        if [ -z "$(find /sys/fs/cgroup -maxdepth 2 -name $name)" ]; then break; fi
        sleep 0.1
    done
    if [ -e /run/netns/$name ]; then ip netns delete $name; fi
    rm -rf --one-file-system "$work/state"
    if [ -d $node ]; then rmdir $node; fi
}

case ${1:-} in
up | down | build | inside) "$1" ;;
kubectl | network) "$@" ;;
*) sed -n 2p "$0" >&2 && exit 1 ;;
esac

#!/bin/sh
# Builds the pinned originals into a cache outside the checkout, only what is missing or has changed.
#   tools/build.sh [name ...]     names: helm3 helm4 probe3 probe4 probe-kubernetes etcd kubernetes kinds kubectl-old
#                                 clientgo python helm-operator helm-operator-plugins crane registries
#                                 probe-bundle opm173 opm151 probe-opm173 probe-opm151; default all
# PODIUM_TOOLS is the cache (default ~/.cache/podium/tools).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${PODIUM_TOOLS:-$HOME/.cache/podium/tools}

if ! command -v go >/dev/null 2>&1; then
    echo "go is missing: install Go 1.26 or newer (https://go.dev/dl, or your system's golang package)," >&2
    echo "then run make tools again. make test works without it, from recorded answers." >&2
    exit 1
fi

# go.sum checks what is downloaded; the public checksum database lacks some of these modules.
export GOSUMDB=off CGO_ENABLED=0 GOWORK=off GOFLAGS=-mod=readonly

h3=helm.sh/helm/v3
h4=helm.sh/helm/v4
flags3="-s -w -X $h3/internal/version.version=v3.22.0"
# An unstamped Helm 3 says that the cluster is v1.20; the release is stamped with its client library's version.
for package in pkg/chartutil pkg/lint/rules; do
    flags3="$flags3 -X $h3/$package.k8sVersionMajor=1 -X $h3/$package.k8sVersionMinor=37"
done
flags4="-s -w -X $h4/internal/version.version=v4.3.1"
# Unstamped servers say v0.0.0-master, which clients refuse.
k=k8s.io/component-base/version
flagsk="-s -w -X $k.gitVersion=v1.36.3 -X $k.gitMajor=1 -X $k.gitMinor=36 -X $k.gitTreeState=clean"
flagsk="$flagsk -X k8s.io/client-go/pkg/version.gitVersion=v1.36.3"
flagso="-s -w -X $k.gitVersion=v1.31.3 -X $k.gitMajor=1 -X $k.gitMinor=31 -X $k.gitTreeState=clean"

# Without these, opm needs libraries of the system.
opm="containers_image_openpgp exclude_graphdriver_btrfs json1"

# build NAME MODULE PACKAGE LDFLAGS [TAGS]: the stamp beside the binary is the hash of all that it is made from.
build() {
    name=$1 module=$2 package=$3 ldflags=$4 tags=${5:-}
    sources="go.mod go.sum tools.go"
    case $name in
        probe-kubernetes) sources="go.mod go.sum probe/*.go" ;;
        probe-bundle) sources="go.mod go.sum *.go" ;;
        probe-opm*) sources="go.mod go.sum probe/*.go ../opmprobe/go.mod ../opmprobe/*.go" ;;
        probe*) sources="$sources probe/main.go ../probe/go.mod ../probe/*.go" ;;
        kubernetes | kubectl-old) sources="go.mod go.sum main.go" ;;
        clientgo) sources="go.mod go.sum *.go" ;;
        kinds) sources="go.mod go.sum kinds/*.go" ;;
    esac
    stamp=$(cd "$here/$module" && { go version; echo "$package $ldflags$tags"; cat $sources; } | sha256sum | cut -d' ' -f1)
    if [ -x "$cache/$name" ] && [ "$(cat "$cache/$name.stamp" 2>/dev/null)" = "$stamp" ]; then
        echo "tools: $name is up to date"
        return
    fi
    echo "tools: building $name ($package), a few minutes the first time ..."
    begin=$(date +%s)
    (cd "$here/$module" && go build -trimpath -tags "$tags" -ldflags "$ldflags" -o "$cache/$name.new" "$package")
    mv "$cache/$name.new" "$cache/$name"
    echo "$stamp" >"$cache/$name.stamp"
    echo "tools: $name done in $(($(date +%s) - begin)) s"
}

# debian PROGRAM ...: programs that the system's packages of the same names bring.
debian() {
    missing=
    for program; do command -v "$program" >/dev/null 2>&1 || missing="$missing $program"; done
    if [ -z "$missing" ]; then
        echo "tools: $* are installed"
        return
    fi
    if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
        echo "tools:$missing missing: install the packages of these names (as root: apt-get install$missing)" >&2
        exit 1
    fi
    echo "tools: installing$missing ..."
    # A new machine knows no packages before it has asked for the lists.
    apt-get update -qq || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >/dev/null
}

# The Python client, in an environment of its own.
python() {
    if ! command -v python3 >/dev/null 2>&1 || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        echo "python3 with its venv module is missing: install Python 3.10 or newer (your system's python3 and python3-venv" >&2
        echo "packages), then run make tools again. make test works without it." >&2
        exit 1
    fi
    stamp=$({ python3 --version; cat "$here/python/requirements.txt"; } | sha256sum | cut -d' ' -f1)
    if [ -x "$cache/python/bin/python" ] && [ "$(cat "$cache/python/stamp" 2>/dev/null)" = "$stamp" ]; then
        echo "tools: python is up to date"
        return
    fi
    echo "tools: installing the Python client, a minute the first time ..."
    rm -rf "$cache/python"
    python3 -m venv "$cache/python"
    "$cache/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/python/requirements.txt"
    echo "$stamp" >"$cache/python/stamp"
}

mkdir -p "$cache"
# Go's own time zones, so that the originals do not read those of the machine.
cmp -s "$(go env GOROOT)/lib/time/zoneinfo.zip" "$cache/zoneinfo.zip" ||
    cp "$(go env GOROOT)/lib/time/zoneinfo.zip" "$cache/zoneinfo.zip"
for name in ${*:-helm3 helm4 probe3 probe4 etcd kubernetes kinds probe-kubernetes kubectl-old clientgo python \
    helm-operator helm-operator-plugins crane registries probe-bundle opm173 opm151 probe-opm173 probe-opm151}; do
    case $name in
        helm3) build helm3 helm3 $h3/cmd/helm "$flags3" ;;
        helm4) build helm4 helm4 $h4/cmd/helm "$flags4" ;;
        probe3) build probe3 helm3 ./probe "$flags3" ;;
        probe4) build probe4 helm4 ./probe "$flags4" ;;
        etcd) build etcd etcd go.etcd.io/etcd/server/v3 "-s -w" ;;
        kubernetes)
            build kubernetes kubernetes . "$flagsk"
            # One binary that is the program it is called as.
            for program in kube-apiserver kube-controller-manager kubectl; do
                ln -sf kubernetes "$cache/$program"
            done
            ;;
        probe-kubernetes) build probe-kubernetes kubernetes ./probe "-s -w" ;;
        kubectl-old) build kubectl-old kubectl-old . "$flagso" ;;
        clientgo) build clientgo clientgo . "-s -w" ;;
        python) python ;;
        kinds) build kinds kubernetes ./kinds "-s -w" ;;
        helm-operator)
            build helm-operator helm-operator github.com/operator-framework/operator-sdk/cmd/helm-operator "-s -w" ;;
        helm-operator-plugins)
            build helm-operator-plugins helm-operator-plugins github.com/operator-framework/helm-operator-plugins "-s -w" ;;
        probe-bundle) build probe-bundle bundle . "-s -w" "$opm" ;;
        crane) build crane crane github.com/google/go-containerregistry/cmd/crane "-s -w" ;;
        registries) debian docker-registry skopeo runc buildah ;;
        opm*) build "$name" "$name" github.com/operator-framework/operator-registry/cmd/opm "-s -w" "$opm" ;;
        probe-opm*) build "$name" "${name#probe-}" ./probe "-s -w" "$opm" ;;
        *) echo "tools: unknown name $name" >&2; exit 2 ;;
    esac
done
echo "tools: in $cache"

#!/usr/bin/env bash
# Writes crates/podium/layout.txt anew: the functions that everyday commands call, those that most of them call first.
#   tools/layout.sh PODIUM LAYOUT     PODIUM has to have its symbols (make layout builds it so)
# The linker puts these functions side by side. A program is read into memory in pieces of 64 kB; without this, every
# command touches a bit of nearly all of them.
set -euo pipefail
podium=$(realpath "${1:?usage: layout.sh PODIUM LAYOUT}") layout=$(realpath "${2:?usage: layout.sh PODIUM LAYOUT}")
cd "$(dirname "$0")/.."

command -v valgrind >/dev/null || {
    [ "$(id -u)" = 0 ] || { echo "layout: valgrind is missing: install the package of this name" >&2; exit 1; }
    apt-get update -qq || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends valgrind >/dev/null
}
[ "$(nm "$podium" 2>/dev/null | grep -c podium)" != 0 ] || { echo "layout: $podium has no symbols: use make layout" >&2; exit 1; }

work=$(mktemp -d)
export HOME=$work PODIUM_DATA=$work/cluster
trap '"$podium" reset --yes >/dev/null; rm -rf "$work"' EXIT

# watched SECONDS NAME ARGUMENTS...: what podium calls in that time at most, one name a line. What it says is of no
# interest, and some are told no.
watched() {
    local seconds=$1 name=$2
    shift 2
    timeout -s INT "$seconds" valgrind --tool=callgrind --demangle=no --callgrind-out-file="$work/$name.calls" "$podium" "$@" >/dev/null 2>&1 || true
    sed -nE "s/^c?fn=\([0-9]+\) ([^' ]+).*/\1/p" "$work/$name.calls" | grep -v '^[(0]' | sort -u >"$work/$name.names"
}

echo "layout: charts ..."
for chart in examples/hello stacks/inference/helm-charts/* tests/charts/*; do
    case $chart in tests/charts/error-*) continue ;; esac
    [ ! -d "$chart/chart" ] || chart=$chart/chart
    watched 20 "$(echo "$chart" | tr / -)" chart template demo "$chart"
done

echo "layout: releases and the operator, on a cluster of this machine ..."
"$podium" up -d --port 0 --no-stacks >/dev/null
KUBECONFIG=$("$podium" kubeconfig --path)
export KUBECONFIG
for verb in install upgrade; do
    watched 20 "release-$verb" release "$verb" demo examples/hello
done
watched 20 release-status release status demo
watched 20 release-list release list -A
watched 20 release-uninstall release uninstall demo
for file in stacks/inference/crds/*; do
    "$podium" up --apply "$file" >/dev/null
done
(
    cd stacks/inference
    watched 40 operator operator run --metrics-bind-address=0 --health-probe-bind-address=0 &
    "$podium" up --apply examples/documented.yaml >/dev/null
    wait
)

cat "$work"/*.names | sort | uniq -c | sort -k1,1nr -k2 | awk '{print $2}' >"$work/layout"
mv "$work/layout" "$layout"
echo "layout: $(wc -l <"$layout") functions in $layout"

#!/usr/bin/env bash
# The first minute with podium: a Kubernetes API on this machine, an inference stack in it, and what became of it.
set -euo pipefail
podium=${1:?usage: first-minute.sh PODIUM}
cd "$(dirname "$0")/.."
export PODIUM_DATA=${PODIUM_DATA:-${TMPDIR:-/tmp}/podium-first-minute-$(id -u)}

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n$ %s\n' "$*"; }

say podium up -d --port 0 --apply stacks/inference/examples/documented.yaml
"$podium" up -d --port 0 --apply stacks/inference/examples/documented.yaml
trap '"$podium" reset --yes >/dev/null' EXIT
KUBECONFIG=$("$podium" kubeconfig --path)
export KUBECONFIG

say podium status
"$podium" status

say podium release status my-inference-stack
"$podium" release status my-inference-stack

if command -v kubectl >/dev/null; then
    say kubectl get inferencestacks.models.takeoff.co,deployments,services
    kubectl get inferencestacks.models.takeoff.co,deployments,services
fi

say "podium chart template demo examples/hello --set model=none   # a mistake"
if "$podium" chart template demo examples/hello --set model=none; then
    echo "this should have failed" >&2
    exit 1
fi

cat <<'EOF'

That was a Kubernetes API with a chart operator in one process, and an InferenceStack that became a release. This cluster
is removed now; `podium up` makes one that stays. There is no node yet, so pods do not run: README.md says what is there.
EOF

#!/usr/bin/env bash
# The first minute with podium: renders a chart, shows where its values come from, and a readable error.
set -euo pipefail
podium=${1:?usage: first-minute.sh PODIUM}
cd "$(dirname "$0")"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n$ %s\n' "$*"; }

say podium chart template demo hello --set model.replicas=3 --show-only templates/deployment.yaml
"$podium" chart template demo hello --set model.replicas=3 --show-only templates/deployment.yaml

say podium chart values demo hello --set model.replicas=3
"$podium" chart values demo hello --set model.replicas=3

say "podium chart template demo hello --set model=none   # a mistake"
if "$podium" chart template demo hello --set model=none; then
    echo "this should have failed" >&2
    exit 1
fi

cat <<'EOF'

That was podium's chart engine: Helm's bytes without Helm. With a cluster, `podium release` and `podium operator run` go
on from here; the one-machine cluster and the catalogs are on their way. The table in README.md says what is there today.
EOF

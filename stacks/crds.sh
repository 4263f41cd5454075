#!/bin/bash
# Writes the CRDs of all stacks again, each by the command in its first line: stacks/crds.sh PODIUM
set -euo pipefail
podium=$(realpath "$1")
cd "$(dirname "$0")"
for file in */crds/*.yaml; do
    first=$(head -n 1 "$file")
    read -ra arguments <<<"${first#\# podium }"
    made=$(cd "${file%%/*}" && "$podium" "${arguments[@]}")
    printf '%s\n%s\n' "$first" "$made" >"$file"
done
# The catalog charts install them.
for folder in */charts/catalog/definitions; do
    cp "${folder%%/*}"/crds/*.yaml "$folder/"
done

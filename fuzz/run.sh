#!/usr/bin/env bash
# Fuzzes every target for a while: fuzz/run.sh [seconds each] [target ...]
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-600}
shift || true

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz is missing: run 'cargo install cargo-fuzz' (and 'rustup toolchain install nightly')" >&2
    exit 1
fi
export CARGO_TARGET_DIR=${PODIUM_FUZZ_TARGET:-$HOME/.cache/podium/fuzz-target}
corpus=${PODIUM_CORPUS:-$HOME/.cache/podium/corpus}

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi
for target in "${targets[@]}"; do
    echo "== $target for $seconds s"
    mkdir -p "$corpus/$target"
    cargo +nightly fuzz run --fuzz-dir . "$target" "$corpus/$target" -- -max_total_time="$seconds" -timeout=10
done

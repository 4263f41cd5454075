#!/usr/bin/env bash
# Fuzzes every target for a while: fuzz/run.sh [seconds each] [target ...]
#
# What is missing is installed for the user: the nightly compiler and cargo-fuzz. The inputs that were found
# interesting stay in PODIUM_CORPUS, findings in PODIUM_FINDINGS; both are outside of the repository.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-600}
shift || true

if ! rustup toolchain list | grep -q '^nightly'; then
    rustup toolchain install nightly --profile minimal
fi
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    cargo +nightly install cargo-fuzz --locked
fi
export CARGO_TARGET_DIR=${PODIUM_FUZZ_TARGET:-$HOME/.cache/podium/fuzz-target}
corpus=${PODIUM_CORPUS:-$HOME/.cache/podium/corpus}
findings=${PODIUM_FINDINGS:-$HOME/.cache/podium/findings}

# Inputs to begin with, made of the test cases and test charts.
seed() {
    local target=$1 to=$corpus/$1
    mkdir -p "$to" "$findings/$target"
    case $target in
    gotmpl)
        awk -v to="$to" '/^===/ { close(file); file = sprintf("%s/case-%s-%d", to, FILENAME, FNR); gsub(/\.txt/, "", file); next }
            file != "" { print > file }' *.txt
        ;;
    goyaml)
        for file in ../charts/*/chart/{Chart,values}.yaml ../charts/*/chart/values.schema.json; do
            [ ! -f "$file" ] || cp "$file" "$to/$(cut -d/ -f3 <<<"$file")-${file##*/}"
        done
        awk -v to="$to" '/fromYaml/ { while (match($0, /"[^"]*"/)) {
            text = substr($0, RSTART + 1, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH)
            gsub(/\\n/, "\n", text); file = to "/text-" ++n; printf "%s\n", text > file; close(file) } }' yaml.txt
        ;;
    chart_archive)
        for chart in ../charts/*/chart/; do
            # The first byte says: Helm 4, and that files follow.
            { printf '\004'
              (cd "$chart" && find . -type f -size -20k | sort | sed 's|^\./||' | while IFS= read -r file; do
                  printf '%s\n' "$file"; cat "$file"; printf '\n...\n'; done); } >"$to/$(cut -d/ -f3 <<<"$chart")"
        done
        for archive in ../charts/*/chart/charts/*.tgz; do
            [ ! -f "$archive" ] || { printf '\000'; cat "$archive"; } >"$to/$(basename "$archive")"
        done
        ;;
    strvals) printf '\000a.b[1].c={x,"y"},d\\.e=null,f=1\nx=\n{"a":[1,{"b":null}]}\na=b=c\np=file' >"$to/flags" ;;
    versions) printf 'v1.2.3-rc.1+build\n>=1.0 <2 || ~1.2.x, ^3.4 !=1.5 1 - 2' >"$to/range" ;;
    store)
        printf '\004{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"a":"b"},"resourceVersion":""}}' >"$to/body"
        printf '\003\100\000\001\144\000\377' >"$to/changes"
        printf '\002\002\004\000pods\004\000\000\000ns/a' >"$to/records"
        ;;
    kinds)
        # The first byte picks the kind; objects say themselves what they are.
        sed 's/.*"object":\(.*\),"now":.*/\1/' ../../crates/kubernetes/kinds/tests/rows.txt |
            awk -v to="$to" '{ file = to "/object-" NR; printf "A%s", $0 > file; close(file) }'
        ;;
    re2) printf '(?i)^(?P<name>[[:alpha:]]+|\\p{Greek}{2,3}?)\\b.*$\nabc def\nxyz' >"$to/pattern" ;;
    esac
}

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi
for target in "${targets[@]}"; do
    echo "== $target for $seconds s"
    (cd ../tests/cases && seed "$target")
    # The targets give every render a few megabytes: one allocation of 256 MB is a hole in a limit.
    cargo +nightly fuzz run --fuzz-dir . "$target" "$corpus/$target" -- -max_total_time="$seconds" -timeout=10 \
        -malloc_limit_mb=256 -rss_limit_mb=1024 -artifact_prefix="$findings/$target/"
done

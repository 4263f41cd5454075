#!/usr/bin/env bash
# Runs the suites that compare with upstream programs and prints how long each took. Called by `make test-real`, which has
# built everything. The first suites run two at a time; those that measure time or kill processes run alone.
#   tests/real.sh [SUITE ...]    default: all
set -uo pipefail
cd "$(dirname "$0")/.."

: "${CARGO:=cargo}" "${CARGO_TARGET_DIR:=target}" "${KNOWN_DIFFERENCES:=0}"
bin=$CARGO_TARGET_DIR/debug
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
chosen=" $* "

# run NAME COMMAND ...: one suite; its output is shown when it fails, the lines with figures always.
run() {
    local name=$1 begin=$SECONDS result=ok
    shift
    [ "$chosen" = "  " ] || [[ $chosen == *" $name "* ]] || return 0
    "$@" >"$logs/$name.log" 2>&1 || result=FAILED
    printf '%5d s  %-14s %s\n' $((SECONDS - begin)) "$name" "$result" | tee -a "$logs/times"
    if [ $result = ok ]; then
        grep -E '^test result: ok\. [1-9]|[0-9] differences|[0-9] plans|cases differ' "$logs/$name.log" | sed 's/^/         /'
    else
        cat "$logs/$name.log"
        echo "$name" >>"$logs/failed"
    fi
}
# The same build as `make test`: --workspace keeps the features of all dependencies equal.
suite() { "$CARGO" test --locked --workspace "$@"; }
ignored() { suite --test "$1" -- --ignored "${@:2}"; }
upstream() { PODIUM_SERVER=kubernetes suite --test "$1" -- --include-ignored "${@:2}"; }

charts_and_packages() {
    run compare "$bin/compare" --podium "$bin/podium" --known "$KNOWN_DIFFERENCES"
    run record "$bin/record"
    run originals ignored originals --skip every_broken_function --skip record
    run chart_tools ignored chart_tools --skip public_charts
    run catalogs ignored catalogs
    run images ignored images
    run certificates ignored certificates
}
clusters() {
    run libs suite --lib -- --ignored
    for test in api access clients cluster controllers crds diff dry_run kind_table kinds project release_write releases \
        runtime stacks stories; do
        run $test upstream $test
    done
}

charts_and_packages &
clusters
wait
run operator upstream operator --test-threads=8
PODIUM_FAULT_SECONDS=95 run faults upstream faults --nocapture
PODIUM_FUZZ_SECONDS=40 run fuzz_resources upstream fuzz_resources --nocapture

printf '\nsuites of make test-real, %d s together, the longest first:\n' "$SECONDS"
sort -rn "$logs/times"
if [ -s "$logs/failed" ]; then
    echo "failed: $(tr '\n' ' ' <"$logs/failed")"
    exit 1
fi

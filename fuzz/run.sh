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
    bundle)
        # The first byte says how it is installed; names and files follow.
        { printf '\002metadata/annotations.yaml\nannotations:\n  operators.operatorframework.io.bundle.package.v1: web\n...\n'
          printf 'manifests/csv.yaml\nkind: ClusterServiceVersion\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: web.v1.0.0}\n'
          printf 'spec:\n  version: 1.0.0\n  installModes: [{type: AllNamespaces, supported: true}]\n  install:\n    strategy: deployment\n'
          printf '    spec:\n      deployments: [{name: web, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}]\n'
          printf '      permissions: [{serviceAccountName: web, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]\n'
          printf '  webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: a.b, deploymentName: web}]\n'; } >"$to/web"
        ;;
    catalog)
        printf '\000{"schema":"olm.package","name":"a","defaultChannel":"c"}{"schema":"olm.channel","package":"a","name":"c","entries":[{"name":"a.v1.0.0","skipRange":"<1.0.0"}]}' >"$to/json"
        printf '\000---\nschema: olm.bundle\nname: a.v1.0.0\npackage: a\nimage: quay.io/a/b:1\nproperties:\n- type: olm.package\n  value: {packageName: a, version: 1.0.0}\n' >"$to/yaml"
        printf '\004Schema: olm.semver\nStable:\n  Bundles:\n  - Image: a\n{"schema":"olm.bundle","image":"a"}' >"$to/template"
        printf '\006docker.io/a/b:1\nschema: olm.semver\nfast:\n  bundles:\n  - image: docker.io/a/b:0\n' >"$to/name"
        ;;
    strvals) printf '\000a.b[1].c={x,"y"},d\\.e=null,f=1\nx=\n{"a":[1,{"b":null}]}\na=b=c\np=file' >"$to/flags" ;;
    repository)
        printf 'apiVersion: v1\nentries:\n  a:\n  - {name: a, version: 1.0.0, urls: [a.tgz], created: 2020-01-02T03:04:05Z}\n' >"$to/index"
        printf 'repositories: [{name: a, url: "https://example.com"}]\n' >"$to/config"
        ;;
    versions) printf 'v1.2.3-rc.1+build\n>=1.0 <2 || ~1.2.x, ^3.4 !=1.5 1 - 2' >"$to/range" ;;
    store)
        printf '\004{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"a":"b"},"resourceVersion":""}}' >"$to/body"
        printf '\003\100\000\001\144\000\377' >"$to/changes"
        printf '\002\002\004\000pods\004\000\000\000ns/a' >"$to/records"
        ;;
    kinds)
        # The first byte picks the kind; objects say themselves what they are.
        sed 's/.*"object":\(.*\),"now":.*/\1/' ../../crates/kubernetes/resources/tests/rows.txt |
            awk -v to="$to" '{ file = to "/object-" NR; printf "A%s", $0 > file; close(file) }'
        ;;
    images)
        printf '\000localhost:5000/team/app:1.0@sha256:%064d' 0 >"$to/name"
        printf '\001{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":2,"digest":"sha256:%064d"},"layers":[],"annotations":{"a":"b"}}' 0 >"$to/manifest"
        printf '\004{"auths":{"host.example/team":{"auth":"bWU6cHc="}}}' >"$to/auth"
        printf '\005Bearer realm="https://a.example/t",service="s",scope="repository:a:pull"' >"$to/challenge"
        (cd ../charts && set -- */chart/Chart.yaml && { printf '\002'; tar cf - "$1"; } >"$to/layer" &&
            { printf '\002'; tar czf - "$1"; } >"$to/packed" && { printf '\003'; tar cf - "$1"; printf 'CUT!'; tar cf - "$1"; } >"$to/two")
        ;;
    selectors)
        printf 'a in (b,c),!d,e!=f,g,h notin (i),j==k,l>1,m<9\na=b,g=1,l=2' >"$to/labels"
        printf 'metadata.name=a,status.phase!=Running\nx=y' >"$to/fields"
        ;;
    patches)
        # The first byte picks the kind of the shape for strategic patches.
        printf 'a{"a":{"b":[1,{"c":null}]}}\n{"a":{"b":null,"d":{"e":1}}}' >"$to/merge"
        printf 'a{"a":{"b":[1,{"c":null}]}}\n[{"op":"add","path":"/a/b/-","value":2},{"op":"test","path":"/a/b/0","value":1},{"op":"move","from":"/a","path":"/z"},{"op":"copy","from":"/z","path":"/y~1~0"},{"op":"remove","path":"/z/b/0"},{"op":"replace","path":"","value":{}}]' >"$to/json"
        local at=0
        for first in "" 0 A Z a k z; do
            at=$((at + 1))
            printf '%s{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A"}],"ports":[{"containerPort":1,"protocol":"TCP"}]}],"volumes":[{"name":"v","emptyDir":{}}]}},"ports":[{"port":80}]},"metadata":{"finalizers":["a","b"]}}\n{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"d"},{"name":"c"}],"containers":[{"name":"d"},{"name":"c","$patch":"delete"},{"name":"e","env":[{"$patch":"replace"}]}],"volumes":[{"name":"v","$retainKeys":["name","configMap"],"configMap":{"name":"x"}}]}},"ports":[{"port":80,"$patch":"delete"}]},"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["b"]}}' "$first" >"$to/strategic-$at"
        done
        ;;
    schemas)
        printf '{"type":"object","properties":{"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1,"default":3},"b":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string","pattern":"^a+$"}}}},"c":{"x-kubernetes-int-or-string":true},"d":{"type":"object","additionalProperties":{"type":"string","maxLength":3,"nullable":true}},"e":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}\n{"spec":{"b":[{"k":"a"},{"k":"a"}],"c":"x","d":{"y":null,"z":"long"},"e":{"f":1},"g":2}}\n{"spec":{"a":1}}' >"$to/structural"
        printf '{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"required":["b"]}],"not":{"enum":[1]},"oneOf":[{}],"allOf":[{"format":"date-time"}]},"m":{"x-kubernetes-embedded-resource":true,"type":"object"},"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"number","multipleOf":0.5}}}}\n{"a":"b","m":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}},"l":[1,1.0]}' >"$to/loose"
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

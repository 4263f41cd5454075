//! Generates valid catalogs.

use serde_json::{Value, json};

use super::Random;

const PACKAGE_NAMES: &[&str] = &["demo", "inference", "vector-db", "a", "queue-9", "x1"];

/// Generates a catalog with one to three packages.
pub fn catalog(random: &mut Random) -> Vec<Value> {
    let mut all = Vec::new();
    let count = 1 + random.below(3);
    for number in 0..count {
        let name = format!("{}-{number}", random.pick(PACKAGE_NAMES));
        all.extend(package(&name, random));
    }
    if random.chance(30) {
        all.push(custom_meta("", random));
    }
    if random.chance(20) {
        let at = random.below(all.len());
        let last = all.len() - 1;
        all.swap(at, last);
    }
    all
}

fn package(name: &str, random: &mut Random) -> Vec<Value> {
    let mut versions: Vec<String> = Vec::new();
    let (mut major, mut minor, mut patch) = (random.below(2), 0, 0);
    for _ in 0..1 + random.below(6) {
        let suffix = match random.below(12) {
            0 => "-alpha.1",
            1 => "+build.7",
            _ => "",
        };
        versions.push(format!("{major}.{minor}.{patch}{suffix}"));
        match random.below(6) {
            0 => (major, minor, patch) = (major + 1, 0, 0),
            1 | 2 => (minor, patch) = (minor + 1, 0),
            _ => patch += 1,
        }
    }
    let bundle = |version: &str| format!("{name}.v{version}");
    let channels: Vec<String> =
        (0..1 + random.below(3)).map(|n| ["stable", "fast", "candidate-v1"][n].to_owned()).collect();
    let mut package = json!({ "schema": "olm.package", "name": name, "defaultChannel": channels[0] });
    if random.chance(40) {
        package["description"] = json!(text(random));
    }
    if random.chance(30) {
        package["icon"] = json!({ "base64data": random.pick(&["aGVsbG8=", "", "AAEC", "aGVsbG9x\n"]), "mediatype": "image/svg+xml" });
    }
    if random.chance(10) {
        package["properties"] = json!([{ "type": "x", "value": value(random, 0) }]);
    }
    let mut all = vec![package];
    for (at, channel) in channels.iter().enumerate() {
        // The first channel has all versions, so that every bundle is in a channel.
        let chosen: Vec<&String> = versions.iter().filter(|_| at == 0 || random.chance(70)).collect();
        let chosen = if chosen.is_empty() { vec![&versions[0]] } else { chosen };
        let mut entries = Vec::new();
        for (position, version) in chosen.iter().enumerate() {
            let mut entry = json!({ "name": bundle(version) });
            if position > 0 {
                entry["replaces"] = json!(bundle(chosen[position - 1]));
                if position > 1 && random.chance(40) {
                    // Bundles below a skipped one have to be skipped too.
                    entry["skips"] = chosen[..position - 1].iter().map(|version| bundle(version)).collect();
                }
                if random.chance(20) {
                    entry["skipRange"] = json!(format!(">=0.0.1 <{version}"));
                }
            } else if random.chance(20) {
                entry["replaces"] = json!(format!("{name}.v0.0.0-never"));
            }
            entries.push(entry);
        }
        let mut document =
            json!({ "schema": "olm.channel", "package": name, "name": channel, "entries": entries });
        if random.chance(10) {
            document["properties"] =
                json!([{ "type": "olm.channel", "value": { "channelName": "x", "priority": 3 } }]);
        }
        all.push(document);
    }
    for version in &versions {
        all.push(json!({
            "schema": "olm.bundle", "name": bundle(version), "package": name,
            "image": format!("quay.io/{name}/bundle:{}", version.replace('+', "_")),
            "properties": properties(name, version, random),
            "relatedImages": related(name, random),
        }));
    }
    if random.chance(30) {
        let mut entries = Vec::new();
        if random.chance(50) {
            entries.push(json!({ "reference": { "schema": "olm.package" }, "message": "old" }));
        }
        if random.chance(50) {
            entries.push(json!({ "reference": { "schema": "olm.channel", "name": channels[0] }, "message": text(random) + "." }));
        }
        entries.push(json!({ "reference": { "schema": "olm.bundle", "name": bundle(&versions[0]) }, "message": "use another" }));
        all.push(json!({ "schema": "olm.deprecations", "package": name, "entries": entries }));
    }
    if random.chance(40) {
        all.push(custom_meta(name, random));
    }
    all
}

fn related(name: &str, random: &mut Random) -> Value {
    let images = ["b", "a", "c", "d"];
    let count = random.below(5);
    let image = |n: usize| json!({ "name": images[n], "image": format!("quay.io/{name}/{}@sha256:{}", images[(n + 2) % 4], "0".repeat(64)) });
    (0..count).map(image).collect()
}

pub fn properties(name: &str, version: &str, random: &mut Random) -> Value {
    let mut all =
        vec![json!({ "type": "olm.package", "value": { "packageName": name, "version": version } })];
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": { "name": format!("{name}.v{version}") },
        "spec": { "displayName": "Demo <b>", "description": text(random), "version": version,
                  "icon": [{ "base64data": "PHN2Zz4=", "mediatype": "image/svg+xml" }] },
    });
    let optional = [
        json!({ "type": "olm.gvk", "value": { "group": "g.example.com", "kind": "K", "version": "v1" } }),
        json!({ "type": "olm.package.required", "value": { "packageName": "p", "versionRange": ">1.0.0" } }),
        json!({ "type": "olm.gvk.required", "value": { "group": "g", "kind": "K", "version": "v1" } }),
        json!({ "type": "olm.csv.metadata", "value": {
            "annotations": { "a": text(random), "alm-examples": "[{\"kind\":\"K\"}]" }, "displayName": "D", "description": text(random),
            "installModes": [{ "type": "AllNamespaces", "supported": true }], "keywords": ["x", "y"], "labels": { "l": "1" },
            "links": [{ "name": "n", "url": "https://example.com/?a=1&b=2" }], "maintainers": [{ "name": "m", "email": "m@example.com" }],
            "maturity": "alpha", "minKubeVersion": "1.25.0", "nativeAPIs": [{ "group": "", "version": "v1", "kind": "Pod" }],
            "provider": { "name": "P" }, "apiServiceDefinitions": {},
            "crdDescriptions": { "owned": [{ "name": "ks.g.example.com", "version": "v1", "kind": "K", "description": "d",
                "specDescriptors": [{ "path": "a", "x-descriptors": ["urn:x"], "value": { "b": 1.50 } }],
                "resources": [{ "kind": "Pod", "name": "", "version": "v1" }] }] },
        } }),
        json!({ "type": "olm.bundle.object", "value": { "data": base64(csv.to_string().as_bytes()) } }),
        json!({ "type": "olm.bundle.object", "value": { "data": base64(b"kind: Service\nmetadata: {name: x}\n") } }),
        json!({ "type": "olm.constraint", "value": { "failureMessage": "x", "cel": { "rule": "true" } } }),
        json!({ "type": "own.type", "value": value(random, 0) }),
        json!({ "type": "null.type", "value": null }),
    ];
    for property in optional {
        if random.chance(35) {
            all.insert(random.below(all.len() + 1), property);
        }
    }
    all.into()
}

/// Encodes base64 with padding.
pub fn base64(data: &[u8]) -> String {
    String::from_utf8(podium_sprig::encoding::base64_encode(data)).unwrap()
}

/// Generates a meta with a custom schema.
pub fn custom_meta(package: &str, random: &mut Random) -> Value {
    let mut document = json!({ "schema": random.pick(&["own.schema", "a.b", "olm.template.x"]), "zeta": value(random, 0), "alpha": value(random, 0) });
    if !package.is_empty() {
        document["package"] = json!(package);
    }
    if random.chance(50) {
        document["name"] = json!("n");
    }
    document
}

/// Generates a text with characters that need escaping in JSON or YAML.
pub fn text(random: &mut Random) -> String {
    let parts = [
        "plain",
        "two words",
        "<a href=\"x\">&</a>",
        "line\nline\n",
        " spaces ",
        "tab\tand\\slash",
        "\u{2028}\u{2029}",
        "é😀",
        "# no comment",
        "yes",
        "1.50",
        "0x1F",
        "null",
        "~",
        "- dash",
        "a: b",
        "'quoted'",
        "ß",
        "trailing\n\n",
        "{brace}",
        "%percent",
        "2001-01-01",
        "",
        "a long line that has to be broken somewhere because it is much longer than eighty characters, is it not",
    ];
    let count = 1 + random.below(3);
    let chosen: Vec<&str> = (0..count).map(|_| *random.pick(&parts)).collect();
    chosen.join(if random.chance(50) { "" } else { " " })
}

/// Generates any value.
pub fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 2 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => json!(random.chance(50)),
        2 => json!(random.below(1000)),
        3 => json!(-0.5),
        4 => json!(1e21),
        5 => json!(9007199254740993_i64),
        6 | 7 => json!(text(random)),
        8 => (0..random.below(4)).map(|_| value(random, depth + 1)).collect(),
        _ => {
            let keys = ["b", "a", "A", "é", "10", "9", "true", "a b", "k<"];
            let count = random.below(5);
            (0..count)
                .map(|n| (keys[(n * 7 + random.below(3)) % keys.len()].to_owned(), value(random, depth + 1)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}

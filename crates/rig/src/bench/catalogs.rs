//! A catalog as large as those that are published: 400 packages, 6 000 bundles, 60 MB of JSON.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::random::Random;

/// How many packages, and how many bundles each.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Packages, a file each.
    pub packages: usize,
    /// Bundles of each.
    pub bundles: usize,
}

/// The size of the catalogs that are published.
pub const PUBLISHED: Size = Size { packages: 400, bundles: 15 };

/// Writes a catalog to a folder that is not there yet, as `opm render` would lay it out; gives its size in bytes.
///
/// As in the catalogs that are published, half of the bytes are embedded objects in base64, a tenth are icons, and the
/// rest is what people read: descriptions, examples, links.
pub fn write(folder: &Path, size: Size, seed: u64) -> io::Result<u64> {
    let mut bytes = 0;
    for number in 0..size.packages {
        let mut random = Random::for_case(seed, "catalog", number as u64);
        let name = format!("operator-{number:03}");
        let place = folder.join(&name);
        fs::create_dir_all(&place)?;
        let mut file = BufWriter::new(fs::File::create(place.join("catalog.json"))?);
        for document in package(&name, size.bundles, &mut random) {
            let text = format!("{document:#}\n");
            bytes += text.len() as u64;
            file.write_all(text.as_bytes())?;
        }
        file.flush()?;
    }
    Ok(bytes)
}

fn package(name: &str, bundles: usize, random: &mut Random) -> Vec<Value> {
    let bundle = |at: usize| format!("{name}.v1.{}.{}", at / 5, at % 5);
    let entries: Vec<Value> = (0..bundles)
        .map(|at| match at {
            0 => json!({ "name": bundle(0) }),
            at => json!({ "name": bundle(at), "replaces": bundle(at - 1), "skipRange": format!("<1.{}.{}", at / 5, at % 5) }),
        })
        .collect();
    let mut all = vec![
        json!({
            "schema": "olm.package", "name": name, "defaultChannel": "stable", "description": prose(random, 400),
            "icon": { "base64data": base64(random, 11_000), "mediatype": "image/svg+xml" },
        }),
        json!({ "schema": "olm.channel", "package": name, "name": "stable", "entries": entries }),
        json!({ "schema": "olm.channel", "package": name, "name": "fast", "entries": entries }),
    ];
    for at in 0..bundles {
        let version = format!("1.{}.{}", at / 5, at % 5);
        let mut properties = vec![
            json!({ "type": "olm.gvk", "value": { "group": format!("{name}.example.com"), "kind": "Thing", "version": "v1" } }),
            json!({ "type": "olm.package", "value": { "packageName": name, "version": version } }),
        ];
        if at % 2 == 0 {
            properties.push(json!({ "type": "olm.csv.metadata", "value": metadata(name, random) }));
        } else {
            for _ in 0..3 {
                properties.push(json!({ "type": "olm.bundle.object", "value": { "data": object(random) } }));
            }
        }
        let related: Vec<Value> = (0..4)
            .map(|n| json!({ "name": format!("image-{n}"), "image": format!("quay.io/{name}/part-{n}@sha256:{}", hex(random)) }))
            .collect();
        all.push(json!({
            "schema": "olm.bundle", "name": bundle(at), "package": name, "properties": properties,
            "image": format!("quay.io/{name}/bundle@sha256:{}", hex(random)), "relatedImages": related,
        }));
    }
    all
}

fn metadata(name: &str, random: &mut Random) -> Value {
    let descriptors: Vec<Value> = (0..8)
        .map(|n| json!({ "path": format!("spec.field{n}"), "displayName": format!("Field {n}"), "description": prose(random, 120),
                         "x-descriptors": ["urn:alm:descriptor:com.tectonic.ui:text"] }))
        .collect();
    json!({
        "annotations": { "alm-examples": format!("[{{\n  \"kind\": \"Thing\",\n  \"spec\": {{\n    \"text\": \"{}\"\n  }}\n}}]", prose(random, 600)),
                         "capabilities": "Full Lifecycle", "categories": "Database", "createdAt": "2026-01-01T00:00:00Z" },
        "apiServiceDefinitions": {},
        "crdDescriptions": { "owned": [{ "name": format!("things.{name}.example.com"), "version": "v1", "kind": "Thing",
                                         "displayName": "Thing", "description": prose(random, 200), "specDescriptors": descriptors }] },
        "description": (0..12).map(|_| prose(random, 280)).collect::<Vec<_>>().join("\n\n"),
        "displayName": format!("Operator {name}"),
        "installModes": [{ "type": "OwnNamespace", "supported": false }, { "type": "AllNamespaces", "supported": true }],
        "keywords": ["database", "storage"], "links": [{ "name": "Docs", "url": "https://docs.example.com/a?b=1&c=2" }],
        "maintainers": [{ "name": "The team", "email": "team@example.com" }], "maturity": "stable",
        "minKubeVersion": "1.25.0", "provider": { "name": "Example", "url": "https://example.com" },
    })
}

/// An embedded object: JSON in base64.
fn object(random: &mut Random) -> String {
    let rules: Vec<Value> = (0..12)
        .map(|_| json!({ "apiGroups": ["apps"], "resources": [prose(random, 30)], "verbs": ["get", "list"] }))
        .collect();
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": prose(random, 20) }, "data": { "text": prose(random, 900) }, "rules": rules });
    String::from_utf8_lossy(&podium_sprig::encoding::base64_encode(object.to_string().as_bytes()))
        .into_owned()
}

fn prose(random: &mut Random, len: usize) -> String {
    const WORDS: [&str; 16] = [
        "the",
        "operator",
        "installs",
        "a",
        "database",
        "and",
        "keeps",
        "it",
        "running,",
        "with",
        "backups",
        "(daily)",
        "and",
        "\"upgrades\"",
        "for",
        "everyone.",
    ];
    let mut text = String::with_capacity(len + 12);
    while text.len() < len {
        text.push_str(random.pick(&WORDS));
        text.push(' ');
    }
    text.trim_end().to_owned()
}

fn base64(random: &mut Random, len: usize) -> String {
    let data: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
    String::from_utf8_lossy(&podium_sprig::encoding::base64_encode(&data)).into_owned()
}

fn hex(random: &mut Random) -> String {
    (0..4).map(|_| format!("{:016x}", random.word())).collect()
}

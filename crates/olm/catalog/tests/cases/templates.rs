//! Generates templates and the bundles of their images.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::documents::properties;
use super::{Random, encode};

/// A generated template.
#[derive(Clone, Debug)]
pub struct Template {
    /// Name of the mutation.
    pub mutation: &'static str,
    /// `semver`, `basic`, or empty to detect the kind.
    pub kind: &'static str,
    /// Template text.
    pub text: Vec<u8>,
    /// Rendered bundle by image.
    pub bundles: BTreeMap<String, Vec<u8>>,
}

pub struct TemplateDraft {
    kind: &'static str,
    document: Value,
    bundles: BTreeMap<String, Vec<Value>>,
    raw: Option<String>,
}

pub type TemplateMutation = fn(&mut TemplateDraft, &mut Random);

fn first(draft: &mut TemplateDraft) -> &mut Vec<Value> {
    draft.bundles.values_mut().next().unwrap()
}

fn package_property(bundle: &mut Value) -> &mut Value {
    let all = bundle["properties"].as_array_mut().unwrap();
    &mut all.iter_mut().find(|p| p["type"] == "olm.package").unwrap()["value"]
}

fn rename(document: &mut Value, from: &str, to: &str) {
    if let Some(value) = document.as_object_mut().unwrap().remove(from) {
        document[to] = value;
    }
}

/// All mutations, with the template kind.
pub const TEMPLATE_MUTATIONS: &[(&str, &str, TemplateMutation)] = &[
    ("unchanged", "semver", |_, _| {}),
    ("unchanged again", "semver", |_, _| {}),
    ("unchanged, third time", "semver", |_, _| {}),
    ("unchanged and detected", "", |_, _| {}),
    ("capitalized keys", "semver", |d, _| {
        for (a, b) in [
            ("schema", "Schema"),
            ("stable", "Stable"),
            ("fast", "Fast"),
            ("candidate", "Candidate"),
            ("generateMajorChannels", "GenerateMajorChannels"),
        ] {
            rename(&mut d.document, a, b);
        }
        for stream in ["Stable", "Fast", "Candidate"] {
            if d.document.get(stream).is_some() {
                let s = &mut d.document[stream];
                rename(s, "bundles", "Bundles");
                if let Some(list) = s["Bundles"].as_array_mut() {
                    list.iter_mut().for_each(|b| rename(b, "image", "Image"));
                }
            }
        }
    }),
    ("preference", "semver", |d, r| {
        d.document["defaultChannelTypePreference"] = json!(r.pick(&["minor", "major"]));
    }),
    ("unknown preference", "semver", |d, _| {
        d.document["defaultChannelTypePreference"] = json!("patch");
    }),
    ("wrong schema", "semver", |d, r| {
        d.document["schema"] = json!(r.pick(&["olm.semve", "", "olm.template.basic"]));
    }),
    ("unknown schema", "", |d, r| {
        d.document["schema"] = json!(r.pick(&["olm.x", ""]));
    }),
    ("no schema", "", |d, _| {
        d.document.as_object_mut().unwrap().remove("schema");
    }),
    ("unknown field", "semver", |d, r| {
        d.document[*r.pick(&["bundles", "Zeta", "a"])] = json!(1);
    }),
    ("unknown field inside", "semver", |d, _| {
        d.document["stable"] = json!({ "bundle": [] });
    }),
    ("duplicate key", "semver", |d, r| {
        let t = String::from_utf8(encode(std::slice::from_ref(&d.document), "yaml", r)).unwrap();
        d.raw = Some(t + "schema: olm.semver\n");
    }),
    ("wrong types", "semver", |d, r| {
        let (k, v) = r
            .pick(&[
                ("generateMajorChannels", json!("yes")),
                ("stable", json!([])),
                ("stable", json!({ "bundles": "x" })),
                ("stable", json!({ "bundles": [1] })),
                ("schema", json!(1)),
                ("defaultChannelTypePreference", json!(["x"])),
            ])
            .clone();
        d.document[k] = v;
    }),
    ("not yaml", "semver", |d, r| {
        d.raw = Some((*r.pick(&["{", "a: b: c", "\tx", "[1]", "", "text", "- a\n"])).to_owned());
    }),
    ("not yaml, detected", "", |d, r| {
        d.raw = Some(
            (*r.pick(&[
                "{",
                "a: b: c",
                "\tx",
                "[1]",
                "text",
                "- a\n",
                "{\"schema\":1}",
                "{\"schema\":\"olm.semver\"",
                "null",
            ]))
            .to_owned(),
        );
    }),
    ("no bundles", "semver", |d, _| {
        for s in ["stable", "fast", "candidate"] {
            d.document.as_object_mut().unwrap().remove(s);
        }
    }),
    ("missing image", "semver", |d, _| {
        d.document = json!({ "schema": "olm.semver", "stable": { "bundles": [{ "image": "nowhere" }] } });
    }),
    ("duplicate image", "semver", |d, _| {
        let list =
            ["stable", "fast", "candidate"].into_iter().find(|s| d.document.get(*s).is_some()).unwrap();
        let list = d.document[list]["bundles"].as_array_mut().unwrap();
        let one = list[0].clone();
        list.push(one);
    }),
    ("another package", "semver", |d, _| {
        d.document = json!({ "schema": "olm.semver", "stable": { "bundles": [{ "image": d.bundles.keys().next().unwrap() }, { "image": "other" }] } });
        let mut b = first(d)[0].clone();
        b["image"] = json!("other");
        b["name"] = json!("o.v1.0.0");
        package_property(&mut b)["packageName"] = json!("another");
        d.bundles.insert("other".to_owned(), vec![b]);
    }),
    ("two bundles in an image", "semver", |d, _| {
        let b = first(d)[0].clone();
        d.document = json!({ "schema": "olm.semver", "stable": { "bundles": [{ "image": d.bundles.keys().next().unwrap() }] } });
        first(d).push(b);
    }),
    ("no bundle in an image", "semver", |d, _| {
        d.document = json!({ "schema": "olm.semver", "stable": { "bundles": [{ "image": d.bundles.keys().next().unwrap() }] } });
        first(d).clear();
    }),
    ("bad version", "semver", |d, r| {
        d.document = json!({ "schema": "olm.semver", "stable": { "bundles": [{ "image": d.bundles.keys().next().unwrap() }] } });
        package_property(&mut first(d)[0])["version"] = json!(r.pick(&["1.0", "x", ""]));
    }),
    ("no version", "semver", |d, _| {
        d.document = json!({ "schema": "olm.semver", "fast": { "bundles": [{ "image": d.bundles.keys().next().unwrap() }] } });
        first(d)[0]["properties"] = json!([]);
    }),
    ("bad property", "semver", |d, _| {
        d.document = json!({ "schema": "olm.semver", "fast": { "bundles": [{ "image": d.bundles.keys().next().unwrap() }] } });
        first(d)[0]["properties"].as_array_mut().unwrap().push(json!({ "type": "olm.gvk", "value": 1 }));
    }),
    ("versions differ only in build metadata", "semver", |d, _| {
        let name = d.bundles.keys().next().unwrap().clone();
        let mut b = first(d)[0].clone();
        package_property(&mut first(d)[0])["version"] = json!("1.0.0+a");
        package_property(&mut b)["version"] = json!("1.0.0+b");
        b["image"] = json!("other");
        b["name"] = json!("o.v1.0.0");
        d.bundles.insert("other".to_owned(), vec![b]);
        d.document = json!({ "schema": "olm.semver", "candidate": { "bundles": [{ "image": name }, { "image": "other" }] } });
    }),
    ("basic", "basic", |_, _| {}),
    ("basic and detected", "", |d, _| basic(d)),
    ("basic with wrong schema", "basic", |d, r| {
        d.document["schema"] = json!(r.pick(&["olm.semver", "", "x"]));
    }),
    ("basic with extra bundle fields", "basic", |d, r| {
        let (k, v) = r
            .pick(&[
                ("package", json!("x")),
                ("properties", json!([{ "type": "x", "value": 1 }])),
                ("relatedImages", json!([{ "image": "x" }])),
                ("image", json!("")),
                ("name", json!("x")),
                ("properties", json!([])),
            ])
            .clone();
        let list = d.document["entries"].as_array_mut().unwrap();
        list.iter_mut().find(|e| e["schema"] == "olm.bundle").unwrap()[k] = v;
    }),
    ("basic with wrong entries", "basic", |d, r| {
        d.document["entries"] = r
            .pick(&[
                json!({}),
                json!("x"),
                json!([1]),
                json!([{ "schema": 1 }]),
                json!([{ "x": 1 }]),
                json!([{ "schema": "a", "SCHEMA": "b" }]),
                json!(null),
                json!([null]),
                json!([{ "schema": "olm.package", "name": "x", "icon": 1 }]),
            ])
            .clone();
    }),
    ("basic is not an object", "basic", |d, r| {
        d.raw = Some((*r.pick(&["[]", "x", "{", "1", "a: b: c"])).to_owned());
    }),
    ("basic with an unknown image", "basic", |d, _| {
        d.document["entries"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "schema": "olm.bundle", "image": "nowhere" }));
    }),
];

fn basic(draft: &mut TemplateDraft) {
    let mut entries = vec![
        json!({ "schema": "olm.package", "name": "demo", "defaultChannel": "stable" }),
        json!({ "schema": "olm.channel", "package": "demo", "name": "stable", "entries": [{ "name": "demo.v1.0.0" }] }),
        json!({ "schema": "own", "x": [1.0, "<"] }),
    ];
    entries.extend(draft.bundles.keys().map(|image| json!({ "schema": "olm.bundle", "image": image })));
    draft.document = json!({ "schema": "olm.template.basic", "entries": entries });
}

/// Generates a template: cycles through the mutations.
pub fn template(seed: u64, number: u64) -> Template {
    let mut random = Random::for_case(seed ^ 0x5eed, number);
    let random = &mut random;
    let (mutation, kind, mutate) = TEMPLATE_MUTATIONS[number as usize % TEMPLATE_MUTATIONS.len()];
    let mut bundles = BTreeMap::new();
    let (mut major, mut minor, mut patch) = (random.below(2), random.below(2), random.below(2));
    for _ in 0..1 + random.below(9) {
        let suffix = *random.pick(&["", "", "", "", "-rc.1", "-alpha"]);
        let version = format!("{major}.{minor}.{patch}{suffix}");
        let image = format!("quay.io/demo/bundle:{version}");
        bundles.insert(
            image.clone(),
            vec![json!({
                "schema": "olm.bundle", "name": format!("demo.v{version}"), "package": "demo", "image": image,
                "properties": properties("demo", &version, random),
            })],
        );
        match random.below(8) {
            0 => (major, minor, patch) = (major + 1, 0, random.below(2)),
            1..4 => (minor, patch) = (minor + 1, random.below(2)),
            _ => patch += 1,
        }
    }
    let mut document = json!({ "schema": "olm.semver" });
    for flag in ["generateMajorChannels", "generateMinorChannels"] {
        if random.chance(60) {
            document[flag] = json!(random.chance(70));
        }
    }
    for stream in ["candidate", "fast", "stable"] {
        if random.chance(65) || (stream == "stable" && document.as_object().unwrap().len() == 1) {
            let chosen: Vec<Value> =
                bundles.keys().filter(|_| random.chance(75)).map(|image| json!({ "image": image })).collect();
            document[stream] = json!({ "bundles": chosen });
        }
    }
    if !["candidate", "fast", "stable"]
        .iter()
        .any(|s| document[*s]["bundles"].as_array().is_some_and(|l| !l.is_empty()))
    {
        document["fast"] = json!({ "bundles": [{ "image": bundles.keys().next().unwrap() }] });
    }
    let mut draft = TemplateDraft { kind, document, bundles, raw: None };
    if kind == "basic" {
        basic(&mut draft);
    }
    mutate(&mut draft, random);
    let format = if random.chance(30) { "json" } else { "yaml" };
    let body = match draft.raw {
        Some(raw) => raw.into_bytes(),
        None => encode(std::slice::from_ref(&draft.document), format, random),
    };
    let bundles =
        draft.bundles.iter().map(|(image, all)| (image.clone(), encode(all, "json", random))).collect();
    Template { mutation, kind: draft.kind, text: body, bundles }
}

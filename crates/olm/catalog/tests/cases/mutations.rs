//! Mutations that make a catalog invalid or unusual.

use serde_json::{Value, json};

use super::documents::{base64, text, value};
use super::{Random, encode};

/// Mutates the documents, or returns the files to use instead.
pub type Mutation = fn(&mut Vec<Value>, &mut Random) -> Option<Vec<(String, Vec<u8>)>>;

/// Picks a random document of a schema, or adds one.
fn pick_meta<'d>(all: &'d mut Vec<Value>, schema: &str, random: &mut Random) -> &'d mut Value {
    let found: Vec<usize> = (0..all.len()).filter(|&at| all[at]["schema"] == schema).collect();
    if found.is_empty() {
        let package = all.iter().find(|d| d["schema"] == "olm.package").unwrap()["name"].clone();
        all.push(json!({ "schema": schema, "package": package, "entries": [
            { "reference": { "schema": "olm.package" }, "message": "m" } ] }));
        return all.last_mut().unwrap();
    }
    let at = *random.pick(&found);
    &mut all[at]
}

fn single_file(name: &str, text: impl Into<Vec<u8>>) -> Option<Vec<(String, Vec<u8>)>> {
    Some(vec![(name.to_owned(), text.into())])
}

/// Returns the `olm.package` property of a bundle.
fn package_property(bundle: &mut Value) -> &mut Value {
    let all = bundle["properties"].as_array_mut().unwrap();
    &mut all.iter_mut().find(|p| p["type"] == "olm.package").unwrap()["value"]
}

fn add_property(all: &mut Vec<Value>, random: &mut Random, ty: &str, value: Value) {
    let bundle = pick_meta(all, "olm.bundle", random);
    bundle["properties"].as_array_mut().unwrap().push(json!({ "type": ty, "value": value }));
}

/// Picks a channel and adds entries up to a minimum.
fn channel<'d>(all: &'d mut Vec<Value>, least: usize, random: &mut Random) -> &'d mut Value {
    let channel = pick_meta(all, "olm.channel", random);
    let package = channel["package"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = channel["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["name"].as_str().unwrap().to_owned())
        .collect();
    let key = channel["name"].clone();
    while names.len() < least {
        let version = format!("7.{}.0", names.len());
        let name = format!("{package}.v{version}");
        let before = names.last().cloned().unwrap_or_default();
        all.push(json!({ "schema": "olm.bundle", "name": name, "package": package, "image": "quay.io/x/y:1",
            "properties": [{ "type": "olm.package", "value": { "packageName": package, "version": version } }] }));
        let channel = all
            .iter_mut()
            .find(|d| d["schema"] == "olm.channel" && d["package"] == package && d["name"] == key)
            .unwrap();
        channel["entries"].as_array_mut().unwrap().push(json!({ "name": name, "replaces": before }));
        names.push(name);
    }
    all.iter_mut()
        .find(|d| d["schema"] == "olm.channel" && d["package"] == package && d["name"] == key)
        .unwrap()
}

fn entry(channel: &mut Value, at: usize) -> &mut Value {
    &mut channel["entries"].as_array_mut().unwrap()[at]
}

fn deprecation(
    all: &mut Vec<Value>,
    random: &mut Random,
    reference: Value,
    message: &str,
) -> Option<Vec<(String, Vec<u8>)>> {
    let found = pick_meta(all, "olm.deprecations", random);
    found["entries"].as_array_mut().unwrap().push(json!({ "reference": reference, "message": message }));
    None
}

/// All mutations.
pub const MUTATIONS: &[(&str, Mutation)] = &[
    ("unchanged", |_, _| None),
    ("unchanged again", |_, _| None),
    ("package without name", |all, r| {
        pick_meta(all, "olm.package", r)["name"] = json!("");
        None
    }),
    ("duplicate package", |all, r| {
        let d = pick_meta(all, "olm.package", r).clone();
        all.push(d);
        None
    }),
    ("invalid package name", |all, r| {
        pick_meta(all, "olm.package", r)["name"] = json!(r.pick(&["A", "a_b", "-a", "a.b", "é", "a b"]));
        None
    }),
    ("package name too long", |all, r| {
        pick_meta(all, "olm.package", r)["name"] = json!("a".repeat(64));
        None
    }),
    ("default channel missing", |all, r| {
        pick_meta(all, "olm.package", r).as_object_mut().unwrap().remove("defaultChannel");
        None
    }),
    ("default channel unknown", |all, r| {
        pick_meta(all, "olm.package", r)["defaultChannel"] = json!("nowhere");
        None
    }),
    ("package without channels", |all, _| {
        all.push(json!({ "schema": "olm.package", "name": "lonely" }));
        None
    }),
    ("channel of unknown package", |all, r| {
        pick_meta(all, "olm.channel", r)["package"] = json!("nobody");
        None
    }),
    ("channel without name", |all, r| {
        pick_meta(all, "olm.channel", r)["name"] = json!("");
        None
    }),
    ("duplicate channel", |all, r| {
        let d = pick_meta(all, "olm.channel", r).clone();
        all.push(d);
        None
    }),
    ("channel without entries", |all, r| {
        pick_meta(all, "olm.channel", r)["entries"] = json!([]);
        None
    }),
    ("entries null", |all, r| {
        pick_meta(all, "olm.channel", r)["entries"] = Value::Null;
        None
    }),
    ("duplicate entry", |all, r| {
        let c = channel(all, 1, r);
        let e = entry(c, 0).clone();
        c["entries"].as_array_mut().unwrap().push(e);
        None
    }),
    ("entry without bundle", |all, r| {
        let c = channel(all, 1, r);
        let n = entry(c, 0)["name"].clone();
        c["entries"].as_array_mut().unwrap().push(json!({ "name": "ghost.v9.9.9", "replaces": n }));
        None
    }),
    ("entry without name", |all, r| {
        let c = channel(all, 1, r);
        c["entries"].as_array_mut().unwrap().push(json!({ "skips": [] }));
        None
    }),
    ("two channel heads", |all, r| {
        let c = channel(all, 3, r);
        let last = c["entries"].as_array().unwrap().len() - 1;
        let e = entry(c, last).as_object_mut().unwrap();
        e.remove("replaces");
        e.remove("skips");
        None
    }),
    ("no channel head", |all, r| {
        let c = channel(all, 2, r);
        let last = c["entries"].as_array().unwrap().len() - 1;
        let n = entry(c, last)["name"].clone();
        entry(c, 0)["replaces"] = n;
        None
    }),
    ("replaces cycle", |all, r| {
        let c = channel(all, 4, r);
        let n = entry(c, 2)["name"].clone();
        entry(c, 0)["replaces"] = n;
        None
    }),
    ("replaces cycle through skipped bundle", |all, r| {
        let c = channel(all, 4, r);
        let n = entry(c, 2)["name"].clone();
        entry(c, 0)["replaces"] = n.clone();
        entry(c, 3)["skips"] = json!([n]);
        None
    }),
    ("stranded bundle", |all, r| {
        let c = channel(all, 4, r);
        let n = entry(c, 0)["name"].clone();
        let m = entry(c, 1)["name"].clone();
        entry(c, 3)["replaces"] = n.clone();
        entry(c, 2)["replaces"] = n;
        entry(c, 3)["skips"] = json!([m]);
        None
    }),
    ("replaces itself", |all, r| {
        let c = channel(all, 2, r);
        let n = entry(c, 0)["name"].clone();
        entry(c, 0)["replaces"] = n;
        None
    }),
    ("empty skip", |all, r| {
        let c = channel(all, 2, r);
        entry(c, 0)["skips"] = json!(["", "x"]);
        None
    }),
    ("skip range", |all, r| {
        let c = channel(all, 2, r);
        let range = r.pick(&[">=x", "<1.0.0 ||", "1.x", "!1.0.0", ">1.0.0 <2.0.0", "~1.0.0", ""]);
        entry(c, 0)["skipRange"] = json!(range);
        None
    }),
    ("bundle without package", |all, r| {
        pick_meta(all, "olm.bundle", r).as_object_mut().unwrap().remove("package");
        None
    }),
    ("bundle of unknown package", |all, r| {
        pick_meta(all, "olm.bundle", r)["package"] = json!("nobody");
        None
    }),
    ("duplicate bundle", |all, r| {
        let d = pick_meta(all, "olm.bundle", r).clone();
        all.push(d);
        None
    }),
    ("bundle in no channel", |all, r| {
        let mut d = pick_meta(all, "olm.bundle", r).clone();
        d["name"] = json!("outsider.v1.0.0");
        all.push(d);
        None
    }),
    ("bundle missing", |all, r| {
        let name = pick_meta(all, "olm.bundle", r)["name"].clone();
        all.retain(|d| d["schema"] != "olm.bundle" || d["name"] != name);
        None
    }),
    ("bundle without image", |all, r| {
        pick_meta(all, "olm.bundle", r)["image"] = json!("");
        None
    }),
    ("bundle without properties", |all, r| {
        pick_meta(all, "olm.bundle", r).as_object_mut().unwrap().remove("properties");
        None
    }),
    ("image reference", |all, r| {
        pick_meta(all, "olm.bundle", r)["image"] = json!(r.pick(&[
            "a b",
            "UPPER/x",
            "x:",
            "quay.io/X:1",
            "a@sha256:1",
            ":1",
            "localhost:5000/x:1",
            "docker.io/x/y@sha256:",
            "a/b:c/d",
            "x__y",
            "x___y",
            "x..y",
            "http://a/b:1",
            "a:1@md5:00000000000000000000000000000000"
        ]));
        None
    }),
    ("related image reference", |all, r| {
        let b = pick_meta(all, "olm.bundle", r);
        b["relatedImages"] =
            json!([{ "name": "a", "image": "fine" }, { "image": r.pick(&["a b", "", "x:y:z", "A"]) }]);
        None
    }),
    ("duplicate package property", |all, r| {
        let b = pick_meta(all, "olm.bundle", r);
        let v = package_property(b).clone();
        b["properties"].as_array_mut().unwrap().push(json!({ "type": "olm.package", "value": v }));
        None
    }),
    ("package property of another package", |all, r| {
        package_property(pick_meta(all, "olm.bundle", r))["packageName"] = json!("other");
        None
    }),
    ("version", |all, r| {
        package_property(pick_meta(all, "olm.bundle", r))["version"] = json!(r.pick(&[
            "",
            "1",
            "1.0",
            "v1.0.0",
            "01.0.0",
            "1.0.0-",
            "1.0.0-01",
            "1.0.0+",
            "1.0.x",
            "99999999999999999999.0.0",
            "1.0.0-a..b"
        ]));
        None
    }),
    ("duplicate version", |all, r| {
        let c = channel(all, 3, r);
        let p = c["package"].clone();
        let names = [entry(c, 0)["name"].clone(), entry(c, 1)["name"].clone()];
        let version = json!(r.pick(&["5.5.5", "0.0.0", "10.0.0-a"]));
        for d in all.iter_mut() {
            if d["schema"] == "olm.bundle" && d["package"] == p && names.contains(&d["name"]) {
                package_property(d)["version"] = version.clone();
            }
        }
        None
    }),
    ("release", |all, r| {
        package_property(pick_meta(all, "olm.bundle", r))["release"] =
            json!(r.pick(&["1", "01", "a..b", "a b", "123456789012345678901", "", "1.alpha", "a+b"]));
        None
    }),
    ("release and name", |all, r| {
        let c = channel(all, 1, r);
        let old = entry(c, 0)["name"].clone();
        let p = c["package"].as_str().unwrap().to_owned();
        let build = r.chance(30);
        let text =
            serde_json::to_string(&all).unwrap().replace(&old.to_string(), &format!("\"{p}-v3.2.1-4\""));
        *all = serde_json::from_str(&text).unwrap();
        for d in all.iter_mut() {
            if d["schema"] == "olm.bundle" && d["name"] == format!("{p}-v3.2.1-4") {
                let v = package_property(d);
                v["version"] = json!(if build { "3.2.1+b" } else { "3.2.1" });
                v["release"] = json!("4");
            }
        }
        None
    }),
    ("property of the wrong type", |all, r| {
        let (t, v) = r
            .pick(&[
                ("olm.package.required", json!([])),
                ("olm.gvk", json!("x")),
                ("olm.gvk.required", json!(1)),
                ("olm.channel", json!({ "priority": "x" })),
                ("olm.channel", json!({ "priority": 1.5 })),
                ("olm.package", json!({ "version": 1 })),
                ("olm.gvk", json!({ "group": ["x"] })),
                ("olm.gvk", json!(null)),
            ])
            .clone();
        add_property(all, r, t, v);
        None
    }),
    ("metadata of the wrong type", |all, r| {
        let v = r
            .pick(&[
                json!({ "annotations": { "a": 1 } }),
                json!({ "installModes": [{ "type": 1 }] }),
                json!({ "installModes": [{ "supported": "x" }] }),
                json!({ "crdDescriptions": { "owned": [{ "specDescriptors": [{ "path": 1 }] }] } }),
                json!({ "apiServiceDefinitions": { "owned": [{ "containerPort": 99999999999_i64 }] } }),
                json!({ "apiServiceDefinitions": { "owned": [{ "containerPort": 1.5 }] } }),
                json!({ "provider": "x" }),
                json!({ "keywords": {} }),
                json!({ "nativeAPIs": [1] }),
                json!([1]),
                json!({ "Annotations": { "x": "y" }, "KEYWORDS": ["k"] }),
                json!({ "annotations": null, "links": [null] }),
            ])
            .clone();
        add_property(all, r, "olm.csv.metadata", v);
        None
    }),
    ("bundle object", |all, r| {
        let v = r
            .pick(&[
                json!({ "data": "!!" }),
                json!({ "data": "abc" }),
                json!({ "data": base64(b"a: b: c") }),
                json!({ "data": base64(b"\t{}") }),
                json!({ "data": base64(b"{not json") }),
                json!({ "data": 1 }),
                json!({}),
                json!([]),
                json!({ "data": base64(b"a: .inf") }),
                json!({ "data": base64(b"- x\n- y\n") }),
                json!({ "data": "aGVsbG8=\n" }),
                json!({ "data": null }),
                json!({ "data": "=" }),
                json!({ "data": base64(b"---\na: 1\n---\nb") }),
            ])
            .clone();
        add_property(all, r, "olm.bundle.object", v);
        None
    }),
    ("property without value", |all, r| {
        let t = *r.pick(&["olm.gvk", "olm.package", "own", "olm.bundle.object"]);
        pick_meta(all, "olm.bundle", r)["properties"].as_array_mut().unwrap().push(json!({ "type": t }));
        None
    }),
    ("null property", |all, r| {
        pick_meta(all, "olm.bundle", r)["properties"].as_array_mut().unwrap().push(Value::Null);
        None
    }),
    ("bundle object instead of image", |all, r| {
        let b = pick_meta(all, "olm.bundle", r);
        b["image"] = json!("");
        b["properties"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "type": "olm.bundle.object", "value": { "data": base64(b"{\"kind\":\"X\"}") } }));
        None
    }),
    ("deprecation without package", |all, r| {
        pick_meta(all, "olm.deprecations", r)["package"] = json!("");
        None
    }),
    ("deprecation of unknown package", |all, r| {
        pick_meta(all, "olm.deprecations", r)["package"] = json!("nobody");
        None
    }),
    ("duplicate deprecations", |all, r| {
        let d = pick_meta(all, "olm.deprecations", r).clone();
        all.push(d);
        None
    }),
    ("deprecation without schema", |all, r| deprecation(all, r, json!({ "name": "x" }), "m")),
    ("duplicate deprecation entry", |all, r| {
        let d = pick_meta(all, "olm.deprecations", r);
        let e = d["entries"][0].clone();
        d["entries"].as_array_mut().unwrap().push(e);
        None
    }),
    ("deprecated bundle is unknown", |all, r| {
        deprecation(all, r, json!({ "schema": "olm.bundle", "name": "ghost" }), "m")
    }),
    ("deprecated channel is unknown", |all, r| {
        deprecation(all, r, json!({ "schema": "olm.channel", "name": "ghost" }), "m")
    }),
    ("deprecated package has a name", |all, r| {
        deprecation(all, r, json!({ "schema": "olm.package", "name": "x" }), "m")
    }),
    ("deprecation of unknown schema", |all, r| {
        deprecation(all, r, json!({ "schema": "olm.thing", "name": "x\"y" }), "m")
    }),
    ("deprecation without message", |all, r| {
        pick_meta(all, "olm.deprecations", r)["entries"][0]["message"] = json!("");
        None
    }),
    ("keys in another case", |all, r| {
        let n = r.below(all.len());
        let d = all[n].as_object_mut().unwrap();
        let spelt = *r.pick(&["Schema", "SCHEMA", "\u{17f}chema"]);
        let v = d.remove("schema").unwrap();
        d.insert(spelt.to_owned(), v);
        if let Some(v) = d.remove("name") {
            d.insert("NAME".to_owned(), v);
        }
        if let Some(v) = d.remove("entries") {
            d.insert("Entries".to_owned(), v);
        }
        None
    }),
    ("inner keys in another case", |all, r| {
        let c = channel(all, 2, r);
        let e = entry(c, 1).as_object_mut().unwrap();
        if let Some(v) = e.remove("replaces") {
            e.insert("Replaces".to_owned(), v);
        }
        e.insert("Name".to_owned(), json!("hidden"));
        None
    }),
    ("keys that fold together", |all, r| {
        let n = r.below(all.len());
        let d = all[n].as_object_mut().unwrap();
        let (a, b) = *r.pick(&[
            ("x", "X"),
            ("name", "NAME"),
            ("stra\u{df}e", "strasse"),
            ("\u{17f}", "s"),
            ("\u{212a}", "k"),
            ("\u{1e9e}", "ss"),
        ]);
        d.insert(a.to_owned(), json!("1"));
        d.insert(b.to_owned(), json!("2"));
        None
    }),
    ("header field is not a string", |all, r| {
        let n = r.below(all.len());
        let key = *r.pick(&["schema", "package", "name"]);
        all[n][key] = r
            .pick(&[
                json!(1),
                json!(1.5),
                json!(true),
                json!(null),
                json!([1, "a", null]),
                json!({ "b": 1, "a": [] }),
                json!(1e21),
                json!([]),
            ])
            .clone();
        None
    }),
    ("no schema", |all, r| {
        let n = r.below(all.len());
        all[n].as_object_mut().unwrap().remove("schema");
        None
    }),
    ("empty schema", |all, r| {
        let n = r.below(all.len());
        all[n]["schema"] = json!("");
        None
    }),
    ("document is not an object", |all, r| {
        all.push(
            r.pick(&[
                json!([1, "x"]),
                json!("text<"),
                json!(12.0),
                json!(true),
                json!(null),
                json!([]),
                json!([[{}], { "a": [] }]),
            ])
            .clone(),
        );
        None
    }),
    ("field of the wrong type", |all, r| {
        let n = r.below(all.len());
        let (k, v) = r
            .pick(&[
                ("defaultChannel", json!(1)),
                ("entries", json!("x")),
                ("entries", json!([1])),
                ("entries", json!([{ "skips": "x" }])),
                ("entries", json!([{ "skips": [1] }])),
                ("properties", json!({})),
                ("properties", json!([{ "type": 1 }])),
                ("image", json!([])),
                ("relatedImages", json!([{ "image": 1 }])),
                ("icon", json!("x")),
                ("icon", json!({ "base64data": "!" })),
                ("icon", json!({ "base64data": 1, "mediatype": 2 })),
                ("icon", json!(null)),
                ("description", json!({})),
                ("entries", json!([{ "reference": 1 }])),
                ("entries", json!([{ "reference": { "schema": 1 } }])),
                ("entries", json!([{ "message": true }])),
            ])
            .clone();
        all[n][k] = v;
        None
    }),
    ("nulls", |all, r| {
        let n = r.below(all.len());
        for k in ["icon", "description", "properties", "relatedImages"] {
            if r.chance(50) {
                all[n][k] = Value::Null;
            }
        }
        None
    }),
    ("unknown fields", |all, r| {
        let n = r.below(all.len());
        all[n]["extra"] = value(r, 0);
        all[n]["zz"] = json!({ "a": text(r) });
        None
    }),
    ("order of properties", |all, r| {
        let b = pick_meta(all, "olm.bundle", r);
        let list = b["properties"].as_array_mut().unwrap();
        list.insert(0, json!({ "type": "olm.bundle.object", "value": { "data": base64(b"{}") } }));
        list.insert(0, json!({ "type": "olm.csv.metadata", "value": { "displayName": "x" } }));
        list.push(json!({ "type": "last", "value": 0.0 }));
        None
    }),
    ("indexignore", |all, r| {
        let ignore =
            *r.pick(&["*.md\n", "/docs\n", "docs/**/no.json\n", "# no\n\n!x\nREADME*\n", "d*s\n", "docs/\n"]);
        let mut files = super::write(all, "json", r);
        files.push((".indexignore".to_owned(), ignore.into()));
        files.push(("docs/a/no.json".to_owned(), b"{\"x\":1}".to_vec()));
        files.push(("README.md".to_owned(), b"{\"schema\":\"read.me\",\"x\":1}".to_vec()));
        if r.chance(50) {
            files.push(("docs/.indexignore".to_owned(), b"a\n!b\n".to_vec()));
        }
        Some(files)
    }),
    ("truncated file", |all, r| {
        let form = *r.pick(&["json", "yaml"]);
        let mut t = encode(all, form, r);
        let n = r.below(t.len());
        t.truncate(n);
        single_file("c", t)
    }),
    ("corrupted byte", |all, r| {
        let form = *r.pick(&["json", "yaml"]);
        let mut t = encode(all, form, r);
        let n = r.below(t.len());
        t[n] = *r.pick(b"{}[]\",:#x\n\t '\\&*!%-\xff\x00");
        single_file("c", t)
    }),
    ("json, then garbage", |all, r| {
        let count = 1 + r.below(3);
        let mut t = encode(&all[..count.min(all.len())], "json", r);
        t.extend_from_slice(
            r.pick(&[
                "x",
                "\n---\n",
                "\n\n  y: 1\n",
                "]",
                "\n{",
                "\n{\"schema\":",
                " null",
                "\n[1]",
                "\n\"x\"",
            ])
            .as_bytes(),
        );
        single_file("c", t)
    }),
    ("json, then yaml", |all, r| {
        let (a, b) = all.split_at(1);
        let mut t = encode(a, "json", r);
        t.extend_from_slice(b"\n");
        t.extend(encode(b, "yaml", r));
        single_file("c", t)
    }),
    ("yaml flow mapping", |_, r| {
        single_file(
            "c",
            *r.pick(&[
                "{schema: own, x: 1}",
                "{schema: own,\n x: [a, b]}\n---\n{schema: b}\n",
                "{ \"schema\": \"own\" , }",
                "  {schema: 'x' # c\n}",
            ]),
        )
    }),
    ("yaml syntax", |_, r| {
        single_file(
            "c.yaml",
            *r.pick(&[
                "schema: own\ny: 1\nn: 2\n",
                "schema: own\nyes: 017\non: [0o17, 0x1F, 1_000, .5, 1e3]\n",
                "schema: own\nd: 2001-01-01\nt: 12:30:45\n",
                "schema: own\nb: !!binary aGk=\n",
                "a: &x {p: 1}\nschema: own\nc: *x\nd: {<<: *x, q: 2}\n",
                "schema: own\ni: .inf\n",
                "\u{feff}schema: own\n",
                "schema: own\nn: 12345678901234567890123\nf: 1.0\nm: -0.0\n",
                "---\n# nothing\n---\nschema: own\n",
                "--- x\nschema: own\n",
                "---\nschema: own\n---\n",
                "",
                "\n",
                "# only a comment\n",
                "schema: own\nschema: two\n",
                "1: a\nschema: own\ntrue: b\n~: c\n",
                "schema: own\n\tx: 1\n",
                "%YAML 1.1\n---\nschema: own\n",
                "schema: own\n...\nx\n",
                "schema: >\n  own\nx: |\n  a\n  b\n",
            ]),
        )
    }),
    ("numbers", |_, r| {
        single_file(
            "c.json",
            format!(
                "{{\"schema\":\"own\",\"n\":{}}}",
                r.pick(&[
                    "1.0",
                    "1e20",
                    "1e21",
                    "0.000001",
                    "1e-7",
                    "-0.0",
                    "-0",
                    "9007199254740993",
                    "12345678901234567890",
                    "1E5",
                    "100e-2",
                    "1e999",
                    "-1e999",
                    "0.1",
                    "123456789012345",
                    "1234567890123456",
                    "01",
                    "+1",
                    "1.",
                    ".5",
                    "NaN"
                ])
            ),
        )
    }),
    ("strings", |_, r| {
        single_file(
            "c.json",
            format!(
                "{{\"schema\":\"own\",\"s\":\"{}\",\"{}\":1}}",
                r.pick(&[
                    "\\u003c\\u2028\\/",
                    "\\ud83d\\ude00",
                    "\\ud83d",
                    "a\\u0000b",
                    "\\b\\f\\n\\r\\t",
                    "é\u{2029}",
                    "\u{7f}",
                    "\\x",
                    "\\u12",
                    "tab\there",
                    "nl\nhere"
                ]),
                r.pick(&["k", "\\u0041", "a\\nb", "é"])
            ),
        )
    }),
    ("invalid utf-8", |_, r| {
        let mut t = b"{\"schema\":\"own\",\"s\":\"a".to_vec();
        t.extend_from_slice(r.pick::<&[u8]>(&[
            &b"\xff"[..],
            b"\xc3",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xc0\x80",
        ]));
        t.extend_from_slice(b"b\"}");
        single_file("c.json", t)
    }),
    ("duplicate keys", |_, r| {
        single_file("c.json", *r.pick(&["{\"schema\":\"a\",\"schema\":\"own\"}", "{\"schema\":\"own\",\"x\":{\"a\":1,\"a\":2,\"b\":3}}", "{\"schema\":1,\"schema\":\"own\"}", "{\"schema\":\"own\",\"schema\":1}", "{\"schema\":\"olm.package\",\"name\":\"a\",\"name\":\"b\",\"icon\":{\"mediatype\":\"x\",\"mediatype\":\"y\"}}"]))
    }),
];

//! Generates catalogs and resolve requests. Most requests match something, to reach the later resolution
//! steps.

use podium_catalog::resolve::{InstalledBundle, ResolveRequest};
use serde_json::{Value, json};

use crate::cases::{Random, encode};

const PACKAGE: &str = "demo";
const CHANNELS: &[&str] = &["stable", "fast", "candidate-v1"];
const PRERELEASES: &[&str] = &["", "", "", "", "-alpha.1", "-rc.1", "-rc.2", "-1", "-beta.11", "-x-y.0"];
const BUILD_METADATA: &[&str] =
    &["", "", "", "", "+1", "+2", "+10", "+02", "+git.abc", "+a.b", "+12345678901234567890.1"];
const INVALID_VERSIONS: &[&str] = &[
    "1.0",
    "v1.0.0",
    "",
    "1.0.0-",
    "x",
    "01.2.3",
    "1.2.3.4",
    "18446744073709551616.0.0",
    "1.0.0-01",
    "1.0.0+",
    " 1.0.0",
];
const VERSION_RANGES: &[&str] = &[
    "1.x",
    "*",
    ">=1.0.0",
    "<2",
    "~1",
    "~1.1",
    "^1",
    "^0.1",
    "1.0 - 2.0",
    ">=1, <2.1",
    ">=1 <3",
    "1.1.x || 2.x",
    ">1",
    "<=1.1",
    "!=1.0.0",
    ">=1.0.0-0",
    "~1.0.0-alpha",
    ">0.0.0-0 <3.0.0-0",
    "=1.1",
    "~0.0.0",
    " 1.0.0 ",
    "v1.1.0",
    "=>1",
    "1.0.0+2",
    "2",
    "^2.0.0-rc.1",
    "0.0.0 - 9",
    ">=18446744073709551615",
];
const INVALID_VERSION_RANGES: &[&str] = &[
    "V1.0.0",
    "1.0.0,",
    "||1",
    "1||",
    "^",
    "abc",
    ">=1 <",
    "1.0.0 2.0.0 x",
    "1..2",
    ">>1",
    "\"",
    "=1.2.3.4",
    "\u{e9}",
];
const SKIP_RANGES: &[&str] = &[
    ">=1.0.0 <2.0.0",
    "<1.0.0",
    "<2.0.0 || >2.0.0",
    "1.x",
    "!1.0.0",
    ">=1.0.0",
    ">1.0.0-alpha <1.1.0",
    "^1.0.0",
    ">=1.0",
    "bad",
    "",
    "||",
    ">=0.0.0 <9.0.0",
    "1.0.0",
    "> 1.0.0",
    "=1.0.0+1",
];

/// Catalogs in read order, and a request.
#[derive(Clone, Debug)]
pub struct ResolutionCase {
    /// Name, priority and content.
    pub catalogs: Vec<(String, i32, Vec<u8>)>,
    /// Request.
    pub request: ResolveRequest,
}

/// Name and version of a bundle that several catalogs may have.
type KnownBundle = (String, String);

/// Generates a case.
pub fn resolution_case(seed: u64, number: u64) -> ResolutionCase {
    let mut random = Random::for_case(seed ^ 0x7265_736f_6c76_6500, number);
    let known = bundles(&mut random);
    let request = resolve_request(&known, &mut random);
    let count = [1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 0][if random.chance(3) { 11 } else { random.below(11) }];
    let mut names = vec!["mirror", "community", "zeta", "a-team"];
    let catalogs = (0..count)
        .map(|_| {
            let name = names.remove(random.below(names.len())).to_owned();
            let priority = *random.pick(&[0, 0, 0, 0, 10, 10, -5, i32::MAX, i32::MIN]);
            let mut documents = catalog(&name, &known, &request, &mut random);
            if documents.len() > 1 && random.chance(30) {
                let (at, last) = (random.below(documents.len()), documents.len() - 1);
                documents.swap(at, last);
            }
            let format = if random.chance(80) { "json" } else { "yaml" };
            (name, priority, encode(&documents, format, &mut random))
        })
        .collect();
    ResolutionCase { catalogs, request }
}

fn version(random: &mut Random) -> String {
    if random.chance(4) {
        return (*random.pick(INVALID_VERSIONS)).to_owned();
    }
    if random.chance(1) {
        // Longer than Masterminds accepts when parsing a version.
        return format!("1.0.{}-{}", random.below(3), "long.".repeat(60) + "end");
    }
    let [major, minor, patch] = [random.below(3), random.below(3), random.below(2)];
    format!("{major}.{minor}.{patch}{}{}", random.pick(PRERELEASES), random.pick(BUILD_METADATA))
}

fn bundles(random: &mut Random) -> Vec<KnownBundle> {
    (0..1 + random.below(8))
        .map(|at| {
            let version = version(random);
            let name = match random.below(20) {
                // operator-controller caches a file with the bundle name, whose length the file system
                // limits.
                _ if version.len() > 200 => format!("{PACKAGE}.long{at}"),
                0 => format!("{PACKAGE}.{at}"),
                1 => format!("{PACKAGE}/v{version}"),
                2 => format!("{PACKAGE}.v{version}-b"),
                3 => String::new(),
                4 => "olm.bundle".to_owned(),
                _ => format!("{PACKAGE}.v{version}"),
            };
            (name, version)
        })
        .collect()
}

fn resolve_request(known: &[KnownBundle], random: &mut Random) -> ResolveRequest {
    let mut channels = Vec::new();
    if random.chance(45) {
        let count = 1 + random.below(2);
        channels.extend((0..count).map(|_| (*random.pick(CHANNELS)).to_owned()));
    }
    if random.chance(5) {
        channels.push("nightly".to_owned());
    }
    let range = match random.below(20) {
        0 => (*random.pick(INVALID_VERSION_RANGES)).to_owned(),
        1..=7 => (*random.pick(VERSION_RANGES)).to_owned(),
        8 | 9 => format!(
            "{}{}",
            random.pick(&["", "=", ">", ">=", "<", "<=", "~", "^", "!="]),
            random.pick(known).1
        ),
        _ => String::new(),
    };
    let installed = random.chance(60).then(|| match random.below(10) {
        0 => InstalledBundle { name: format!("{PACKAGE}.v0.0.1"), version: "0.0.1".to_owned() },
        1 => InstalledBundle { name: random.pick(known).0.clone(), version: version(random) },
        2 => InstalledBundle { name: "gone".to_owned(), version: random.pick(known).1.clone() },
        3 if random.chance(50) => InstalledBundle { name: String::new(), version: "1.0.0".to_owned() },
        4 if random.chance(50) => InstalledBundle {
            name: random.pick(known).0.clone(),
            version: (*random.pick(INVALID_VERSIONS)).to_owned(),
        },
        _ => {
            let (name, version) = random.pick(known).clone();
            InstalledBundle { name, version }
        }
    });
    let package = if random.chance(4) { "nobody" } else { PACKAGE }.to_owned();
    ResolveRequest { package, channels, version: range, installed, self_certified: random.chance(20) }
}

fn catalog(
    catalog: &str,
    known: &[KnownBundle],
    request: &ResolveRequest,
    random: &mut Random,
) -> Vec<Value> {
    let mut all = Vec::new();
    if random.chance(8) {
        // Metas of other packages or of none.
        all.push(json!({ "schema": "olm.package", "name": "else", "defaultChannel": "stable" }));
        all.push(json!({ "schema": "x", "name": "y" }));
        if random.chance(30) {
            all.push(json!({ "schema": "x", "name": "y", "package": PACKAGE }));
        }
        return all;
    }
    if random.chance(95) {
        all.push(json!({ "schema": "olm.package", "name": PACKAGE, "defaultChannel": "stable" }));
    }
    let included: Vec<&KnownBundle> = known.iter().filter(|_| random.chance(75)).collect();
    for name in CHANNELS {
        let times = [1, 1, 1, 1, 1, 1, 1, 0, 0, 2][random.below(10)];
        all.extend((0..times).map(|_| channel(name, known, request, random)));
    }
    for (name, version) in included {
        let times = if random.chance(5) { 2 } else { 1 };
        for time in 0..times {
            let version =
                if time == 0 || random.chance(50) { version.clone() } else { self::version(random) };
            let image = format!("quay.io/{catalog}/{}:{}", name.replace('/', "-"), all.len());
            all.push(json!({
                "schema": "olm.bundle", "name": name, "package": PACKAGE, "image": image,
                "properties": properties(&version, random),
            }));
        }
    }
    if random.chance(45) {
        all.push(deprecations(catalog, known, random));
        if random.chance(8) {
            let mut second = deprecations(catalog, known, random);
            if random.chance(60) {
                second["name"] = json!(*random.pick(&["a", "z"]));
            }
            all.push(second);
        }
    }
    all
}

fn channel(name: &str, known: &[KnownBundle], request: &ResolveRequest, random: &mut Random) -> Value {
    let installed = request.installed.as_ref().map(|installed| installed.name.clone());
    let mut entries = Vec::new();
    for (bundle, _) in known {
        if random.chance(30) {
            continue;
        }
        let other = |random: &mut Random| match &installed {
            Some(name) if random.chance(40) => name.clone(),
            _ => random.pick(known).0.clone(),
        };
        let mut entry = json!({ "name": bundle });
        if random.chance(40) {
            entry["replaces"] = json!(other(random));
        }
        if random.chance(20) {
            entry["skips"] = (0..1 + random.below(2)).map(|_| other(random)).collect();
        }
        if random.chance(25) {
            entry["skipRange"] = json!(*random.pick(SKIP_RANGES));
        }
        entries.push(entry);
    }
    json!({ "schema": "olm.channel", "package": PACKAGE, "name": name, "entries": entries })
}

fn properties(version: &str, random: &mut Random) -> Value {
    let mut package = json!({ "packageName": PACKAGE, "version": version });
    match random.below(60) {
        0..=3 => package["release"] = json!(*random.pick(&["", "1", "7", "no release"])),
        4 => package["release"] = json!(3),
        5 => package["release"] = Value::Null,
        6 => package["version"] = json!(1.5),
        7 => package = json!({ "version": [version], "packageName": {} }),
        8 => package = random.pick(&[json!([]), json!("1.0.0"), Value::Null, json!({})]).clone(),
        9 => package = json!({ "PackageName": PACKAGE, "VERSION": version }),
        10 => package["packageName"] = json!("else"),
        _ => {}
    }
    let mut all = vec![json!({ "type": "olm.package", "value": package })];
    match random.below(40) {
        0 => all.clear(),
        1 => all
            .push(json!({ "type": "olm.package", "value": { "packageName": PACKAGE, "version": "9.9.9" } })),
        2 => all = vec![json!({ "type": "olm.package" })],
        3..=6 => {
            let ty = *random.pick(&["olm.package.required", "olm.gvk.required", "olm.constraint"]);
            all.push(json!({ "type": ty, "value": { "packageName": "else", "versionRange": ">=1.0.0" } }));
        }
        7 => all.push(json!({ "type": "olm.gvk", "value": "of the wrong type" })),
        8 => all.push(json!({ "type": "olm.maxOpenShiftVersion", "value": "4.1" })),
        _ => {}
    }
    if random.chance(20) {
        let gvk = json!({ "group": "demo.io", "kind": "Demo", "version": "v1" });
        all.insert(0, json!({ "type": "olm.gvk", "value": gvk }));
    }
    Value::Array(all)
}

fn deprecations(catalog: &str, known: &[KnownBundle], random: &mut Random) -> Value {
    let mut entries = Vec::new();
    for number in 0..1 + random.below(5) {
        let reference = match random.below(10) {
            0 => json!({ "schema": "olm.package" }),
            1 | 2 => json!({ "schema": "olm.channel", "name": *random.pick(CHANNELS) }),
            3 if random.chance(30) => json!({ "schema": "x", "name": random.pick(known).0 }),
            _ => json!({ "schema": "olm.bundle", "name": random.pick(known).0 }),
        };
        let message = if random.chance(6) { String::new() } else { format!("reason {number} of {catalog}") };
        entries.push(json!({ "reference": reference, "message": message }));
    }
    json!({ "schema": "olm.deprecations", "package": PACKAGE, "entries": entries })
}

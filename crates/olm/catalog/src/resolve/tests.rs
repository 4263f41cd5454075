//! Regressions: cases in which the resolved bundle differed from operator-controller's.

use super::*;
use crate::compat::OpmCompat;
use crate::json::SourceText;

fn config(documents: &[String]) -> DeclarativeConfig {
    let mut config = DeclarativeConfig::default();
    config.read(&"".into(), &SourceText::new(documents.join("\n").as_bytes()), OpmCompat::V173).unwrap();
    config
}

fn bundle(name: &str, version: &str, more: &str) -> String {
    format!(
        r#"{{"schema":"olm.bundle","name":"{name}","package":"p","image":"i:{version}","properties":[
            {{"type":"olm.package","value":{{"packageName":"p","version":"{version}"}}}}{more}]}}"#
    )
}

fn resolve_with(config: &DeclarativeConfig, change: impl Fn(&mut ResolveRequest)) -> Resolution {
    let mut request = ResolveRequest { package: "p".to_owned(), ..ResolveRequest::default() };
    change(&mut request);
    resolve(&[Catalog { name: "c", priority: 0, config }], &request)
}

fn resolved_image(documents: &[String]) -> Result<String, String> {
    resolve_with(&config(documents), |_| ()).bundle.map(|bundle| bundle.image)
}

#[test]
fn last_meta_of_a_name_wins() {
    let documents = [bundle("a", "2.0.0", ""), bundle("a", "1.0.0", "")];
    assert_eq!(resolved_image(&documents).unwrap(), "i:1.0.0");
    let channel = |name: &str, entry: &str| {
        format!(
            r#"{{"schema":"olm.channel","package":"p","name":"{name}","entries":[{{"name":"{entry}"}}]}}"#
        )
    };
    let catalog = config(&[channel("c", "a"), channel("c", "b"), bundle("a", "1.0.0", "")]);
    let resolution = resolve_with(&catalog, |request| request.channels = vec!["c".to_owned()]);
    assert_eq!(resolution.bundle.unwrap_err(), "no bundles found for package \"p\" in channels [c]");
}

#[test]
fn first_file_wins_for_equal_versions() {
    // The files are a.json and a-b.json, and a hyphen sorts before a dot.
    let documents = [bundle("a", "1.0.0", ""), bundle("a-b", "1.0.0", "")];
    let resolution = resolve_with(&config(&documents), |_| ());
    assert_eq!(resolution.bundle.unwrap().bundle, "a-b");
    assert_eq!(
        resolution.candidates[1].rejection.as_deref(),
        Some("a-b has the same version and sorts first")
    );
}

#[test]
fn reads_only_first_package_property() {
    let gvk = r#",{"type":"olm.gvk","value":"of the wrong type"}"#;
    let second = r#",{"type":"olm.package","value":{"packageName":"p","version":"9.0.0"}}"#;
    for more in [gvk, second] {
        let documents = [bundle("a", "2.0.0", more), bundle("b", "1.0.0", "")];
        assert_eq!(resolved_image(&documents).unwrap(), "i:2.0.0", "{more}");
    }
}

#[test]
fn reports_invalid_version_before_dependency() {
    let needs = r#",{"type":"olm.constraint","value":{}}"#;
    assert_eq!(
        resolved_image(&[bundle("a", "1", needs)]).unwrap_err(),
        "error getting resolved bundle version for bundle \"a\": No Major.Minor.Patch elements found"
    );
    let without = |properties: &str| {
        let document =
            format!(r#"{{"schema":"olm.bundle","name":"a","package":"p","properties":[{properties}]}}"#);
        resolved_image(&[document]).unwrap_err()
    };
    assert_eq!(
        without(""),
        "error getting resolved bundle version for bundle \"a\": no package property found in bundle \"a\""
    );
    assert_eq!(
        without(r#"{"type":"olm.package","value":{"version":1}}"#),
        "error getting resolved bundle version for bundle \"a\": error unmarshalling package property: json: cannot \
         unmarshal number into Go struct field Package.version of type string"
    );
}

#[test]
fn checks_installed_version_only_in_catalogs_with_the_package() {
    let broken = |request: &mut ResolveRequest| {
        request.installed = Some(InstalledBundle { name: "a".to_owned(), version: "x".to_owned() });
    };
    let other = r#"{"schema":"olm.package","name":"q"}"#.to_owned();
    assert_eq!(
        resolve_with(&config(&[other]), broken).bundle.unwrap_err(),
        "error upgrading from currently installed version \"x\": no bundles found for package \"p\""
    );
    let some = r#"{"schema":"any","name":"q","package":"p"}"#.to_owned();
    assert_eq!(
        resolve_with(&config(&[some]), broken).bundle.unwrap_err(),
        "error walking catalogs: error finding upgrade edges: failed to get version and release of installed bundle: \
         No Major.Minor.Patch elements found"
    );
}

#[test]
fn joins_deprecations_of_package_channel_and_bundle() {
    let deprecations = r#"{"schema":"olm.deprecations","package":"p","entries":[
        {"reference":{"schema":"olm.bundle","name":"a"},"message":"old bundle"},
        {"reference":{"schema":"olm.channel","name":"c"},"message":"old channel"},
        {"reference":{"schema":"olm.channel","name":"d"},"message":"other channel"},
        {"reference":{"schema":"olm.package"},"message":"old package"},
        {"reference":{"schema":"olm.bundle","name":"b"},"message":""}]}"#;
    let channel =
        r#"{"schema":"olm.channel","package":"p","name":"c","entries":[{"name":"a"},{"name":"b"}]}"#;
    let deprecation_of = |bundles: &[String]| {
        let mut documents = vec![deprecations.to_owned(), channel.to_owned()];
        documents.extend_from_slice(bundles);
        let resolution = resolve_with(&config(&documents), |request| request.channels = vec!["c".to_owned()]);
        resolution.bundle.unwrap().deprecation.unwrap()
    };
    assert_eq!(deprecation_of(&[bundle("a", "1.0.0", "")]), "old package\nold channel\nold bundle");
    assert_eq!(deprecation_of(&[bundle("b", "1.0.0", "")]), "old package\nold channel");
}

#[test]
fn accepts_long_version_in_range() {
    let version = format!("1.0.0-{}", "long.".repeat(60) + "end");
    let resolution = resolve_with(&config(&[bundle("a", &version, "")]), |request| {
        request.version = ">=1.0.0-0".to_owned()
    });
    assert_eq!(resolution.bundle.unwrap().version, version);
}

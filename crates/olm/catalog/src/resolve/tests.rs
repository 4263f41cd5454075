//! Cases in which the choice once differed from the controller's.

use super::*;
use crate::generation::Generation;
use crate::json::Text;

fn config(documents: &[String]) -> Config {
    let mut config = Config::default();
    config.read(&"".into(), &Text::new(documents.join("\n").as_bytes()), Generation::V173).unwrap();
    config
}

fn bundle(name: &str, version: &str, more: &str) -> String {
    format!(
        r#"{{"schema":"olm.bundle","name":"{name}","package":"p","image":"i:{version}","properties":[
            {{"type":"olm.package","value":{{"packageName":"p","version":"{version}"}}}}{more}]}}"#
    )
}

fn ask(config: &Config, change: impl Fn(&mut Wish)) -> Outcome {
    let mut wish = Wish { package: "p".to_owned(), ..Wish::default() };
    change(&mut wish);
    resolve(&[Catalog { name: "c", priority: 0, config }], &wish)
}

fn chosen(documents: &[String]) -> Result<String, String> {
    ask(&config(documents), |_| ()).chosen.map(|chosen| chosen.image)
}

#[test]
fn of_documents_with_one_name_the_last_counts() {
    let documents = [bundle("a", "2.0.0", ""), bundle("a", "1.0.0", "")];
    assert_eq!(chosen(&documents).unwrap(), "i:1.0.0");
    let channel = |name: &str, entry: &str| {
        format!(
            r#"{{"schema":"olm.channel","package":"p","name":"{name}","entries":[{{"name":"{entry}"}}]}}"#
        )
    };
    let catalog = config(&[channel("c", "a"), channel("c", "b"), bundle("a", "1.0.0", "")]);
    let outcome = ask(&catalog, |wish| wish.channels = vec!["c".to_owned()]);
    assert_eq!(outcome.chosen.unwrap_err(), "no bundles found for package \"p\" in channels [c]");
}

#[test]
fn of_equal_versions_the_first_file_counts() {
    // The files are called a.json and a-b.json, and a hyphen comes before a dot.
    let documents = [bundle("a", "1.0.0", ""), bundle("a-b", "1.0.0", "")];
    let outcome = ask(&config(&documents), |_| ());
    assert_eq!(outcome.chosen.unwrap().bundle, "a-b");
    assert_eq!(
        outcome.candidates[1].why_not.as_deref(),
        Some("a-b has the same version, and a name that comes first")
    );
}

#[test]
fn only_the_first_package_property_is_read() {
    let gvk = r#",{"type":"olm.gvk","value":"of the wrong type"}"#;
    let second = r#",{"type":"olm.package","value":{"packageName":"p","version":"9.0.0"}}"#;
    for more in [gvk, second] {
        let documents = [bundle("a", "2.0.0", more), bundle("b", "1.0.0", "")];
        assert_eq!(chosen(&documents).unwrap(), "i:2.0.0", "{more}");
    }
}

#[test]
fn a_broken_version_is_told_before_a_dependency() {
    let needs = r#",{"type":"olm.constraint","value":{}}"#;
    assert_eq!(
        chosen(&[bundle("a", "1", needs)]).unwrap_err(),
        "error getting resolved bundle version for bundle \"a\": No Major.Minor.Patch elements found"
    );
    let without = |properties: &str| {
        let document =
            format!(r#"{{"schema":"olm.bundle","name":"a","package":"p","properties":[{properties}]}}"#);
        chosen(&[document]).unwrap_err()
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
fn what_is_installed_matters_only_where_the_package_is() {
    let broken = |wish: &mut Wish| {
        wish.installed = Some(Installed { name: "a".to_owned(), version: "x".to_owned() });
    };
    let other = r#"{"schema":"olm.package","name":"q"}"#.to_owned();
    assert_eq!(
        ask(&config(&[other]), broken).chosen.unwrap_err(),
        "error upgrading from currently installed version \"x\": no bundles found for package \"p\""
    );
    let some = r#"{"schema":"any","name":"q","package":"p"}"#.to_owned();
    assert_eq!(
        ask(&config(&[some]), broken).chosen.unwrap_err(),
        "error walking catalogs: error finding upgrade edges: failed to get version and release of installed bundle: \
         No Major.Minor.Patch elements found"
    );
}

#[test]
fn deprecations_of_package_channel_and_bundle_are_told() {
    let deprecations = r#"{"schema":"olm.deprecations","package":"p","entries":[
        {"reference":{"schema":"olm.bundle","name":"a"},"message":"old bundle"},
        {"reference":{"schema":"olm.channel","name":"c"},"message":"old channel"},
        {"reference":{"schema":"olm.channel","name":"d"},"message":"other channel"},
        {"reference":{"schema":"olm.package"},"message":"old package"},
        {"reference":{"schema":"olm.bundle","name":"b"},"message":""}]}"#;
    let channel =
        r#"{"schema":"olm.channel","package":"p","name":"c","entries":[{"name":"a"},{"name":"b"}]}"#;
    let said = |bundles: &[String]| {
        let mut documents = vec![deprecations.to_owned(), channel.to_owned()];
        documents.extend_from_slice(bundles);
        let outcome = ask(&config(&documents), |wish| wish.channels = vec!["c".to_owned()]);
        outcome.chosen.unwrap().deprecation.unwrap()
    };
    assert_eq!(said(&[bundle("a", "1.0.0", "")]), "old package\nold channel\nold bundle");
    assert_eq!(said(&[bundle("b", "1.0.0", "")]), "old package\nold channel");
}

#[test]
fn a_long_version_can_be_in_a_range() {
    let version = format!("1.0.0-{}", "long.".repeat(60) + "end");
    let outcome = ask(&config(&[bundle("a", &version, "")]), |wish| wish.version = ">=1.0.0-0".to_owned());
    assert_eq!(outcome.chosen.unwrap().version, version);
}

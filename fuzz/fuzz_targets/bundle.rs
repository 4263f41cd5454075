//! Bytes as the files of a bundle: read both ways, checked, rendered, compared with themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_bundle::render::{self, CertificateProvider, Options};
use podium_bundle::{BundleFiles, RegistryV1, compare, olm_bundle, validate};

/// Files are divided by a line of three dots; their names come first.
fn files(input: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = String::from_utf8_lossy(input);
    let file = |part: &str| part.split_once('\n').map(|(name, data)| (name.to_owned(), data.as_bytes().to_vec()));
    text.split("\n...\n").filter_map(file).collect()
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let Ok(tree) = BundleFiles::new(files(rest)) else { return };
    let options = Options {
        install_namespace: "operators".to_owned(),
        target_namespaces: if choice & 1 == 0 { Vec::new() } else { vec!["team".to_owned()] },
        certificate_provider: [None, Some(CertificateProvider::CertManager), Some(CertificateProvider::OpenShift)][usize::from(choice >> 1) % 3],
        single_own_namespace: choice & 8 != 0,
        deployment_config: serde_json::Value::Null,
    };
    if let Ok(bundle) = olm_bundle(&tree, "example.com/bundle:1") {
        // It is JSON, whatever was in the files.
        assert!(serde_json::from_str::<serde_json::Value>(&bundle.to_json()).is_ok());
        let _ = bundle.migrated();
    }
    let findings = validate(&tree, &options);
    if let Ok(registry) = RegistryV1::new(&tree)
        && let Ok(objects) = render::render(&registry, &options)
    {
        assert!(findings.iter().all(|finding| finding.validator != podium_bundle::Validator::Controller), "{findings:?}");
        for object in objects {
            assert!(serde_json::from_str::<serde_json::Value>(&object.to_json()).is_ok());
        }
    }
    if let Ok(comparison) = compare::compare(&tree, &tree) {
        assert!(comparison.changes.iter().all(|change| change.bump != compare::VersionBump::Minor), "{:?}", comparison.changes);
    }
});

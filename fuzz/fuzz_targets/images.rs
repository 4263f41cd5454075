//! What comes from registries and archives: names, manifests, configurations, layers, credential files, challenges.
//! The first byte says which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_oci::client::auth::Challenge;
use podium_oci::client::credentials;
use podium_oci::files::{ExtractLimits, FileCollector};
use podium_oci::model::{Config, ManifestOrIndex};
use podium_oci::registry::htpasswd::Htpasswd;
use podium_oci::{Digest, ImageLocation, Reference};

const LIMITS: ExtractLimits =
    ExtractLimits { max_file_bytes: 1 << 20, max_unpacked_bytes: 16 << 20, max_entries: 2000 };

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match kind % 6 {
        0 => {
            if let Ok(reference) = Reference::parse(&text) {
                // The whole name means the same, and is safe in addresses and paths.
                let whole = reference.to_string();
                assert_eq!(Reference::parse(&whole).as_ref(), Ok(&reference));
                assert!(reference.repository.split('/').all(|part| !matches!(part, "" | "." | "..")));
                assert!(whole.bytes().all(|byte| byte.is_ascii_graphic()));
            }
            let _ = ImageLocation::parse(&text);
            if let Ok(digest) = Digest::parse(&text) {
                assert!(digest.hex().bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
        1 => {
            if let Ok(document) = ManifestOrIndex::parse(rest, None) {
                // What is understood is understood again when we write it.
                let again = match &document {
                    ManifestOrIndex::Manifest(manifest) => manifest.to_bytes(),
                    ManifestOrIndex::Index(index) => index.to_bytes(),
                };
                assert_eq!(
                    ManifestOrIndex::parse(&again, Some(document.media_type())).as_ref(),
                    Ok(&document)
                );
            }
            if let Ok(config) = Config::parse(rest) {
                let _ = (config.command(), config.labels(), config.diff_ids(), config.platform());
            }
        }
        2 => {
            // A layer as it is.
            let mut collector = FileCollector::new(&["/"], LIMITS);
            let _ = collector.add_layer(rest, None);
            for path in collector.finish().files.keys() {
                assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
        }
        3 => {
            // Two layers, cut where a mark is, so that whiteouts have something to hide.
            let at = rest.windows(4).position(|part| part == b"CUT!").unwrap_or(rest.len());
            let mut collector = FileCollector::new(&["/a", "/b"], LIMITS);
            if collector.add_layer(&rest[..at], None).is_ok() {
                let _ = collector.add_layer(rest.get(at + 4..).unwrap_or_default(), None);
            }
            let found = collector.finish();
            assert!(
                found.files.values().map(|file| file.data.len() as u64).sum::<u64>()
                    <= 3 * LIMITS.max_file_bytes
            );
        }
        4 => {
            let _ = credentials::find_in_auth_file(rest, "host.example", "team/app");
            let _ = credentials::find_in_auth_file(rest, "docker.io", "library/x");
            let _ = Htpasswd::parse(&text);
        }
        _ => {
            let _ = Challenge::parse(text.lines());
        }
    }
});

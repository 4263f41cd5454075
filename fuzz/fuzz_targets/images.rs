//! What comes from registries and archives: names, manifests, configurations, layers, credential files, challenges.
//! The first byte says which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_oci::client::auth::Challenge;
use podium_oci::client::credentials;
use podium_oci::files::{Collector, Limits};
use podium_oci::model::{Config, Document};
use podium_oci::registry::users::Users;
use podium_oci::{Digest, Place, Reference};

const LIMITS: Limits = Limits { kept: 1 << 20, unpacked: 16 << 20, entries: 2000 };

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
            let _ = Place::parse(&text);
            if let Ok(digest) = Digest::parse(&text) {
                assert!(digest.hex().bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
        1 => {
            if let Ok(document) = Document::parse(rest, None) {
                // What is understood is understood again when we write it.
                let again = match &document {
                    Document::Manifest(manifest) => manifest.bytes(),
                    Document::Index(index) => index.bytes(),
                };
                assert_eq!(Document::parse(&again, Some(document.media_type())).as_ref(), Ok(&document));
            }
            if let Ok(config) = Config::parse(rest) {
                let _ = (config.command(), config.labels(), config.diff_ids(), config.platform());
            }
        }
        2 => {
            // A layer as it is.
            let mut collector = Collector::new(&["/"], LIMITS);
            let _ = collector.layer(rest, None);
            for path in collector.finish().files.keys() {
                assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
        }
        3 => {
            // Two layers, cut where a mark is, so that whiteouts have something to hide.
            let at = rest.windows(4).position(|part| part == b"CUT!").unwrap_or(rest.len());
            let mut collector = Collector::new(&["/a", "/b"], LIMITS);
            if collector.layer(&rest[..at], None).is_ok() {
                let _ = collector.layer(rest.get(at + 4..).unwrap_or_default(), None);
            }
            let found = collector.finish();
            assert!(found.files.values().map(|file| file.data.len() as u64).sum::<u64>() <= 3 * LIMITS.kept);
        }
        4 => {
            let _ = credentials::parse(rest, "host.example", "team/app");
            let _ = credentials::parse(rest, "docker.io", "library/x");
            let _ = Users::parse(&text);
        }
        _ => {
            let _ = Challenge::parse(text.lines());
        }
    }
});

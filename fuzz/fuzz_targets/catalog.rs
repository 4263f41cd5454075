//! Catalogs, templates and names of images from anywhere: no panic, and what is written is read again as the same.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use podium_catalog::append::append_bundle;
use podium_catalog::declcfg::DeclarativeConfig;
use podium_catalog::compat::OpmCompat;
use podium_catalog::graph::{Options, mermaid, text_graph};
use podium_catalog::indexignore::IndexIgnore;
use podium_catalog::json::SourceText;
use podium_catalog::model::convert_to_model;
use podium_catalog::resolve::{Catalog, InstalledBundle, ResolveRequest, resolve};
use podium_catalog::write::{Format, to_vec};
use podium_catalog::{CatalogSummary, reference, template};

fn load(text: &[u8], generation: OpmCompat) -> Option<DeclarativeConfig> {
    let mut config = DeclarativeConfig::default();
    config.read(&Arc::from("f"), &SourceText::new(text), generation).ok()?;
    config.normalize();
    Some(config)
}

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let generation = if first & 1 == 0 { OpmCompat::V173 } else { OpmCompat::V151 };
    match first >> 1 & 3 {
        0 | 1 => {
            let Some(config) = load(rest, generation) else { return };
            let _ = convert_to_model(&CatalogSummary::from_config(&config, generation), generation);
            let _ = mermaid(&config, &Options { v0_semantics: true, ..Options::default() }, generation);
            let _ = text_graph(&config, "", generation);
            let wish = ResolveRequest {
                package: config.package_names().first().map(|name| (*name).to_owned()).unwrap_or_default(),
                installed: Some(InstalledBundle { name: "a".to_owned(), version: "1.0.0".to_owned() }),
                ..ResolveRequest::default()
            };
            let _ = resolve(&[Catalog { name: "c", priority: 0, config: &config }], &wish);
            // What was written once is written the same again.
            if let Ok(json) = to_vec(&config, Format::Json) {
                let again = load(&json, generation).and_then(|config| to_vec(&config, Format::Json).ok());
                assert_eq!(again.as_deref().unwrap_or_default(), json);
            }
            let _ = to_vec(&config, Format::Yaml);
        }
        2 => {
            let half = rest.len() / 2;
            let (text, bundle) = rest.split_at(half);
            let mut render = |_: &str| Ok(load(bundle, generation).map(|config| config.metas).unwrap_or_default());
            let _ = template::render(text, None, generation, &mut render);
            let _ = template::render(text, Some(template::TemplateKind::Semver), generation, &mut render);
        }
        _ => {
            let text = String::from_utf8_lossy(rest);
            let (line, body) = text.split_once('\n').unwrap_or((&text, ""));
            if let Ok(found) = reference::parse(line) {
                assert_eq!(reference::parse(&found.to_string()).as_ref(), Ok(&found));
            }
            let _ = append_bundle(body, "fast", line);
            let mut ignore = IndexIgnore::default();
            ignore.add("a/.indexignore", body.as_bytes());
            let _ = ignore.ignores(line);
        }
    }
});

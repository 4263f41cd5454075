//! Catalogs, templates and names of images from anywhere: no panic, and what is written is read again as the same.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use podium_catalog::append::append;
use podium_catalog::config::Config;
use podium_catalog::generation::Generation;
use podium_catalog::graph::{Options, mermaid, picture};
use podium_catalog::ignore::Ignore;
use podium_catalog::json::Text;
use podium_catalog::model::model;
use podium_catalog::resolve::{Catalog, Installed, Wish, resolve};
use podium_catalog::write::{Format, to_vec};
use podium_catalog::{Facts, reference, template};

fn load(text: &[u8], generation: Generation) -> Option<Config> {
    let mut config = Config::default();
    config.read(&Arc::from("f"), &Text::new(text), generation).ok()?;
    config.arrange();
    Some(config)
}

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let generation = if first & 1 == 0 { Generation::V173 } else { Generation::V151 };
    match first >> 1 & 3 {
        0 | 1 => {
            let Some(config) = load(rest, generation) else { return };
            let _ = model(&Facts::of(&config, generation), generation);
            let _ = mermaid(&config, &Options { v0_semantics: true, ..Options::default() }, generation);
            let _ = picture(&config, "", generation);
            let wish = Wish {
                package: config.package_names().first().map(|name| (*name).to_owned()).unwrap_or_default(),
                installed: Some(Installed { name: "a".to_owned(), version: "1.0.0".to_owned() }),
                ..Wish::default()
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
            let _ = template::render(text, Some(template::Kind::Semver), generation, &mut render);
        }
        _ => {
            let text = String::from_utf8_lossy(rest);
            let (line, body) = text.split_once('\n').unwrap_or((&text, ""));
            if let Ok(found) = reference::parse(line) {
                assert_eq!(reference::parse(&found.to_string()).as_ref(), Ok(&found));
            }
            let _ = append(body, "fast", line);
            let mut ignore = Ignore::default();
            ignore.add("a/.indexignore", body.as_bytes());
            let _ = ignore.ignores(line);
        }
    }
});

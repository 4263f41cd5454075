//! `podium catalog add`.

use anyhow::Context;
use clap::ArgMatches;
use podium_catalog::append::append_bundle;

use super::output::arguments;
use super::template::read;
use crate::flag::{list, on};
use crate::output::{complain, print};

/// Adds a version to a template.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 2, 2, "add TEMPLATE IMAGE --to fast")?;
    let [file, image] = [0, 1].map(|at| args.get(at).map(String::as_str).unwrap_or_default());
    let mut streams = list(matches, "to");
    if streams.is_empty() {
        streams.push("fast".to_owned());
    }
    let mut text = String::from_utf8(read(file)?).with_context(|| format!("{file} is not UTF-8"))?;
    for stream in &streams {
        text = append_bundle(&text, stream, image).map_err(|error| anyhow::anyhow!("{file}: {error}"))?;
    }
    if on(matches, "dry-run") || file == "-" {
        return print(text.as_bytes());
    }
    // All or nothing: a template that is half written is no template.
    let new = format!("{file}.new");
    let written = std::fs::write(&new, &text).and_then(|()| std::fs::rename(&new, file));
    if let Err(error) = written {
        let _ = std::fs::remove_file(&new);
        return Err(error).with_context(|| format!("{file} cannot be written"));
    }
    complain(&format!(
        "{image} is in {} of {file} now. Next: podium catalog template {file}, then podium catalog validate",
        streams.join(" and ")
    ));
    Ok(())
}

//! `podium catalog diff`.

use anyhow::bail;
use clap::ArgMatches;
use podium_catalog::compat::OpmCompat;
use podium_catalog::diff::{Change, ChangeKind, diff};
use serde_json::json;

use super::input::catalog;
use super::output::{arguments, format, print_value};
use crate::flag::on;
use crate::output::print;

/// Shows what changed.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 2, 2, "diff OLD NEW")?;
    let [old, new] = [0, 1].map(|at| args.get(at).map(String::as_str).unwrap_or_default());
    let format = format(matches, &["table", "json", "yaml"])?;
    let changes = diff(&catalog(old, OpmCompat::V173, matches)?, &catalog(new, OpmCompat::V173, matches)?);
    if format == "table" {
        print(text(&changes).as_bytes())?;
    } else {
        let value = |change: &Change| {
            json!({
                "package": change.package, "what": change.subject, "name": change.name, "how": change.kind.as_str(),
                "details": change.details,
            })
        };
        print_value(changes.iter().map(value).collect(), format)?;
    }
    let broken: Vec<&str> = changes
        .iter()
        .filter(|change| change.breaks_installed())
        .map(|change| change.name.as_str())
        .collect();
    if on(matches, "keep-versions") && !broken.is_empty() {
        bail!(
            "{} gone or another one in {new}: those who installed them need them; put them back, or leave \
             --keep-versions out",
            match broken.as_slice() {
                [one] => format!("{one} is"),
                several => format!("{} are", several.join(", ")),
            }
        );
    }
    if on(matches, "exit-code") && !changes.is_empty() {
        bail!("{} changes", changes.len());
    }
    Ok(())
}

/// The changes for people.
pub fn text(changes: &[Change]) -> String {
    let mut text = String::new();
    let mut package = None;
    for change in changes {
        if package != Some(&change.package) {
            package = Some(&change.package);
            let name = if change.package.is_empty() { "(no package)" } else { &change.package };
            text += &format!("{name}\n");
        }
        let sign = match change.kind {
            ChangeKind::Added => '+',
            ChangeKind::Removed => '-',
            ChangeKind::Changed => '~',
        };
        text += &format!("  {sign} {} {}\n", change.subject, change.name);
        for detail in &change.details {
            text += &format!("      {detail}\n");
        }
    }
    if changes.is_empty() { "nothing changed\n".to_owned() } else { text }
}

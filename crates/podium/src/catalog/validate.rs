//! `podium catalog validate`.

use anyhow::bail;
use clap::ArgMatches;
use podium_catalog::model::convert_to_model;
use serde_json::json;

use super::input::Files;
use super::output::{Refused, arguments, format, generation, print_value, refused};

/// Checks a catalog.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 1, 1, "validate CATALOG")?;
    let root = args.first().map(String::as_str).unwrap_or_default();
    let generation = generation(matches)?;
    let format = format(matches, &["text", "json", "yaml"])?;
    if !std::fs::metadata(root).is_ok_and(|data| data.is_dir()) {
        bail!("{root:?} is not a directory: name the folder with the files of the catalog");
    }
    let files = Files::of(root)?;
    let checked = files.facts(generation).and_then(|facts| {
        convert_to_model(&facts, generation).map(drop).map_err(|problem| refused(problem, root))
    });
    if format == "text" {
        return checked;
    }
    let value = match &checked {
        Ok(()) => json!({ "passed": true }),
        Err(error) => {
            let problem = error.downcast_ref::<Refused>().map(|refused| &refused.problem);
            let places = problem.map(|problem| problem.spans.as_slice()).unwrap_or_default();
            let places: Vec<_> = places
                .iter()
                .map(|(place, reason)| json!({ "file": &*place.file, "line": place.line, "reason": reason }))
                .collect();
            let message = problem.map_or_else(|| error.to_string(), |problem| problem.message.clone());
            json!({ "passed": false, "error": { "message": message, "places": places } })
        }
    };
    print_value(value, format)?;
    checked
}

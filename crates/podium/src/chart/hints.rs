//! What to do about an error, after Helm's words for it.

use std::path::{Path, PathBuf};

use podium_chart::archive;
use podium_chart::chart::{self, ValuesError};
use podium_chart::load;
use podium_chart::render::RenderError;
use podium_chart::user_values;
use podium_gotmpl::Cause;

/// Texts up to this size are looked through for what is wrong with them.
const MAX_TEXT: u64 = 16 << 20;

/// What to do about a limit of the render. Helm has none, so this is for everybody, not only for a terminal.
pub fn limit(error: &RenderError) -> Option<&'static str> {
    let Some(Cause::Limit(message)) = error.exec.as_ref().map(|exec| &exec.cause) else { return None };
    Some(if message.ends_with(b"time") {
        "look for a loop that does not end at this place, or allow more time with --max-seconds (0 for no limit)"
    } else {
        "look for a loop or a recursion that does not end, or for a value that is doubled again and again"
    })
}

/// How many charts are named beside one that is not there.
const MAX_CHARTS: usize = 8;

/// What to do about a path where nothing is: up to where the way is right, and which charts are there.
pub fn missing(path: &str) -> String {
    let whole = Path::new(path);
    let there = whole.ancestors().skip(1).find(|part| part.as_os_str().is_empty() || part.is_dir());
    let there = there.filter(|part| !part.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(there).into_iter().flatten().flatten();
    let is_chart = |path: &PathBuf| {
        path.join("Chart.yaml").is_file() || path.extension().is_some_and(|extension| extension == "tgz")
    };
    let mut charts: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(is_chart)
        .map(|path| path.strip_prefix(".").unwrap_or(&path).display().to_string())
        .collect();
    charts.sort();
    let more = if charts.len() > MAX_CHARTS { ", …" } else { "" };
    charts.truncate(MAX_CHARTS);
    let charts = match charts.is_empty() {
        true => String::new(),
        false => format!("; charts in {}: {}{more}", there.display(), charts.join(", ")),
    };
    format!("there is no folder or file {path}{charts}")
}

/// What to do about a chart that cannot be loaded from a path.
pub fn load(error: &load::Error, path: &Path) -> Option<String> {
    match error {
        load::Error::Archive(error) | load::Error::Chart(chart::Error::Archive(error)) => {
            Some(format!("{}: {}", path.display(), archive_advice(error)))
        }
        load::Error::DamagedArchive { .. } | load::Error::NotAnArchive { .. } => {
            Some("a chart is a directory with a Chart.yaml, or a .tgz that `helm package` made".to_owned())
        }
        load::Error::NoChart { .. } | load::Error::NoChartYaml => {
            Some("is this the directory that has Chart.yaml in it?".to_owned())
        }
        load::Error::Irregular(_) => Some("remove it from the chart, or list it in .helmignore".to_owned()),
        load::Error::Chart(error) => inside(error, path),
        _ => None,
    }
}

/// What is wrong inside a chart: the way to the file, and the place in it.
fn inside(error: &chart::Error, path: &Path) -> Option<String> {
    let mut place = path.to_owned();
    let mut error = error;
    while let chart::Error::Subchart { name, error: inner, .. } = error {
        place = place.join("charts").join(name);
        error = inner;
    }
    match error {
        chart::Error::Archive(error) => Some(format!("{}: {}", place.display(), archive_advice(error))),
        chart::Error::Values(error) => in_text(&place.join("values.yaml"), &error.to_string()),
        chart::Error::File { file, error } => in_text(&place.join(file), &error.to_string()),
        _ => None,
    }
}

/// Helm hides why an archive cannot be read, and never says which of its files is to blame.
fn archive_advice(error: &archive::Error) -> String {
    use archive::Error;
    let advice = match error {
        Error::NoBytes | Error::CutOff | Error::GzipChecksum | Error::Corrupt(_) => {
            "the archive is damaged; fetch or package it again".to_owned()
        }
        Error::AbsolutePath(name) | Error::ParentDirectory(name) | Error::DriveLetter(name) => {
            format!("the path is {name:?}; do not use this archive unless you know who made it")
        }
        Error::TooLarge { .. } | Error::StreamTooLarge(_) | Error::FileTooLarge { .. } => {
            "package the chart without files that are no part of it: list them in .helmignore".to_owned()
        }
        Error::Sparse(_) => return error.to_string(),
        _ => "package the chart again with `helm package`".to_owned(),
    };
    format!("{error}: {advice}")
}

/// What is wrong with a values file.
pub fn values(error: &user_values::Error) -> Option<String> {
    match error {
        user_values::Error::File { error: ValuesError::TooLarge(_), .. } => None,
        user_values::Error::File { path, error } if path.trim() != "-" => {
            in_text(&PathBuf::from(path), &error.to_string())
        }
        _ => None,
    }
}

/// The place in a YAML file that its error is about. The reader's own words often have none.
fn in_text(path: &Path, message: &str) -> Option<String> {
    let is_small_file = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= MAX_TEXT);
    let text = std::fs::read(path).ok().filter(|_| is_small_file)?;
    let (at, advice) = problem(&text).or_else(|| Some((said_line(&text, message)?, "here".to_owned())))?;
    let before = text.get(..at)?;
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let column = at - before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let shown = text.split(|b| *b == b'\n').nth(line - 1).unwrap_or_default();
    let shown = String::from_utf8_lossy(shown).replace('\t', "→").replace(char::is_control, "\u{fffd}");
    let shown: String = shown.chars().take(100).collect();
    Some(format!("{}:{line}:{}: {advice}\n  | {shown}", path.display(), column + 1))
}

/// What every reader of YAML stumbles over, and where.
fn problem(text: &[u8]) -> Option<(usize, String)> {
    if text.starts_with(b"\xFF\xFE") || text.starts_with(b"\xFE\xFF") {
        return Some((0, "the file is UTF-16; save it as UTF-8".to_owned()));
    }
    if let Err(error) = std::str::from_utf8(text) {
        let at = error.valid_up_to();
        let byte = text.get(at).copied().unwrap_or_default();
        return Some((at, format!("the byte 0x{byte:02X} is not UTF-8; save the file as UTF-8")));
    }
    let is_control = |b: &u8| matches!(b, 0..=8 | 0x0B | 0x0C | 0x0E..=0x1F | 0x7F);
    if let Some(at) = text.iter().position(is_control) {
        let byte = text.get(at).copied().unwrap_or_default();
        let advice = format!("a control character; remove it, or write \"\\x{byte:02X}\" in double quotes");
        return Some((at, advice));
    }
    let mut start = 0;
    for line in text.split(|b| *b == b'\n') {
        let spaces = line.iter().take_while(|b| **b == b' ').count();
        if line.get(spaces) == Some(&b'\t') {
            return Some((start + spaces, "a tab at the start of a line; indent with spaces".to_owned()));
        }
        start += line.len() + 1;
    }
    None
}

/// Where the line begins that a message names.
fn said_line(text: &[u8], message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("yaml: line ")?;
    let line: usize = rest.split(':').next()?.parse().ok()?;
    let starts =
        std::iter::once(0).chain(text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1));
    starts.take(line).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_where_nothing_is_says_what_is_beside_it() {
        let root = std::env::temp_dir().join(format!("podium-missing-{}", std::process::id()));
        std::fs::create_dir_all(root.join("examples/hello")).unwrap();
        std::fs::write(root.join("examples/hello/Chart.yaml"), "name: hello\n").unwrap();
        std::fs::write(root.join("examples/README.md"), "").unwrap();
        let shown = root.display();
        assert_eq!(
            missing(&format!("{shown}/examples/helo")),
            format!(
                "there is no folder or file {shown}/examples/helo; charts in {shown}/examples: {shown}/examples/hello"
            )
        );
        assert_eq!(
            missing(&format!("{shown}/no/helo")),
            format!("there is no folder or file {shown}/no/helo")
        );
        assert_eq!(missing("no-such/helo"), "there is no folder or file no-such/helo");
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_place_of_what_is_no_yaml_is_found() {
        let cases: &[(&[u8], usize, &str)] = &[
            (b"\xFF\xFEa\0", 0, "UTF-16"),
            (b"a: 1\nb: \xFF\n", 8, "0xFF is not UTF-8"),
            (b"a: 1\nb: x\0y\n", 9, "\"\\x00\" in double quotes"),
            (b"a:\n  \tb: 1\n", 5, "indent with spaces"),
        ];
        for (text, at, advice) in cases {
            let given = problem(text);
            assert!(given.as_ref().is_some_and(|(a, words)| a == at && words.contains(advice)), "{given:?}");
        }
        assert_eq!(problem(b"a: 1\r\nb: [1,\t2]\n"), None);
        assert_eq!(said_line(b"a\nb\nc", "x: yaml: line 3: y"), Some(4));
        assert_eq!(said_line(b"a\nb\nc", "yaml: unknown"), None);
    }
}

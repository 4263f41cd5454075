//! What a person sees of an error besides Helm's words: the place, the way there, and the value.

use std::sync::Arc;

use podium_chart::render::RenderError;
use podium_gotmpl::{Site, Via};

use crate::output::styled;

/// How much of a long line is shown.
const MAX_LINE: usize = 400;

/// How many places of a long chain of includes are shown.
const MAX_CHAIN: usize = 12;

/// An excerpt of the template with the failing expression marked, the chain of includes, and the value involved.
pub fn excerpt(error: &RenderError, source: impl Fn(&str) -> Option<Arc<[u8]>>) -> Option<String> {
    let mut out = String::new();
    match &error.exec {
        Some(exec) => {
            let site = exec.trace.last()?;
            // The text of a `tpl` is not a file: its own text is known from the place that called it.
            let text = match exec.trace.iter().rev().nth(1).map(|s| &s.via) {
                Some(Via::Tpl(text)) if site.file == b"gotpl" => Some(text.as_slice().into()),
                _ => source(&String::from_utf8_lossy(&site.file)),
            }?;
            let width = expression_width(site, &text);
            show(&mut out, &String::from_utf8_lossy(&site.file), &text, site.line, site.column, width);
            if let Some(value) = &exec.value {
                out.push_str(&format!("  = the value here is: {value}\n"));
            }
            let outer = &exec.trace[..exec.trace.len() - 1];
            for site in outer.iter().rev().take(MAX_CHAIN) {
                let how = match site.via {
                    Via::Tpl(_) => "rendered by tpl",
                    _ => "included",
                };
                let file = String::from_utf8_lossy(&site.file);
                out.push_str(&format!("  = {how} from {file}:{}:{}\n", site.line, site.column + 1));
            }
            if outer.len() > MAX_CHAIN {
                out.push_str(&format!("  = and {} places further out\n", outer.len() - MAX_CHAIN));
            }
        }
        None => {
            let line = error.parse_line? as usize;
            let text = source(&error.file)?;
            show(&mut out, &error.file, &text, line, 0, 0);
        }
    }
    Some(out)
}

/// How much to underline: the expression if it stands there as it was printed, else one character.
fn expression_width(site: &Site, text: &[u8]) -> usize {
    let line = text.split(|b| *b == b'\n').nth(site.line.saturating_sub(1)).unwrap_or_default();
    let rest = line.get(site.column..).unwrap_or_default();
    // The place of a chain of fields is its second field.
    let shown = &site.expression;
    let tail = shown.iter().skip(1).position(|b| *b == b'.').map_or(&shown[..], |at| &shown[at + 1..]);
    [&shown[..], tail].iter().find(|e| rest.starts_with(e)).map_or(1, |e| e.len())
}

/// The part of a line around a column that can be shown, and the column in it.
fn window(line: &[u8], column: usize) -> (String, usize) {
    if line.len() <= MAX_LINE {
        return (String::from_utf8_lossy(line).into_owned(), column);
    }
    let from = column.saturating_sub(MAX_LINE / 2).min(line.len());
    let part = line.get(from..(from + MAX_LINE).min(line.len())).unwrap_or_default();
    let more = if from > 0 { "…" } else { "" };
    let text = String::from_utf8_lossy(part);
    (format!("{more}{}…", text.trim_matches('\u{fffd}')), more.len() + (column - from))
}

fn show(out: &mut String, file: &str, text: &[u8], line: usize, column: usize, width: usize) {
    let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    let Some(content) = lines.get(line.saturating_sub(1)) else {
        return;
    };
    let gutter = line.to_string().len();
    let arrow = styled("-->", "34");
    let place = if width > 0 { format!("{file}:{line}:{}", column + 1) } else { format!("{file}:{line}") };
    out.push_str(&format!("{:gutter$}{arrow} {place}\n", ""));
    let bar = styled("|", "34");
    let first = line.saturating_sub(2).max(1);
    for number in first..line {
        let (text, _) = window(lines.get(number - 1).copied().unwrap_or_default(), 0);
        out.push_str(&format!("{number:gutter$} {bar} {}\n", text.trim_end()));
    }
    let (content, column) = window(content, column);
    out.push_str(&format!("{line:gutter$} {bar} {}\n", content.trim_end()));
    if width > 0 {
        let before: String = content
            .get(..column)
            .unwrap_or_default()
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let marks =
            styled(&"^".repeat(width.min(content.len() - before.len().min(content.len())).max(1)), "31");
        out.push_str(&format!("{:gutter$} {bar} {before}{marks}\n", ""));
    }
}

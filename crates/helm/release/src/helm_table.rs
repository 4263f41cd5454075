//! Helm's tab-separated tables, byte for byte.

use podium_re2::Regex;
use unicode_width::UnicodeWidthChar;

/// ANSI color sequences, which have no width.
const ANSI_COLORS: &str = "\u{1b}\\[[0-9;]*[A-Za-z]";

/// Formats cells by their width in a terminal.
struct CellFormatter(Option<Regex>);

impl CellFormatter {
    fn width(&self, text: &str) -> usize {
        match &self.0 {
            Some(colors) if text.contains('\u{1b}') => {
                let plain = colors.replace_all_literal(text, "");
                String::from_utf8_lossy(&plain).chars().map(char_width).sum()
            }
            _ => text.chars().map(char_width).sum(),
        }
    }

    /// Pads or truncates a cell to its column's width. A cell with several lines is measured as one.
    fn fit(&self, text: &str, width_limit: usize) -> String {
        let width = self.width(text);
        if width <= width_limit || width_limit == 0 {
            let blanks = if width_limit == 0 { 0 } else { width_limit.saturating_sub(width) };
            return format!("{text}{}", " ".repeat(blanks));
        }
        let mut out = String::new();
        let mut used = 0;
        for c in text.chars() {
            out.push(c);
            used += char_width(c);
            if used + 3 >= width_limit {
                break;
            }
        }
        out + "..."
    }

    /// Formats one row, which has as many lines as its tallest cell.
    fn row(&self, cells: &[String], widths: &[usize]) -> String {
        let fitted: Vec<String> =
            cells.iter().zip(widths).map(|(cell, width)| self.fit(cell, *width)).collect();
        let split: Vec<Vec<&str>> = fitted.iter().map(|cell| cell.split('\n').collect()).collect();
        let height = split.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        for line in 0..height {
            let cells = split.iter().zip(widths).map(|(lines, width)| match lines.get(line) {
                Some(text) => self.fit(text, *width),
                None => format!("{:>width$}", " "),
            });
            out += &cells.collect::<Vec<_>>().join("\t");
            out.push('\n');
        }
        out
    }
}

/// Control characters and separators have no width.
fn char_width(c: char) -> usize {
    match c {
        '\u{2028}' | '\u{2029}' => 0,
        c => c.width().unwrap_or(0),
    }
}

/// Formats rows; each column is as wide as its widest line.
pub(crate) fn format_table(rows: &[Vec<String>]) -> String {
    let formatter = CellFormatter(Regex::new(ANSI_COLORS).ok());
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let lines =
        |column: usize| rows.iter().filter_map(move |row| row.get(column)).flat_map(|c| c.split('\n'));
    let widths: Vec<usize> =
        (0..count).map(|column| lines(column).map(|line| formatter.width(line)).max().unwrap_or(0)).collect();
    if rows.is_empty() {
        "\n".to_owned()
    } else {
        rows.iter().map(|row| formatter.row(row, &widths)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected output is Helm's.
    #[test]
    fn matches_helm_for_lines_wide_characters_and_colors() {
        let table = |rows: &[&[&str]]| {
            format_table(
                &rows.iter().map(|row| row.iter().map(|c| (*c).to_owned()).collect()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(table(&[]), "\n");
        assert_eq!(table(&[&["A", "B"], &["long", ""]]), "A   \tB\nlong\t \n");
        assert_eq!(
            table(&[&["VERSION", "DESCRIPTION"], &["日本語", "日本語 é\ttab😀"]]),
            "VERSION\tDESCRIPTION  \n日本語 \t日本語 é\ttab😀\n"
        );
        assert_eq!(
            table(&[&["VERSION", "DESCRIPTION"], &["a\nb", "two\nlines"]]),
            "VERSION\tDESCRIPTION\na      \ttwo        \nb      \tlines      \n"
        );
        assert_eq!(table(&[&["ABCDE"], &["\u{1b}[31m\u{0}"]]), "ABCDE\n\u{1b}[31m\u{0}     \n");
        // A cell with several lines is truncated to the width of its widest line.
        assert_eq!(table(&[&["0123456789\nabcdefghij"]]), "0123456...\n");
        assert_eq!(table(&[&["01\nabcdefghij"]]), "01        \nabcde...  \n");
        assert_eq!(table(&[&["a\n日本語日本語"]]), "a           \n日本語日... \n");
        assert_eq!(table(&[&["", "x\ny"]]), "\tx...\n");
        assert_eq!(table(&[&["a\nb"]]), "a...\n");
        let family = "e\u{301}\u{200d}👨\u{200d}👩\u{200d}👧\u{2028}x";
        assert_eq!(table(&[&[family], &["1234567890123"]]), format!("{family}     \n1234567890123\n"));
    }
}

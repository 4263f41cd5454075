//! Prints `Table` responses.

use serde_json::Value;

/// The minimum column width, and the space between columns.
const MIN_COLUMN_WIDTH: usize = 6;
const COLUMN_GAP: usize = 3;

/// Formats `Table` responses as `kubectl get` prints them: aligned, with one header.
///
/// Columns of `-o wide` are left out, and so are tables without rows.
pub fn format_tables(tables: &[Value]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for table in tables.iter().filter(|table| !array(table, "rows").is_empty()) {
        let columns = array(table, "columnDefinitions");
        let visible: Vec<usize> = (0..columns.len())
            .filter(|i| {
                columns.get(*i).and_then(|c| c.get("priority")).and_then(Value::as_i64).unwrap_or(0) == 0
            })
            .collect();
        if lines.is_empty() {
            let name = |i: &usize| columns.get(*i).and_then(|c| c.get("name")).and_then(Value::as_str);
            lines.push(visible.iter().map(|i| name(i).unwrap_or_default().to_uppercase()).collect());
        }
        for row in array(table, "rows") {
            let cells = array(row, "cells");
            lines.push(visible.iter().map(|i| cell(cells.get(*i))).collect());
        }
    }
    align(&lines)
}

fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "<none>".to_owned(),
        Some(Value::String(text)) => text.lines().next().unwrap_or_default().to_owned(),
        Some(other) => other.to_string(),
    }
}

/// Pads every column but the last to its widest cell.
fn align(lines: &[Vec<String>]) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let widest = lines.iter().filter_map(|l| l.get(column)).map(|c| c.chars().count()).max().unwrap_or(0);
        (widest + COLUMN_GAP).max(MIN_COLUMN_WIDTH)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for line in lines {
        for (column, cell) in line.iter().enumerate() {
            out.push_str(cell);
            if column + 1 < line.len() {
                let width = widths.get(column).copied().unwrap_or(0);
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn aligns_columns_without_wide_ones() {
        let table = json!({
            "columnDefinitions": [{"name": "Name"}, {"name": "Data"}, {"name": "Wide", "priority": 1}, {"name": "Age"}],
            "rows": [{"cells": ["some-name", 2, "w", "5s"]}],
        });
        assert_eq!(format_tables(&[table]), "NAME        DATA   AGE\nsome-name   2      5s\n");
    }
}

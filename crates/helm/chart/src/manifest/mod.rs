//! Rendered files to ordered manifests, and to the text that `helm template` prints.

mod print;
mod sort;
mod split;

pub use print::{Output, Printed, WriteError, pieces, print, raw, show_only, stored};
pub use sort::{Error, Heads, Hook, Manifest, Sorted, heads, kind_order, sort};
pub use split::split;

use crate::render::Rendered;

/// The end of the name of the files that are notes for people and not objects.
const NOTES: &str = "NOTES.txt";

/// Whether a file is notes.
fn is_notes(name: &str) -> bool {
    name.ends_with(NOTES)
}

/// Takes the notes out of the rendered files: those of the root chart, or of all charts.
pub fn take_notes(files: &mut Vec<Rendered>, root: &str, of_subcharts: bool) -> Vec<u8> {
    let own = format!("{root}/templates/{NOTES}");
    let mut notes: Vec<u8> = Vec::new();
    files.retain(|file| {
        if !is_notes(&file.name) {
            return true;
        }
        if of_subcharts || file.name == own {
            if !notes.is_empty() {
                notes.push(b'\n');
            }
            notes.extend_from_slice(&file.text);
        }
        false
    });
    notes
}

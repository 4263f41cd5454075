//! What a person is told while a release changes.

use podium_release::engine::Reporter;

use crate::output::{complain, person_reads_errors};

/// Somebody in front of a terminal, or who reads a log.
pub struct Person;

impl Reporter for Person {
    fn waiting(&self, what: &str) {
        // A log gets the end of the story only.
        if person_reads_errors() {
            what.lines().for_each(|line| complain(&format!("waiting: {line}")));
        }
    }

    fn warn(&self, what: &str) {
        complain(&format!("Warning: {what}"));
    }

    fn output(&self, pod: &str, container: &str, text: &[u8]) {
        complain(&format!("pod {pod}, container {container}:\n{}", String::from_utf8_lossy(text).trim_end()));
    }
}

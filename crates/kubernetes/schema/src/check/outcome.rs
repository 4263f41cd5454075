//! What came of checking a value.

use std::collections::HashSet;

use podium_meta::FieldError;

/// Nobody reads more faults than this; a hostile object cannot make us keep more.
const MOST: usize = 10_000;

/// One fault, with the sentence by which repetitions are known.
#[derive(Clone, Debug)]
pub struct Fault {
    pub flaw: FieldError,
    pub text: String,
}

/// Faults, each once, and how much was looked at.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub faults: Vec<Fault>,
    said: HashSet<String>,
    pub matches: u64,
}

impl Outcome {
    /// No faults, but so much looked at.
    pub fn counted(matches: u64) -> Self {
        Self { matches, ..Self::default() }
    }

    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    pub fn add(&mut self, fault: Fault) {
        if self.faults.len() < MOST && self.said.insert(fault.text.clone()) {
            self.faults.push(fault);
        }
    }

    pub fn extend(&mut self, faults: impl IntoIterator<Item = Fault>) {
        for fault in faults {
            self.add(fault);
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.matches = self.matches.wrapping_add(other.matches);
        if self.faults.is_empty() {
            self.faults = other.faults;
            self.said = other.said;
        } else {
            self.extend(other.faults);
        }
    }
}

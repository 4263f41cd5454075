//! A tree of things that are wrong, drawn as opm draws it.

use crate::problem::{Place, Problem};

/// A thing that is wrong, or that contains such things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What is wrong, or where.
    pub message: String,
    /// The line that it is about.
    pub place: Place,
    /// What is wrong in it.
    pub inner: Vec<Report>,
}

impl Report {
    /// Something in which things may be wrong.
    pub fn new(message: impl Into<String>, place: Place) -> Self {
        Self { message: message.into(), place, inner: Vec::new() }
    }

    /// Notes something that is wrong.
    pub fn add(&mut self, message: impl Into<String>) {
        self.add_at(message, self.place.clone());
    }

    /// Notes something that is wrong at a place.
    pub fn add_at(&mut self, message: impl Into<String>, place: Place) {
        self.inner.push(Self::new(message, place));
    }

    /// Notes what is wrong in a part, if anything is.
    pub fn take(&mut self, part: Self) {
        if !part.inner.is_empty() {
            self.inner.push(part);
        }
    }

    /// The whole as a problem; nothing if nothing is wrong.
    pub fn into_problem(self) -> Option<Problem> {
        if self.inner.is_empty() {
            return None;
        }
        let mut text = String::new();
        let mut places = Vec::new();
        self.draw(&mut text, "", "");
        self.leaves("", &mut places);
        Some(Problem { text: text.trim().to_owned(), places })
    }

    /// There are four levels: index, package, channel, bundle.
    fn draw(&self, text: &mut String, first: &str, rest: &str) {
        let end = if self.inner.is_empty() { "\n" } else { ":\n" };
        text.push_str(&format!("{first}{}{end}", self.message));
        for (at, part) in self.inner.iter().enumerate() {
            let (corner, side) =
                if at + 1 == self.inner.len() { ("└── ", "    ") } else { ("├── ", "│   ") };
            part.draw(text, &format!("{rest}{corner}"), &format!("{rest}{side}"));
        }
    }

    fn leaves(&self, around: &str, places: &mut Vec<(Place, String)>) {
        if self.inner.is_empty() {
            places.push((self.place.clone(), format!("{around}{}", self.message)));
        }
        // The outermost words say nothing.
        let around = match around {
            "" if self.message == "invalid index" => String::new(),
            around => format!("{around}{}: ", self.message),
        };
        self.inner.iter().for_each(|part| part.leaves(&around, places));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_drawn() {
        let mut report = Report::new("invalid index", Place::default());
        let mut package = Report::new("invalid package \"a\"", Place::default());
        package.add("one");
        let mut channel = Report::new("invalid channel \"c\"", Place::default());
        channel.add("two");
        channel.add("three");
        package.take(channel);
        package.take(Report::new("nothing", Place::default()));
        report.take(package);
        assert_eq!(
            report.into_problem().unwrap().text,
            "invalid index:\n└── invalid package \"a\":\n    ├── one\n    └── invalid channel \"c\":\n        ├── two\n        \
             └── three"
        );
    }
}

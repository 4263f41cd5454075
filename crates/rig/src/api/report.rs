//! What was found, counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::alike::{Difference, FEWER, LET_THROUGH};
use super::known;
use super::wire::{Answer, Request};

/// How many differences of a request are shown.
const SHOWN: usize = 12;

/// What was found in a run.
#[derive(Debug, Default)]
pub struct Report {
    /// How many requests were compared.
    pub requests: usize,
    /// How many of them were watches.
    pub watches: usize,
    /// How many of them had other answers, beside refusals that we do not make.
    pub different: usize,
    /// How many of them differ, by category.
    pub counts: BTreeMap<&'static str, usize>,
    /// Every request with differences, by their categories, kind and verb.
    pub cases: BTreeMap<String, Vec<String>>,
    /// By kind: refusals of the original for what is in an object, and how many of them we let through.
    pub refusals: BTreeMap<String, (usize, usize)>,
    /// Those that are meant to be, by reason.
    pub known: BTreeMap<&'static str, usize>,
    /// Answers by status.
    pub codes: BTreeMap<u16, usize>,
}

impl Report {
    /// Counts the differences of a request; whether there were any that are not known.
    pub fn add(
        &mut self,
        kind: &str,
        verb: &str,
        request: &Request,
        real: &Answer,
        found: &[Difference],
    ) -> bool {
        self.requests += 1;
        *self.codes.entry(real.code).or_default() += 1;
        let writes = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
        if writes && matches!(real.code, 400 | 422) {
            let (refused, let_through) = self.refusals.entry(kind.to_owned()).or_default();
            *refused += 1;
            *let_through += usize::from(found.iter().any(|one| one.category == LET_THROUGH));
        }
        let mut categories = BTreeSet::new();
        let mut shown = String::new();
        for one in found {
            match known::reason(request, one) {
                Some(reason) => *self.known.entry(reason).or_default() += 1,
                None => {
                    if categories.insert(one.category) || shown.lines().count() < SHOWN * 3 {
                        let Difference { category, path, real, ours } = one;
                        let _ =
                            write!(shown, "\n    {category} {path}\n      real {real}\n      ours {ours}");
                    }
                }
            }
        }
        for category in &categories {
            *self.counts.entry(*category).or_default() += 1;
        }
        if !categories.is_empty() {
            let all: Vec<&str> = categories.iter().copied().collect();
            let title = format!("{} | {kind} {verb}", all.join(", "));
            self.cases.entry(title).or_default().push(format!("{request}{shown}"));
        }
        self.different += usize::from(categories.iter().any(|category| !is_gap(category)));
        !categories.is_empty()
    }

    /// Every request with differences, the most frequent sort first.
    pub fn examples(&self) -> String {
        let mut all: Vec<_> = self.cases.iter().collect();
        all.sort_by_key(|(name, cases)| (std::cmp::Reverse(cases.len()), *name));
        let mut out = String::new();
        for (name, cases) in all {
            let _ = writeln!(out, "== {} x {name}", cases.len());
            for case in cases {
                let _ = writeln!(out, "  {case}");
            }
        }
        out
    }

    /// The figures.
    pub fn table(&self) -> String {
        let alike = self.requests - self.different;
        let mut out = format!(
            "{} requests compared, {} of them watches; {alike} answers alike ({:.2} %)\n",
            self.requests,
            self.watches,
            100.0 * alike as f64 / self.requests.max(1) as f64
        );
        let codes: Vec<String> = self.codes.iter().map(|(code, count)| format!("{code}: {count}")).collect();
        let _ = writeln!(out, "answers of the real server: {}", codes.join(", "));
        let _ = writeln!(out, "requests with differences, by category:");
        for (category, count) in &self.counts {
            let _ = writeln!(out, "  {count:6} {category}");
        }
        let _ = writeln!(out, "different on purpose:");
        for (reason, count) in &self.known {
            let _ = writeln!(out, "  {count:6} {reason}");
        }
        let _ = writeln!(out, "refusals of the real server (400, 422), and how many of them we let through:");
        for (kind, (refused, let_through)) in &self.refusals {
            let _ = writeln!(out, "  {refused:6} {let_through:6} {kind}");
        }
        let sum = self.refusals.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let _ = writeln!(out, "  {:6} {:6} all", sum.0, sum.1);
        out
    }

    /// What is more than was allowed.
    pub fn over(&self, allowed: &str) -> Vec<String> {
        let allowed: BTreeMap<&str, usize> = allowed
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.trim().split_once(' '))
            .filter_map(|(count, name)| Some((name.trim(), count.parse().ok()?)))
            .collect();
        let of = |name: &str| allowed.get(name).copied().unwrap_or(0);
        let counts = self.counts.iter().filter(|(category, count)| **count > of(category));
        counts
            .map(|(category, count)| format!("{category}: {count}, at most {} allowed", of(category)))
            .collect()
    }
}

/// What is counted but no failure: refusals of the original that we do not make.
fn is_gap(category: &str) -> bool {
    matches!(category, LET_THROUGH | FEWER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_allowed_is_told() {
        let mut report = Report::default();
        let found = Difference { category: "body", path: ".a".into(), real: "1".into(), ours: "2".into() };
        let answer = Answer { code: 200, ..Answer::default() };
        for _ in 0..3 {
            assert!(report.add(
                "ConfigMap",
                "get",
                &Request::get("/x"),
                &answer,
                std::slice::from_ref(&found)
            ));
        }
        assert_eq!(report.over("# none\n3 body\n"), [""; 0]);
        assert_eq!(report.over("2 body"), ["body: 3, at most 2 allowed"]);
        assert_eq!(report.over("").len(), 1);
    }
}

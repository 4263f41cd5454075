//! A whole run.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::alike::{Comparer, Dictionary, Difference, answers, only_order};
use super::known::{self, ANY_ORDER};
use super::pair::Pair;
use super::report::Report;
use super::schema::Documents;
use super::seeds::{Subject, subjects};
use super::sequence::Sequence;
use super::wire::{self, Answer, Request, Stream};
use super::{crds, odd};
use crate::random::Random;

/// How often the real server is asked again whether an order is its own. Go begins a small map at one of eight places, so
/// that two neighbours change their order in one walk of eight.
const AGAIN: usize = 100;

/// How often the real server is asked again for what it may not have heard of itself yet, and the pause between.
const LATE: usize = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// How many requests a sequence has.
pub const STEPS: usize = 28;

/// Both servers, and what was found so far.
pub struct Runner<'r> {
    /// The servers.
    pub pair: &'r Pair,
    /// What stands for what.
    pub dictionary: Dictionary,
    /// What was found.
    pub report: Report,
    /// The schemas.
    pub documents: Documents,
    /// The kinds.
    pub subjects: Vec<Subject>,
    seed: u64,
    /// Every request in a line, if that is wanted.
    pub told: Option<Vec<String>>,
}

impl<'r> Runner<'r> {
    /// Begins a run.
    pub fn new(pair: &'r Pair, seed: u64) -> Result<Self, wire::Error> {
        let subjects = subjects(pair)?;
        let documents = Documents::fetch(pair, &subjects)?;
        Ok(Self {
            pair,
            dictionary: Dictionary::default(),
            report: Report::default(),
            documents,
            subjects,
            seed,
            told: None,
        })
    }

    /// Sends requests until there were that many, over all kinds in turn or over one.
    pub fn run(&mut self, requests: usize, only: Option<&str>) -> Result<(), wire::Error> {
        odd::discovery(self)?;
        let all: Vec<Subject> = self
            .subjects
            .iter()
            .filter(|subject| only.is_none_or(|only| subject.kind == only))
            .cloned()
            .collect();
        for number in 0.. {
            if self.report.requests >= requests {
                break;
            }
            let mut random = Random::for_case(self.seed, "api", number);
            let at = usize::try_from(number).unwrap_or(0);
            let own = only.is_none_or(|only| only == "Custom");
            if own && (all.is_empty() || at % 6 == 5) {
                crds::sequence(self, &mut random, at)?;
            } else if let Some(subject) = all.get((at - at / 6) % all.len().max(1)) {
                Sequence::new(self, subject, at)?.run(&mut random)?;
            }
        }
        Ok(())
    }

    /// Sends a request to both and compares; whether they differ.
    pub fn step(
        &mut self,
        kind: &str,
        verb: &str,
        request: &Request,
    ) -> Result<([Answer; 2], bool), wire::Error> {
        let before = self.dictionary.clone();
        let [mut real, ours] = self.pair.both(request, &before.translate(request))?;
        let mut found = answers(&mut self.dictionary, &real, &ours);
        if request.method == "GET" && surprising(request, &found) {
            // It reads from a cache that may be late. Ours has none: its one answer has to be right.
            for _ in 0..LATE {
                std::thread::sleep(PAUSE);
                let again = self.pair.real(request)?;
                let mut dictionary = before.clone();
                let later = answers(&mut dictionary, &again, &ours);
                if !surprising(request, &later) {
                    (real, found, self.dictionary) = (again, later, dictionary);
                    break;
                }
            }
        }
        if !found.is_empty()
            && !real.is_good()
            && only_order(&real, &ours)
            && self.any_order(request, &real)?
        {
            let (a, b) = (real.text.clone(), ours.text.clone());
            found = vec![Difference { category: ANY_ORDER, path: String::new(), real: a, ours: b }];
        }
        let differ = self.report.add(kind, verb, request, &real, &found);
        self.tell(verb, request, [&real, &ours]);
        Ok(([real, ours], differ))
    }

    /// Keeps a line about a request, with the revisions that both have told, for whoever looks for a cause.
    fn tell(&mut self, verb: &str, request: &Request, answers: [&Answer; 2]) {
        if let Some(told) = &mut self.told {
            let [real, ours] = answers.map(|answer| {
                let value = answer.value();
                let revision = value.pointer("/metadata/resourceVersion").and_then(Value::as_str);
                format!("{} {}", answer.code, revision.unwrap_or_default())
            });
            told.push(format!("{verb}: {real} | {ours} | {request}"));
        }
    }

    /// Whether the real server refuses a request in another order when it is asked again, which changes nothing.
    fn any_order(&mut self, request: &Request, first: &Answer) -> Result<bool, wire::Error> {
        for _ in 0..AGAIN {
            let again = self.pair.real(request)?;
            if again.text != first.text && only_order(first, &again) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sends a request to both without comparing.
    pub fn quietly(&mut self, request: &Request) -> Result<[Answer; 2], wire::Error> {
        self.pair.both(request, &self.dictionary.translate(request))
    }

    /// Begins to hear both.
    pub fn hear(&mut self, request: &Request) -> Result<[Stream; 2], wire::Error> {
        self.pair.hear(request, &self.dictionary.translate(request))
    }

    /// Compares what was heard, but for objects that were different before.
    pub fn heard(
        &mut self,
        kind: &str,
        verb: &str,
        request: &Request,
        streams: &[Stream; 2],
        tainted: &BTreeSet<String>,
    ) -> bool {
        let [real, ours] = streams;
        let our_names: BTreeSet<String> = tainted.iter().map(|name| self.dictionary.named(name)).collect();
        let initial = request.query.iter().any(|(key, value)| key == "sendInitialEvents" && value == "true");
        let [mut a, mut b] = [(real, tainted), (ours, &our_names)].map(|(stream, tainted)| {
            let lines = stream.heard().lines.into_iter().filter(|line| !is_about(line, tainted));
            without_late_bookmarks(lines, initial)
        });
        let mut found = Vec::new();
        if real.code != 200 || ours.code != 200 {
            let answer = |stream: &Stream, lines: &[String]| Answer {
                code: stream.code,
                headers: stream.headers.clone(),
                text: lines.join("\n"),
            };
            found = answers(&mut self.dictionary, &answer(real, &a), &answer(ours, &b));
            (a, b) = (Vec::new(), Vec::new());
        }
        let types = |stream: &Stream| {
            let value = stream.headers.get("content-type").and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        if types(real) != types(ours) {
            let path = String::new();
            found.push(Difference {
                category: "header content-type",
                path,
                real: types(real),
                ours: types(ours),
            });
        }
        for (real, ours) in a.iter().zip(&b).take_while(|(a, b)| a.get(..15) == b.get(..15)) {
            let [real, ours] =
                [real, ours].map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
            found.extend(Comparer::new(&mut self.dictionary, "watch").values(&real, &ours));
        }
        let [real_kinds, ours_kinds] = [&a, &b].map(|lines| kinds_of_events(lines));
        let real_kinds = self.dictionary.named(&real_kinds);
        if real_kinds != ours_kinds {
            let (real, ours) = (real_kinds, ours_kinds);
            found.push(Difference { category: "watch events", path: String::new(), real, ours });
        }
        self.report.watches += 1;
        let answer = Answer { code: real.code, ..Answer::default() };
        self.report.add(kind, verb, request, &answer, &found)
    }
}

/// Whether there are differences that are not meant to be.
fn surprising(request: &Request, found: &[Difference]) -> bool {
    found.iter().any(|one| known::reason(request, one).is_none())
}

/// Events without the bookmarks that come when the clock says so: only the one behind what was there at first counts.
fn without_late_bookmarks(lines: impl Iterator<Item = String>, initial: bool) -> Vec<String> {
    let mut due = initial;
    lines.filter(|line| !line.starts_with(r#"{"type":"BOOKMARK""#) || std::mem::take(&mut due)).collect()
}

/// Whether an event is about one of these objects.
fn is_about(line: &str, names: &BTreeSet<String>) -> bool {
    if names.is_empty() {
        return false;
    }
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    // Of rows without an object the first cell is the name.
    let places = [
        "/object/metadata/name",
        "/object/rows/0/object/metadata/name",
        "/object/rows/0/cells/0",
        "/object/rows/0/cells/9",
    ];
    places
        .iter()
        .any(|path| value.pointer(path).and_then(Value::as_str).is_some_and(|name| names.contains(name)))
}

fn kinds_of_events(lines: &[String]) -> String {
    let one = |line: &String| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let row = |path: &str| text(&format!("/object/rows/0/object{path}"));
        format!("{} {}{}", text("/type"), text("/object/metadata/name"), row("/metadata/name"))
    };
    format!("{} events: {}", lines.len(), lines.iter().map(one).collect::<Vec<_>>().join(", "))
}

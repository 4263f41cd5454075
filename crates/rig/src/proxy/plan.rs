//! What goes wrong, and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::random::Random;

/// What befalls a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// The process dies before the server hears of it.
    KillBefore,
    /// The server does it, and the process dies before it hears so.
    KillLost,
    /// The process hears that it is done, and dies before it asks for anything else.
    KillAfter,
    /// The server does it, and the answer is lost.
    Lost,
    /// The server refuses it.
    Refuse(u16),
}

/// What befalls an event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It and all behind it come later.
    Delay(Duration),
    /// The stream ends in its place.
    Break,
    /// It is lost, and some time later the server says that it has forgotten where the stream was.
    Lose,
}

/// What goes wrong, by the numbers of writes, reads and events, which begin with 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Writes: not dry runs, not Leases, not Events.
    pub writes: BTreeMap<usize, Blow>,
    /// Reads that are answered from an older state; only those count for which there is one.
    pub reads: BTreeSet<usize>,
    /// Events of all watches together.
    pub events: BTreeMap<usize, Cut>,
}

impl Plan {
    /// One write goes wrong.
    pub fn blow(number: usize, blow: Blow) -> Self {
        Plan { writes: BTreeMap::from([(number, blow)]), ..Plan::default() }
    }

    /// Some things go wrong, and the process lives: one to three among the first `span` of each.
    pub fn random(random: &mut Random, span: usize) -> Self {
        let mut plan = Plan::default();
        for _ in 0..=random.below(3) {
            let number = 1 + random.below(span);
            match random.below(8) {
                0 => drop(plan.writes.insert(number, Blow::Lost)),
                1 | 2 => {
                    let code = [409, 429, 500, 503][random.below(4)];
                    plan.writes.insert(number, Blow::Refuse(code));
                }
                3 | 4 => {
                    // Old states come in rows: a cache is behind for a while.
                    plan.reads.extend(number..=number + random.below(3));
                }
                5 => {
                    let time = Duration::from_millis(50 + random.below(500) as u64);
                    plan.events.insert(number, Cut::Delay(time));
                }
                6 => drop(plan.events.insert(number, Cut::Break)),
                _ => drop(plan.events.insert(number, Cut::Lose)),
            }
        }
        plan
    }
}

/// What a request is for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A stream of events.
    Watch,
    /// Objects are read.
    Read,
    /// Something changes.
    Write,
    /// What no plan is about.
    Aside,
}

impl Sort {
    /// Of a request.
    pub fn of(method: &Method, path: &str, query: &str) -> Self {
        let has = |field: &str, value: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.any(|(name, found)| name == field && (value.is_empty() || found == value))
        };
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let objects = match parts.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let kind = match objects {
            ["namespaces", _, kind, ..] => kind,
            [kind, ..] => kind,
            [] => return Sort::Aside,
        };
        match *method {
            Method::GET if has("watch", "true") || has("watch", "1") => Sort::Watch,
            Method::GET => Sort::Read,
            _ if has("dryRun", "") || ["leases", "events"].contains(kind) => Sort::Aside,
            _ => Sort::Write,
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// Its media type.
    pub media: String,
    /// Its body.
    pub body: Bytes,
}

impl Answer {
    /// What counts of it: the version of a list changes with everything else in the cluster.
    fn essence(&self) -> (u16, Option<Value>) {
        let mut body: Option<Value> = serde_json::from_slice(&self.body).ok();
        if let Some(body) = body.as_mut().filter(|body| body.get("items").is_some()) {
            body["metadata"] = Value::Null;
        }
        (self.status, body)
    }

    /// The version of a list or an object; 0 when it has none.
    fn version(&self) -> u64 {
        let body: Option<Value> = serde_json::from_slice(&self.body).ok();
        let version = body.as_ref().and_then(|body| body.pointer("/metadata/resourceVersion")?.as_str());
        version.and_then(|version| version.parse().ok()).unwrap_or(0)
    }

    /// What a server says when it refuses.
    pub fn refusal(code: u16) -> Self {
        let reason = match code {
            409 => "Conflict",
            410 => "Expired",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            _ => "InternalError",
        };
        let body = serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "the rig refuses this", "reason": reason, "code": code});
        Answer { status: code, media: "application/json".to_owned(), body: body.to_string().into() }
    }
}

/// A plan at work: numbers are counted, and answers remembered.
#[derive(Debug, Default)]
pub struct Faults {
    plan: Plan,
    numbers: [usize; 3],
    last: HashMap<String, Answer>,
    older: HashMap<String, Answer>,
    log: Vec<String>,
    struck: usize,
}

impl Faults {
    /// A new plan; all numbers begin again.
    pub fn set(&mut self, plan: Plan) {
        self.plan = plan;
        self.numbers = [0; 3];
        self.log.clear();
        self.struck = 0;
    }

    /// Forgets all answers.
    pub fn forget(&mut self) {
        self.last.clear();
        self.older.clear();
    }

    /// How many writes, reads of what was otherwise before, and events there were.
    pub fn numbers(&self) -> [usize; 3] {
        self.numbers
    }

    /// How often something went wrong.
    pub fn struck(&self) -> usize {
        self.struck
    }

    /// What was written, and what went wrong, in lines.
    pub fn log(&self) -> &[String] {
        &self.log
    }

    fn next(&mut self, which: usize) -> usize {
        let Some(number) = self.numbers.get_mut(which) else { return 0 };
        *number += 1;
        *number
    }

    fn note(&mut self, struck: bool, line: String) {
        self.struck += usize::from(struck);
        self.log.push(line);
    }

    /// A write comes.
    pub fn write(&mut self, what: &str) -> Option<Blow> {
        let number = self.next(0);
        let blow = self.plan.writes.get(&number).copied();
        let note = blow.map_or_else(String::new, |blow| format!(": {blow:?}"));
        self.note(blow.is_some(), format!("write {number}: {what}{note}"));
        blow
    }

    /// A read was answered: with what, in truth. Gives what the reader is told.
    pub fn read(&mut self, what: &str, answer: Answer) -> Answer {
        // Who says how old an answer may be gets none that is older.
        let (what, least) = match what.split_once("&resourceVersion=") {
            Some((what, rest)) => {
                (what, rest.split('&').next().and_then(|least| least.parse().ok()).unwrap_or(0))
            }
            None => (what, 0),
        };
        let changed = self.last.get(what).is_none_or(|last| last.essence() != answer.essence());
        if changed && let Some(last) = self.last.insert(what.to_owned(), answer.clone()) {
            self.older.insert(what.to_owned(), last);
        }
        let allowed = self.older.get(what).filter(|older| older.version() >= least);
        let Some(older) = allowed.cloned() else { return answer };
        let number = self.next(1);
        if self.plan.reads.contains(&number) {
            self.note(true, format!("read {number}: {what}: from an old state"));
            return older;
        }
        answer
    }

    /// An event of a watch comes.
    pub fn event(&mut self, what: &str) -> Option<Cut> {
        let number = self.next(2);
        let cut = self.plan.events.get(&number).copied();
        if let Some(cut) = cut {
            self.note(true, format!("event {number} of {what}: {cut:?}"));
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_what_they_are() {
        let cases = [
            ("GET", "/api/v1/namespaces/n/secrets", "labelSelector=a%3Db", Sort::Read),
            ("GET", "/api/v1/secrets", "watch=true&resourceVersion=1", Sort::Watch),
            ("GET", "/apis/apps/v1", "", Sort::Aside),
            ("GET", "/api", "", Sort::Aside),
            ("GET", "/version", "", Sort::Aside),
            ("GET", "/api/v1/namespaces/n", "", Sort::Read),
            ("POST", "/api/v1/namespaces", "", Sort::Write),
            ("PATCH", "/apis/apps/v1/namespaces/n/deployments/d", "fieldManager=helm", Sort::Write),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/n/deployments/d",
                "dryRun=All&fieldManager=helm",
                Sort::Aside,
            ),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", "", Sort::Aside),
            ("POST", "/apis/events.k8s.io/v1/namespaces/n/events", "", Sort::Aside),
            ("DELETE", "/api/v1/namespaces/n/configmaps/leases", "", Sort::Write),
        ];
        for (method, path, query, sort) in cases {
            let method: Method = method.parse().unwrap();
            assert_eq!(Sort::of(&method, path, query), sort, "{method} {path}?{query}");
        }
    }

    #[test]
    fn an_old_answer_is_one_that_differs() {
        let answer = |body: &str| Answer { status: 200, media: String::new(), body: body.to_owned().into() };
        let one = answer(r#"{"metadata":{"resourceVersion":"1"},"items":[1]}"#);
        let same = answer(r#"{"metadata":{"resourceVersion":"2"},"items":[1]}"#);
        let other = answer(r#"{"metadata":{"resourceVersion":"3"},"items":[2]}"#);
        let mut faults = Faults::default();
        faults.set(Plan { reads: BTreeSet::from([2]), ..Plan::default() });
        assert_eq!(faults.read("a", one.clone()), one);
        assert_eq!(faults.read("a", same.clone()), same);
        assert_eq!(faults.numbers()[1], 0);
        assert_eq!(faults.read("a", other.clone()), other);
        assert_eq!(faults.read("a", other.clone()), one);
        assert_eq!(faults.read("a", other.clone()), other);
        assert_eq!((faults.struck(), faults.log().len()), (1, 1));
    }

    #[test]
    fn an_old_answer_is_as_new_as_the_reader_demands() {
        let answer = |version: u64, item: u64| Answer {
            status: 200,
            media: String::new(),
            body: format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{item}]}}"#).into(),
        };
        let mut faults = Faults::default();
        faults.set(Plan { reads: (1..9).collect(), ..Plan::default() });
        let (old, new) = (answer(5, 1), answer(9, 2));
        assert_eq!(faults.read("a?limit=1", old.clone()), old);
        let since =
            |version: u64| format!("a?limit=1&resourceVersion={version}&resourceVersionMatch=NotOlderThan");
        assert_eq!(faults.read(&since(6), new.clone()), new);
        assert_eq!(faults.read(&since(5), new.clone()), old);
    }

    #[test]
    fn an_old_answer_may_be_that_there_is_nothing() {
        let answer = |status| Answer { status, media: String::new(), body: r#"{"a":1}"#.into() };
        let mut faults = Faults::default();
        faults.set(Plan { reads: BTreeSet::from([2]), ..Plan::default() });
        for truth in [404, 200] {
            assert_eq!(faults.read("a", answer(truth)).status, truth);
        }
        assert_eq!(faults.read("a", answer(200)).status, 404);
    }

    #[test]
    fn a_write_is_struck_once() {
        let mut faults = Faults::default();
        faults.set(Plan::blow(2, Blow::Lost));
        let blows: Vec<_> = (0..3).map(|_| faults.write("w")).collect();
        assert_eq!(blows, [None, Some(Blow::Lost), None]);
        assert_eq!(faults.numbers(), [3, 0, 0]);
    }
}

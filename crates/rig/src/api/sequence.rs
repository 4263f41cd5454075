//! Requests about a few objects of one kind, one after the other, so that states build up.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::run::{Runner, STEPS};
use super::seeds::Subject;
use super::steps;
use super::wire::{self, Answer, Request, Stream};
use crate::random::Random;

/// The object that ends a sequence, so that watches know that they have heard all.
pub const END: &str = "zz-end";

/// A sequence.
pub struct Sequence<'s, 'r> {
    /// Who asks.
    pub runner: &'s mut Runner<'r>,
    /// The kind.
    pub subject: &'s Subject,
    /// Where its objects are.
    pub namespace: String,
    /// The word that all its objects carry.
    pub case: String,
    /// The names of its objects.
    pub names: Vec<String>,
    /// Its objects, as the real server last told of them.
    pub live: BTreeMap<String, Value>,
    /// Earlier revisions.
    pub revisions: Vec<String>,
    /// Where the last page has ended.
    pub page: Option<String>,
    /// Names of objects that were different.
    tainted: BTreeSet<String>,
    fresh: usize,
}

impl<'s, 'r> Sequence<'s, 'r> {
    /// Begins a sequence in a namespace of its own.
    pub fn new(runner: &'s mut Runner<'r>, subject: &'s Subject, number: usize) -> Result<Self, wire::Error> {
        let case = format!("s{number}");
        let namespace = if subject.namespaced { case.clone() } else { String::new() };
        if subject.namespaced {
            runner.pair.namespace(&namespace)?;
        }
        let names = ["a", "b", "c"].map(|name| format!("{case}-{name}")).to_vec();
        Ok(Self {
            runner,
            subject,
            namespace,
            case,
            names,
            live: BTreeMap::new(),
            revisions: Vec::new(),
            page: None,
            tainted: BTreeSet::new(),
            fresh: 0,
        })
    }

    /// Runs it.
    pub fn run(&mut self, random: &mut Random) -> Result<(), wire::Error> {
        let list = self.selected(Request::get(self.collection()));
        let ([real, _], _) = self.runner.step(&self.subject.title(), "list", &list)?;
        let start =
            real.value().pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        self.revisions.extend(start.clone());
        let live = steps::watch(random, self, None);
        let streams = self.runner.hear(&live)?;
        for _ in 0..STEPS {
            self.step(random)?;
        }
        let mut end = self.seed(END);
        set(&mut end, "labels", json!({"case": self.case, "app": "web", "tier": "a"}));
        self.runner.quietly(&Request::post(self.collection(), end))?;
        self.finish(&live, &streams);
        drop(streams);
        for _ in 0..2 {
            let replay = steps::watch(random, self, start.clone());
            let streams = self.runner.hear(&replay)?;
            self.finish(&replay, &streams);
        }
        Ok(())
    }

    fn finish(&mut self, request: &Request, streams: &[Stream; 2]) {
        let ended = |stream: &Stream| stream.heard().lines.iter().any(|line| line.contains(END));
        let begin = std::time::Instant::now();
        while begin.elapsed().as_millis() < 1500
            && !streams.iter().all(|stream| ended(stream) || stream.count().1)
        {
            std::thread::sleep(std::time::Duration::from_millis(3));
            if request.query.iter().any(|(key, _)| key == "fieldSelector") {
                self.runner.pair.settle(streams, 0);
                break;
            }
        }
        self.runner.heard(&self.subject.title(), "watch", request, streams, &self.tainted);
    }

    fn step(&mut self, random: &mut Random) -> Result<(), wire::Error> {
        let (verb, request) = steps::next(random, self);
        let ([real, _], differ) = self.runner.step(&self.subject.title(), verb, &request)?;
        self.learn(verb, &request, &real)?;
        if differ && request.method != "GET" {
            self.heal()?;
        }
        Ok(())
    }

    fn learn(&mut self, verb: &str, request: &Request, real: &Answer) -> Result<(), wire::Error> {
        let value = real.value();
        let tried = request.query.iter().any(|(key, _)| key == "dryRun");
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        if real.is_good() && !tried && text("/kind") == self.subject.kind {
            let name = text("/metadata/name");
            self.revisions.push(text("/metadata/resourceVersion"));
            if !self.names.contains(&name) && self.names.len() < 5 && !name.is_empty() {
                self.names.push(name.clone());
            }
            self.live.insert(name, value.clone());
        }
        if verb == "list" {
            self.page = value.pointer("/metadata/continue").and_then(Value::as_str).map(str::to_owned);
        }
        // What a deletion leaves is looked at.
        if real.code == 404 && request.method == "GET" {
            self.live.retain(|name, _| self.subject.place(&self.namespace, name) != request.path);
        }
        if verb.starts_with("delete") || value.pointer("/metadata/deletionTimestamp").is_some() {
            for name in self.names.clone() {
                let request = Request::get(self.object(&name));
                let ([real, _], _) = self.runner.step(&self.subject.title(), "get", &request)?;
                match real.code {
                    200 => drop(self.live.insert(name, real.value())),
                    _ => drop(self.live.remove(&name)),
                }
            }
        }
        Ok(())
    }

    /// After a difference both begin anew, with other names: what follows of it is no news.
    fn heal(&mut self) -> Result<(), wire::Error> {
        for name in std::mem::take(&mut self.names) {
            self.tainted.insert(name.clone());
            let place = self.object(&name);
            // One of the two may have finalizers that the other has not.
            let none = json!({"metadata": {"finalizers": null}});
            self.runner.quietly(&Request::patch(&place, "application/merge-patch+json", none))?;
            if self.subject.kind == "Namespace" {
                let body =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {}});
                self.runner.quietly(&Request::delete(&place))?;
                self.runner.quietly(&Request::put(format!("{place}/finalize"), body))?;
            } else {
                let request = Request::delete(&place).with("gracePeriodSeconds", "0");
                self.runner.quietly(&request.with("propagationPolicy", "Background"))?;
            }
        }
        self.live.clear();
        self.fresh += 1;
        let fresh = self.fresh;
        self.names = ["a", "b", "c"].map(|name| format!("{}-{name}{fresh}", self.case)).to_vec();
        Ok(())
    }

    /// Where the objects are.
    pub fn collection(&self) -> String {
        self.subject.collection(&self.namespace)
    }

    /// Where an object is.
    pub fn object(&self, name: &str) -> String {
        self.subject.place(&self.namespace, name)
    }

    /// An ordinary object with a name.
    pub fn seed(&self, name: &str) -> Value {
        let mut object = self.subject.seed.clone();
        set(&mut object, "name", name.into());
        let labels = object.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
        let mut labels = labels.as_object().cloned().unwrap_or_default();
        labels.insert("case".to_owned(), self.case.as_str().into());
        set(&mut object, "labels", Value::Object(labels));
        for key in ["involvedObject", "regarding"] {
            if let Some(about) = object.get_mut(key).and_then(Value::as_object_mut) {
                about.insert("namespace".to_owned(), self.namespace.as_str().into());
            }
        }
        object
    }

    /// A request about many objects sees only those of this sequence.
    pub fn selected(&self, request: Request) -> Request {
        if self.subject.namespaced {
            request
        } else {
            request.with("labelSelector", format!("case={}", self.case))
        }
    }
}

/// Sets a field of the metadata.
pub fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(key.to_owned(), value);
    }
}

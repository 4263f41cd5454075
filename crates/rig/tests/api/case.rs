//! A few requests that both servers have to answer alike.

use podium_rig::api::alike::{Comparer, Dictionary, answers};
use podium_rig::api::pair::Pair;
use podium_rig::api::wire::{Answer, Request, Stream};
use serde_json::{Value, json};

/// The two servers, in a namespace of its own.
pub struct Case {
    pub pair: &'static Pair,
    pub dictionary: Dictionary,
    pub namespace: String,
}

impl Case {
    pub fn new(namespace: &str) -> Self {
        let pair = Pair::shared().unwrap();
        pair.namespace(namespace).unwrap();
        Case { pair, dictionary: Dictionary::default(), namespace: namespace.to_owned() }
    }

    /// Where the ConfigMaps are, or one of them.
    pub fn maps(&self, name: &str) -> String {
        self.place("/api/v1", "configmaps", name)
    }

    pub fn deployments(&self, name: &str) -> String {
        self.place("/apis/apps/v1", "deployments", name)
    }

    pub fn place(&self, root: &str, plural: &str, name: &str) -> String {
        let all = format!("{root}/namespaces/{}/{plural}", self.namespace);
        if name.is_empty() { all } else { format!("{all}/{name}") }
    }

    /// Asks both; their answers have to be alike.
    pub fn ask(&mut self, request: &Request) -> Answer {
        let own = self.dictionary.translate(request);
        let [real, ours] = self.pair.both(request, &own).unwrap();
        let found = answers(&mut self.dictionary, &real, &ours);
        assert!(found.is_empty(), "{request}\nto ours: {own}\nanswered: {}\n{found:#?}", ours.text);
        real
    }

    /// Asks both; besides being alike their status has to be this.
    pub fn expect(&mut self, code: u16, request: &Request) -> Value {
        let answer = self.ask(request);
        assert_eq!(answer.code, code, "{request}\n{}", answer.text);
        answer.value()
    }

    /// A refusal with a status, and a message that has these words.
    pub fn refused(&mut self, code: u16, words: &str, request: &Request) -> Value {
        let answer = self.expect(code, request);
        assert!(answer["message"].as_str().unwrap_or_default().contains(words), "{answer}");
        answer
    }

    pub fn hear(&mut self, request: &Request) -> [Stream; 2] {
        self.pair.hear(request, &self.dictionary.translate(request)).unwrap()
    }

    /// What was heard, once there are so many lines; both have to be alike.
    pub fn heard(&mut self, streams: &[Stream; 2], least: usize) -> Vec<Value> {
        self.pair.settle(streams, least);
        assert_eq!(
            (streams[0].code, &streams[0].headers["content-type"]),
            (streams[1].code, &streams[1].headers["content-type"])
        );
        let [real, ours] = [&streams[0], &streams[1]].map(|stream| {
            let lines = stream.heard().lines;
            let events = lines.iter().map(|line| serde_json::from_str(line).unwrap());
            events.filter(|event| !is_late(event)).collect::<Vec<Value>>()
        });
        let found = Comparer::new(&mut self.dictionary, "watch").values(&json!(real), &json!(ours));
        assert!(found.is_empty(), "{found:#?}\n{real:#?}\n{ours:#?}");
        assert!(real.len() >= least, "{real:#?}");
        real
    }
}

/// A bookmark that comes when the clock says so, and not because all was sent that was there.
fn is_late(event: &Value) -> bool {
    let object = event.pointer("/object/rows/0/object").unwrap_or(&event["object"]);
    event["type"] == "BOOKMARK"
        && object.pointer("/metadata/annotations/k8s.io~1initial-events-end").is_none()
}

/// The fields that a manager owns.
pub fn owned<'v>(object: &'v Value, manager: &str) -> Option<&'v Value> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array)?;
    entries.iter().find(|entry| entry["manager"] == manager).map(|entry| &entry["fieldsV1"])
}

pub fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

pub fn deployment(name: &str, containers: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": containers}}}})
}

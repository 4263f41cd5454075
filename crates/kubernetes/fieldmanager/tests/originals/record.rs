//! Records the answers that `recorded` replays.

use std::collections::BTreeMap;

use podium_fieldmanager::managed;
use serde_json::{Value, json};

use crate::patches;
use crate::probe::{Answer, Probe};
use crate::random::{Maker, Random};
use crate::world::{World, definition};
use crate::writes::stored;

/// A longer line is not worth its place in the repository.
const LONGEST: usize = 1500;

/// Asks, and gives the line to record, if the answer never varies and is short.
fn line(probe: &mut Probe, request: &Value) -> (Option<String>, Answer) {
    let answer = probe.ask(request);
    let mut record = request.clone();
    match &answer {
        Answer::Out(out) => record["answer"] = out.clone(),
        Answer::Errors(errors) if errors.len() == 1 && !errors[0].starts_with("panic") => {
            record["answer"] = json!(errors[0])
        }
        Answer::Errors(_) => return (None, answer),
    }
    let text = record.to_string();
    ((text.len() <= LONGEST).then_some(text), answer)
}

/// Not more of one sort than others: sorts are told by how answers begin.
struct Lines {
    all: Vec<String>,
    sorts: BTreeMap<String, usize>,
    most: usize,
}

impl Lines {
    fn new(most: usize) -> Self {
        Lines { all: Vec::new(), sorts: BTreeMap::new(), most }
    }

    fn add(&mut self, text: String, answer: &Answer) {
        let (sort, most) = match answer {
            Answer::Out(_) => ("done".to_owned(), self.most * 7 / 10),
            Answer::Errors(errors) => (errors[0].chars().take(20).collect(), self.most / 12),
        };
        let count = self.sorts.entry(sort).or_default();
        if *count < most && self.all.len() < self.most {
            *count += 1;
            self.all.push(text);
        }
    }

    fn write(&self, name: &str) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/");
        std::fs::write(format!("{folder}{name}.jsonl"), self.all.join("\n") + "\n").unwrap();
        eprintln!("{name}: {} recorded", self.all.len());
    }
}

fn writes(probe: &mut Probe, world: &World) {
    let mut lines = Lines::new(220);
    probe.ask(&json!({"op": "crd", "types": "web", "crd": definition()}));
    for chain in 0..400 {
        let mut random = Random(77_000 + chain);
        let odd = if random.chance(25) { 30 } else { 0 };
        let mut maker = Maker { shapes: &world.shapes, random, odd };
        let mut live: Option<Value> = None;
        for step in 0..8 {
            let version = if maker.random.chance(85) { "ex.io/v1" } else { "ex.io/v2" };
            let shape = world.shapes.get(world.versions[version]).clone();
            let mut given =
                live.clone().map_or_else(|| maker.value(&shape, 4), |live| managed::renamed(&live, version));
            live = live.map(|live| managed::renamed(&live, version));
            let update = maker.random.chance(40);
            if !update && !maker.random.chance(30) {
                given = maker.value(&shape, 4);
            }
            if !given.is_object() {
                given = json!({});
            }
            given["metadata"] = json!({"name": "w"});
            maker.change(&shape, &mut given, 5);
            given["apiVersion"] = json!(version);
            given["kind"] = json!("Web");
            if !given["metadata"].is_object() {
                given["metadata"] = json!({});
            }
            given["metadata"]["name"] = json!("w");
            let manager = *maker.random.pick(&["one", "two", "kubectl"]);
            let mut request = json!({
                "op": "apply", "types": "web", "apiVersion": version, "kind": "Web", "manager": manager,
                "force": maker.random.chance(40), "live": live, "config": given,
            });
            if update {
                request["op"] = json!("update");
                request["new"] = request["config"].take();
                if live.is_some() {
                    request["new"]["metadata"]["uid"] = json!("u1");
                }
                if maker.random.chance(10) {
                    request["new"]["metadata"]["managedFields"] = json!([{}]);
                }
                request.as_object_mut().unwrap().remove("config");
                request.as_object_mut().unwrap().remove("force");
            }
            if live.is_none() {
                request.as_object_mut().unwrap().remove("live");
            }
            let (text, answer) = line(probe, &request);
            if let Some(text) = text.filter(|_| maker.random.chance(25)) {
                lines.add(text, &answer);
            }
            if let Answer::Out(out) = answer {
                live = Some(stored(&out, step));
            }
        }
    }
    lines.write("writes");
}

#[test]
#[ignore = "needs the original, and writes the recordings"]
fn record() {
    let mut probe = Probe::start();
    let world = World::new();
    writes(&mut probe, &world);

    let mut lines = Lines::new(160);
    for index in 0..4000 {
        let mut random = Random(88_000 + index);
        let odd = if random.chance(20) { 20 } else { 0 };
        let mut maker = Maker { shapes: &world.shapes, random, odd };
        let Some((live, patch)) = patches::strategic_case(&mut maker, world.names["Deployment"], 6) else {
            continue;
        };
        if patch.to_string().len() < 40 {
            continue;
        }
        let mut request = json!({"op": "strategic", "apiVersion": "apps/v1", "kind": "Deployment", "live": live, "new": patch});
        request["all"] = json!(true);
        let all = probe.ask_all(&request);
        request.as_object_mut().unwrap().remove("all");
        let count = |key: &str| all[key].as_array().map_or(0, Vec::len);
        if count("outs") + count("errors") != 1 {
            continue;
        }
        if let (Some(text), answer) = line(&mut probe, &request) {
            lines.add(text, &answer);
        }
    }
    lines.write("strategic");

    for (name, most, case) in [
        ("patches", 160, patches::json_case as fn(&mut Maker<'_>) -> Value),
        ("sets", 80, patches::sets_case),
    ] {
        let mut lines = Lines::new(most);
        for index in 0..2000 {
            let mut maker = Maker { shapes: &world.shapes, random: Random(99_000 + index), odd: 0 };
            if let (Some(text), answer) = line(&mut probe, &case(&mut maker)) {
                lines.add(text, &answer);
            }
        }
        lines.write(name);
    }
}

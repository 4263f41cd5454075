//! Command lines, typed on both servers.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use podium_rig::cluster::Cluster;
use podium_rig::request::Dialect;
use podium_rig::tools;

use super::masks::masked;
use super::{Pair, text};

/// How long what others do in the background may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What only one of the servers prints, and why.
const KNOWN: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io/", "no webhooks (api-differences, A2)"),
    ("apiregistration.k8s.io/", "no aggregation (api-differences, A2)"),
    ("flowcontrol.apiserver.k8s.io/", "no priorities of requests (api-differences, A2)"),
];

/// Types all lines on both, and tells how many there are; those with another outcome are printed and fail the test.
pub fn same(pair: &Pair, lines: &str) -> usize {
    pair.both(|cluster| chart(cluster.folder()));
    let mut different = Vec::new();
    let mut count = 0;
    for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        count += 1;
        if let Some((real, ours)) = difference(pair, line) {
            println!("$ {line}\n--- real\n{real}\n--- ours\n{ours}");
            different.push(line);
        }
    }
    assert!(
        different.is_empty(),
        "{} of {count} have another outcome:\n{}",
        different.len(),
        different.join("\n")
    );
    count
}

/// What both say to a line, where it is not the same.
fn difference(pair: &Pair, line: &str) -> Option<(String, String)> {
    let (how, command) = match line.split_once(' ') {
        Some((how @ ("until" | "last" | "shape"), command)) => (how, command),
        _ => ("", line),
    };
    let begin = Instant::now();
    loop {
        let (real, ours) = pair.both(|cluster| text(&spawn(cluster, command)));
        if compared(how, &real) == compared(how, &ours) {
            return None;
        }
        if how != "until" || begin.elapsed() > PATIENCE {
            return Some((real, ours));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What is compared of an answer.
fn compared(how: &str, answer: &str) -> Vec<Vec<String>> {
    let mut lines = masked(answer);
    lines.retain(|line| !KNOWN.iter().any(|(start, _)| line.join(" ").starts_with(start)));
    match how {
        "last" => lines.split_off(lines.len().saturating_sub(2)),
        "shape" => {
            let heads = ["KIND:", "VERSION:", "GROUP:", "FIELD:", "error:", "ended"];
            let is_shape = |line: &Vec<String>| {
                heads.contains(&line[0].as_str())
                    || line.iter().any(|word| word.starts_with('<') && word != "<empty>")
            };
            lines.retain(is_shape);
            lines
        }
        _ => lines,
    }
}

fn spawn(cluster: &Cluster, line: &str) -> Output {
    let (line, input) = line.split_once(" | ").unwrap_or((line, ""));
    let mut words = words(line).into_iter();
    let mut command = match words.next().unwrap_or_default().as_str() {
        "helm3" => cluster.helm(Dialect::Helm3),
        "helm4" => cluster.helm(Dialect::Helm4),
        "old" => cluster.client(&tools::kubernetes("kubectl-old").unwrap(), "old"),
        _ => cluster.kubectl(),
    };
    // What people do in an editor.
    command.env("KUBE_EDITOR", "sed -i s/calm/wild/").current_dir(cluster.folder());
    command.args(words.map(|word| if word == "CHART" { "chart".to_owned() } else { word }));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever refuses its flags does not read.
    let _ = child.stdin.take().unwrap().write_all(input.replace("\\n", "\n").as_bytes());
    child.wait_with_output().unwrap()
}

/// The words of a line; single quotes keep some together.
fn words(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => all.push(String::new()),
            c => all.last_mut().unwrap().push(c),
        }
    }
    all
}

fn chart(folder: &Path) {
    let folder = folder.join("chart");
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: small\nversion: 1.0.0\n").unwrap();
    std::fs::write(folder.join("values.yaml"), "color: red\nreplicas: 0\n").unwrap();
    let objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {color: {{ .Values.color }}}\n---\n\
                   apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{ .Release.Name }}'}\nspec:\n  replicas: {{ .Values.replicas }}\n  \
                   selector: {matchLabels: {app: '{{ .Release.Name }}'}}\n  template:\n    metadata: {labels: {app: '{{ .Release.Name }}'}}\n    \
                   spec: {containers: [{name: c, image: 'x:1'}]}\n";
    std::fs::write(folder.join("templates/objects.yaml"), objects).unwrap();
}

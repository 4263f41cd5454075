//! Values files and `--set` strings.

use crate::random::Random;
use crate::request::{File, RenderRequest};

use super::{Case, Check, Family, patterns, strings, yaml};

const SHOW: &str = "{{ toJson .Values }}\n{{ printf \"%#v\" .Values }}\n";

/// A chart whose only template shows all values.
fn showing(values: String) -> RenderRequest {
    RenderRequest::chart(vec![
        File::new("Chart.yaml", "apiVersion: v2\nname: vals\nversion: 0.1.0\n"),
        File::new("values.yaml", values),
        File::new("templates/show.txt", SHOW),
    ])
}

/// A values.yaml with zero to two files over it.
pub fn case(random: &mut Random) -> Case {
    let mut request = showing(if random.chance(50) { tree(random, 0, 3) } else { yaml::document(random, 3) });
    for i in 0..random.below(3) {
        let name = format!("values-{i}.yaml");
        let text = if random.chance(70) { tree(random, 0, 3) } else { yaml::document(random, 2) };
        request.side.push(File::new(name.clone(), text));
        request.values.push(name);
    }
    if random.chance(30) {
        request.set.push(assignment(random));
    }
    Case::new(Family::Values, request, Check::Exact)
}

/// A tree over few keys, so that two of them meet.
pub fn tree(random: &mut Random, indent: usize, depth: usize) -> String {
    let mut out = String::new();
    let pad = "  ".repeat(indent);
    let mut keys = vec!["a", "b", "c", "d", "e"];
    for _ in 0..1 + random.below(4) {
        let key = keys.remove(random.below(keys.len()));
        out += &format!("{pad}{key}:");
        if depth > 0 && random.chance(50) {
            out += "\n";
            out += &tree(random, indent + 1, depth - 1);
        } else {
            out += random.pick(&[
                " 1\n",
                " null\n",
                " x\n",
                " \"\"\n",
                " {}\n",
                " []\n",
                " [1, null, {q: null}]\n",
                " true\n",
                " false\n",
                " 2.5\n",
                " ~\n",
                " {x: null, y: 1}\n",
                "\n",
            ]);
        }
    }
    out
}

/// One `--set` argument, sometimes broken.
pub fn assignment(random: &mut Random) -> String {
    let mut out = String::new();
    for i in 0..1 + random.below(3) {
        if i > 0 {
            out += ",";
        }
        out += &path(random);
        out += random.pick_or(&["="], 6, &["", "=="]);
        out += &value(random);
    }
    if random.chance(15) {
        strings::damage(random, &out, &[",", "=", "{", "}", "[", "]", ".", "\\", "\"", " ", "é", "\n"])
    } else {
        out
    }
}

fn path(random: &mut Random) -> String {
    let mut out =
        random.pick_or(&["a", "b", "c", "list", "a"], 15, &["a\\.b", "x y", "", "é", "1"]).to_owned();
    for _ in 0..random.below(3) {
        out += random.pick_or(
            &[".a", ".b", ".c", ".list", "[0]", "[1]", "[2]"],
            12,
            &["[-1]", "[x]", "[", ".", "[0][1]", "[65537]", "[]", "\\.d"],
        );
    }
    out
}

fn value(random: &mut Random) -> String {
    match random.below(6) {
        0 | 1 => random
            .pick(&[
                "1",
                "0",
                "-1",
                "01",
                "007",
                "1.5",
                "1e3",
                "0x1F",
                "true",
                "TRUE",
                "false",
                "null",
                "Null",
                "",
                "9223372036854775807",
                "9223372036854775808",
                "-0",
                "+1",
                "1_000",
            ])
            .to_owned(),
        2 => random
            .pick(&[
                "{}",
                "{1,2}",
                "{a,true,null}",
                "{a,{b,c}}",
                "{ a , b }",
                "{a",
                "{,}",
                "{a,}",
                "{1.5,\"q\"}",
                "{a\\,b}",
                "{}x",
            ])
            .to_owned(),
        3 => random
            .pick(&[
                "a\\,b",
                "a\\=b",
                "a=b",
                "\\",
                "a\\\\b",
                "\"q,r\"",
                "'x'",
                "a b",
                " lead",
                "{{ .x }}",
                "[1]",
                "{\"a\":1}",
                "a\nb",
            ])
            .to_owned(),
        _ => strings::any(random).replace('\0', ""),
    }
}

/// All the ways to set values on the command line.
pub fn set_case(random: &mut Random) -> Case {
    let mut request = showing(tree(random, 0, 2));
    for _ in 0..1 + random.below(2) {
        match random.below(9) {
            0..=4 => request.set.push(assignment(random)),
            5 => request.set_string.push(assignment(random)),
            6 => {
                let text = if random.chance(25) {
                    patterns::json(random)
                } else {
                    format!("{}={}", path(random), patterns::json(random))
                };
                request.set_json.push(text.replace('\0', ""));
            }
            7 => request.set_literal.push(assignment(random)),
            _ => {
                let text = strings::any(random);
                request.side.push(File::new("side.txt", text));
                let name = random.pick(&["side.txt", "side.txt", "absent.txt"]);
                request.set_file.push(format!("{}={name}", path(random)));
            }
        }
    }
    Case::new(Family::SetFlags, request, Check::Exact)
}

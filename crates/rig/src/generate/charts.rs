//! Charts with subcharts: conditions, tags, aliases, imported values, globals, nulls, shared templates.

use crate::random::Random;
use crate::request::{File, RenderRequest};

use super::{Case, Check, Family, values};

const SHOW: &str = "{{ .Chart.Name }} {{ .Template.Name }} {{ .Template.BasePath }} {{ toJson .Values }}\n{{ range $k, $v := .Subcharts }}{{ $k }}:{{ toJson $v.Values }};{{ end }}\n{{ include \"who\" . }}\n";

/// A parent with up to three children, each with up to two of its own.
pub fn case(random: &mut Random) -> Case {
    let mut files = Vec::new();
    chart(random, &mut files, "", "parent", 2);
    let mut request = RenderRequest::chart(files);
    if random.chance(40) {
        request
            .side
            .push(File::new("user.yaml", parent_values(random, &["one", "two", "three", "alias"], 2)));
        request.values.push("user.yaml".to_owned());
    }
    for _ in 0..random.below(3) {
        let text = random.pick(&[
            "one.enabled=false",
            "two.enabled=true",
            "tags.front=false",
            "tags.back=true",
            "global.g=9",
            "global=null",
            "one=null",
            "one.a=null",
            "global.deep.x=1",
            "two.global.g=2",
            "one.exports.data.k=1",
            "alias.enabled=true",
            "one.global=3",
            "tags=1",
            "one=5",
            "one.two.enabled=false",
            "one.enabled=maybe",
            "a=null",
        ]);
        request.set.push(text.to_owned());
    }
    Case::new(Family::Subcharts, request, Check::Exact)
}

fn chart(random: &mut Random, files: &mut Vec<File>, at: &str, name: &str, depth: usize) {
    let mut children: Vec<&str> = Vec::new();
    if depth > 0 {
        for child in ["one", "two", "three"] {
            if random.chance(if depth == 2 { 60 } else { 30 }) {
                children.push(child);
            }
        }
    }
    let mut meta = format!(
        "apiVersion: {}\nname: {name}\nversion: {}\n",
        random.pick(&["v2", "v2", "v2", "v1"]),
        random.pick(&["0.1.0", "1.2.3", "2.0.0-rc.1"])
    );
    if at.is_empty() {
        meta = meta.replace("apiVersion: v1", "apiVersion: v2");
    } else if random.chance(10) {
        meta += "type: library\n";
    }
    let mut listed = String::new();
    for child in &children {
        if random.chance(80) {
            listed += &dependency(random, child);
            if random.chance(15) {
                // The same chart a second time needs another name.
                listed +=
                    &format!("- {{name: {child}, version: '*', alias: alias, condition: alias.enabled}}\n");
            }
        }
    }
    if random.chance(4) {
        listed += "- {name: absent, version: '*'}\n";
    }
    if !listed.is_empty() {
        meta += &format!("dependencies:\n{listed}");
    }
    files.push(File::new(format!("{at}Chart.yaml"), meta));
    files.push(File::new(format!("{at}values.yaml"), parent_values(random, &children, depth)));
    files.push(File::new(format!("{at}templates/show.txt"), SHOW));
    files.push(File::new(
        format!("{at}templates/_help.tpl"),
        format!("{{{{ define \"who\" }}}}{name} {{{{ .Values.a }}}}{{{{ end }}}}"),
    ));
    if random.chance(15) {
        let text = random.pick(&[
            "{{ $_ := set .Values \"a\" \"changed\" }}",
            "{{ $_ := set .Values.global \"g\" \"changed\" }}",
            "{{ define \"who\" }}  {{ end }}",
            "{{ .Values.b.x }}",
        ]);
        files.push(File::new(format!("{at}templates/zz.txt"), text));
    }
    if random.chance(10) {
        files.push(File::new(format!("{at}templates/NOTES.txt"), "notes of {{ .Chart.Name }}"));
    }
    for child in children {
        let folder = if random.chance(5) { format!("_{child}") } else { child.to_owned() };
        chart(random, files, &format!("{at}charts/{folder}/"), child, depth - 1);
    }
}

fn dependency(random: &mut Random, child: &str) -> String {
    let version =
        random.pick(&["'*'", "'>=0.0.0-0'", "'>=0.0.0-0'", "0.1.0", "'~1.2'", "'>9'", "'bad range'", "''"]);
    let mut out = format!("- name: {child}\n  version: {version}\n");
    if random.chance(50) {
        out += &format!(
            "  condition: {}\n",
            random.pick(&[
                "one.enabled",
                "two.enabled",
                "a",
                "nope.x,one.enabled",
                "global.on",
                "one.enabled, two.enabled",
                ""
            ])
        );
    }
    if random.chance(30) {
        out += &format!("  tags: {}\n", random.pick(&["[front]", "[front, back]", "[back]", "[]"]));
    }
    if random.chance(15) {
        out += &format!("  alias: {}\n", random.pick(&["alias", "renamed", "bad alias!", "one"]));
    }
    if random.chance(35) {
        out += &format!(
            "  import-values: {}\n",
            random.pick(&[
                "[data]",
                "[data, other]",
                "[{child: exports.data, parent: imported}]",
                "[{child: a, parent: .}]",
                "[{child: b, parent: c.d}]",
                "[{child: nope, parent: x}]",
                "[{child: ., parent: all}]",
                "[5]",
                "[{child: a}]",
            ])
        );
    }
    if random.chance(5) {
        out += "  enabled: false\n";
    }
    out
}

fn parent_values(random: &mut Random, children: &[&str], depth: usize) -> String {
    let mut out = values::tree(random, 0, 2);
    if random.chance(50) {
        out += random.pick(&[
            "global: {g: 1}\n",
            "global: {g: 2, deep: {x: 0, y: 2}}\n",
            "global: null\n",
            "global: {on: false}\n",
            "global: 5\n",
            "global: {deep: null}\n",
            "global: {deep: 3}\n",
        ]);
    }
    if random.chance(50) {
        out += random.pick(&[
            "tags: {front: false}\n",
            "tags: {front: true, back: false}\n",
            "tags: {back: \"yes\"}\n",
            "tags: null\n",
        ]);
    }
    if random.chance(50) {
        out += random.pick(&[
            "exports: {data: {k: 1, a: imported}}\n",
            "exports: {data: {a: null}, other: {o: [1]}}\n",
            "exports: {data: 3}\n",
            "exports: null\n",
        ]);
    }
    for child in children {
        if depth > 0 && random.chance(60) {
            out += &format!("{child}:");
            if random.chance(85) {
                out += &format!(
                    "\n  enabled: {}\n",
                    random.pick(&["true", "false", "\"false\"", "null", "true"])
                );
                for line in values::tree(random, 1, 1).lines() {
                    out += line;
                    out += "\n";
                }
            } else {
                out += random.pick(&[" null\n", " 3\n", " []\n", " {}\n"]);
            }
        }
    }
    out
}

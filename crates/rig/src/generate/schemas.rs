//! values.schema.json beside values that fit or do not.

use crate::random::Random;
use crate::request::{File, RenderRequest};

use super::{Case, Check, Family, strings, values};

/// A chart with a schema, in some draft, over a random tree.
pub fn case(random: &mut Random) -> Case {
    let mut text = top(random);
    // A damaged address would send the original to the network.
    if random.chance(6) && !text.contains("://") {
        text = strings::damage(random, &text, &["{", "}", "\"", ",", "[", "x"]);
    }
    let mut files = vec![
        File::new("Chart.yaml", "apiVersion: v2\nname: sch\nversion: 0.1.0\n"),
        File::new("values.yaml", values::tree(random, 0, 2)),
        File::new("values.schema.json", text),
        File::new("templates/show.txt", "{{ toJson .Values }}"),
    ];
    if random.chance(20) {
        files.push(File::new("charts/kid/Chart.yaml", "apiVersion: v2\nname: kid\nversion: 0.1.0\n"));
        files.push(File::new("charts/kid/values.yaml", values::tree(random, 0, 1)));
        files.push(File::new("charts/kid/values.schema.json", top(random)));
    }
    let mut request = RenderRequest::chart(files);
    request.skip_schema = random.chance(5);
    for _ in 0..random.below(2) {
        request.set.push(
            random.pick(&["a=1", "a=x", "b=null", "c.d=true", "a.b=2", "e={1,2}", "kid.a=7"]).to_owned(),
        );
    }
    Case::new(Family::Schema, request, Check::SchemaHead)
}

fn top(random: &mut Random) -> String {
    let draft = random.pick(&[
        "",
        "",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ]);
    let head = if draft.is_empty() { String::new() } else { format!("\"$schema\": \"{draft}\", ") };
    let defs =
        "\"definitions\": {\"num\": {\"type\": \"number\"}}, \"$defs\": {\"str\": {\"type\": \"string\"}}, ";
    format!("{{{head}{defs}{}}}", object(random, 2))
}

/// One complaint at a time keeps the order of complaints out of the comparison.
fn object(random: &mut Random, depth: usize) -> String {
    let mut parts = vec!["\"type\": \"object\"".to_owned()];
    match random.below(9) {
        0 => parts.push(format!("\"required\": [\"{}\"]", random.pick(&["a", "b", "z"]))),
        1 => parts.push("\"additionalProperties\": false".to_owned()),
        2 => parts.push(format!("\"minProperties\": {}", random.below(4))),
        3 => parts.push(format!(
            "\"propertyNames\": {{\"pattern\": \"{}\"}}",
            random.pick(&["^[a-c]$", "^[a-e]$", "(", "x"])
        )),
        4 => parts.push(format!("\"patternProperties\": {{\"^[ab]$\": {}}}", leaf(random, depth))),
        5 => parts.push(format!("\"maxProperties\": {}", random.below(5))),
        _ => {}
    }
    let key = random.pick(&["a", "b", "c", "d", "e"]);
    parts.push(format!("\"properties\": {{\"{key}\": {}}}", leaf(random, depth)));
    parts.join(", ")
}

fn leaf(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.chance(25) {
        return format!("{{{}}}", object(random, depth - 1));
    }
    let body = match random.below(20) {
        0..=4 => format!(
            "\"type\": \"{}\"",
            random.pick(&["string", "number", "integer", "boolean", "null", "array", "object", "nonsense"])
        ),
        5 => "\"type\": [\"string\", \"null\"]".to_owned(),
        6 => {
            format!("\"enum\": {}", random.pick(&["[1]", "[\"x\", \"y\"]", "[null, true]", "[{}, []]", "[]"]))
        }
        7 => format!("\"const\": {}", random.pick(&["1", "\"x\"", "null", "[1]", "{\"a\": 1}"])),
        8 => format!("\"minimum\": {}", random.pick(&["0", "2", "1.5", "-1"])),
        9 => format!("\"exclusiveMaximum\": {}", random.pick(&["1", "3", "true"])),
        10 => format!("\"multipleOf\": {}", random.pick(&["2", "0.5", "0"])),
        11 => format!("\"minLength\": {}", random.below(3)),
        12 => format!("\"pattern\": \"{}\"", random.pick(&["^x$", "^[0-9]+$", "[", "\\\\d"])),
        13 => format!("\"minItems\": {}, \"uniqueItems\": true", random.below(4)),
        14 => format!("\"items\": {}", leaf(random, depth.saturating_sub(1))),
        15 => format!("\"anyOf\": [{}, {}]", leaf(random, 0), leaf(random, 0)),
        16 => format!("\"oneOf\": [{}, {}]", leaf(random, 0), leaf(random, 0)),
        17 => format!("\"not\": {}", leaf(random, 0)),
        18 => format!(
            "\"$ref\": \"{}\"",
            random.pick(&["#/definitions/num", "#/$defs/str", "#/nope", "#", "file:///absent.json"])
        ),
        _ => format!(
            "\"if\": {}, \"then\": {}, \"else\": {}",
            leaf(random, 0),
            leaf(random, 0),
            leaf(random, 0)
        ),
    };
    format!("{{{body}}}")
}

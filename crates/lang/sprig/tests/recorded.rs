//! Calls of the functions, with the answers that Helm 4.3.1 gave to them.
//!
//! `recorded.txt` has an expression (or the beginning of a template that sets `$r`) on one line, and on the next the
//! answer: `=` and type, text and JSON of the result, or `!` and the error. The values are those of `values.json`, the
//! local time that of New York.

mod common;

use podium_gotmpl::{Cause, RenderError, without_no_value};

const RECORDED: &str = include_str!("recorded.txt");
const VALUES: &str = include_str!("values.json");

#[test]
fn every_function_answers_as_recorded() {
    let functions = podium_sprig::functions(&podium_sprig::Library::default());
    let values = podium_goyaml::json::parse(VALUES.as_bytes(), 0).unwrap();
    let mut lines = RECORDED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = Vec::new();
    let mut count = 0;
    while let (Some(case), Some(answer)) = (lines.next(), lines.next()) {
        let head = if case.starts_with("{{") { case.to_owned() } else { format!("{{{{ $r := {case} }}}}") };
        let text = format!("{head}{{{{ typeOf $r }}}}|{{{{ $r }}}}|{{{{ toJson $r }}}}");
        let given = match common::render(&text, &functions, &values, 1 << 30) {
            Ok(out) => format!("    = {}", escaped(&without_no_value(&out))),
            Err(error) => format!("    ! {}", escaped(&message(&error))),
        };
        if given != answer {
            wrong.push(format!("{case}\n{answer}\n{given}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 400, "{count}");
}

/// The error without its place.
fn message(error: &RenderError) -> Vec<u8> {
    match &error.cause {
        Cause::Function { message, .. } if message.starts_with(b"HELM_ERR_START") => {
            let text = String::from_utf8_lossy(message);
            text.replace("HELM_ERR_START", "failed: ").replace("HELM_ERR_END", "").into_bytes()
        }
        Cause::Function { name, message } => [b"error calling ", name.as_bytes(), b": ", message].concat(),
        Cause::Template(m) | Cause::NoTemplate(m) | Cause::Start(m) | Cause::Limit(m) => m.clone(),
    }
}

/// The form of answers in the file: one line, nothing invisible.
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\0'..='\x1f' | '\x7f' | '\u{85}' | '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                    hex(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                c => out.push(c),
            }
        }
        hex(&mut out, chunk.invalid());
    }
    out
}

fn hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        out.push_str(&format!("\\x{byte:02x}"));
    }
}

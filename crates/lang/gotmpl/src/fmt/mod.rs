//! Go's `fmt`, on template values.

mod float;
mod number;
mod printer;
mod printf;

use crate::value::Value;
use printer::Printer;

pub use float::format as format_float_verb;
pub use printer::MAX_BYTES;
pub use printf::sprintf;

/// Writes a value as `%v` does.
pub fn value(out: &mut Vec<u8>, v: &Value<'_>) {
    match v {
        // The everyday cases, without a printer.
        Value::Str(s) => out.extend_from_slice(s),
        Value::Int(i) | Value::Int64(i) => {
            let mut buffer = [0; 20];
            out.extend_from_slice(number::decimal(*i, &mut buffer));
        }
        Value::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        v => {
            let mut printer = Printer::new(std::mem::take(out));
            printer.arg(v, 'v');
            *out = printer.finish();
        }
    }
}

/// A value as `%v` prints it.
pub fn to_bytes(v: &Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    value(&mut out, v);
    out
}

/// `fmt.Sprint`: spaces only between operands of which neither is a string. Past [`MAX_BYTES`] it stops.
pub fn sprint(args: &[Value<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut after_string = true;
    for (i, arg) in args.iter().enumerate() {
        if out.len() > MAX_BYTES {
            break;
        }
        let is_string = arg.kind() == crate::types::Kind::String;
        if i > 0 && !is_string && !after_string {
            out.push(b' ');
        }
        value(&mut out, arg);
        after_string = is_string;
    }
    out
}

/// `fmt.Sprintln`: spaces between all operands and a line break.
pub fn sprintln(args: &[Value<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        if out.len() > MAX_BYTES {
            break;
        }
        if i > 0 {
            out.push(b' ');
        }
        value(&mut out, arg);
    }
    out.push(b'\n');
    out
}

/// A float as `%v` prints it.
pub fn format_float(f: f64) -> String {
    float::format(f, b'g', -1)
}

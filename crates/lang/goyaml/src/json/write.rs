//! Writing.

use super::Error;
use super::text;
use crate::doc::Doc;
use crate::number;
use crate::walk::{Entry, Kind, Scalar, Sink, walk};

/// Deeper than this, a document is taken for one that contains itself. Readers stop at 10 000 levels, and YAML has its
/// own error for what lies between.
pub const MAX_DEPTH: usize = 11_000;

/// The document on one line, as `json.Marshal` writes it: keys sorted, `<`, `>` and `&` escaped.
pub fn to_string<T: Doc>(doc: &T) -> Result<Vec<u8>, Error> {
    write(doc, true, Indent::None)
}

/// The document on one line with `<`, `>` and `&` as they are (`SetEscapeHTML(false)`).
pub fn to_raw_string<T: Doc>(doc: &T) -> Result<Vec<u8>, Error> {
    write(doc, false, Indent::None)
}

/// The document with an indentation of two spaces, as `json.MarshalIndent` writes it.
pub fn to_pretty<T: Doc>(doc: &T) -> Result<Vec<u8>, Error> {
    write(doc, true, Indent::Two)
}

#[derive(Clone, Copy, PartialEq)]
enum Indent {
    None,
    Two,
}

struct Writer {
    out: Vec<u8>,
    html: bool,
    indent: Indent,
    depth: usize,
}

fn write<T: Doc>(doc: &T, html: bool, indent: Indent) -> Result<Vec<u8>, Error> {
    let mut writer = Writer { out: Vec::with_capacity(128), html, indent, depth: 0 };
    walk(doc, &mut writer)?;
    Ok(writer.out)
}

impl Writer {
    fn line(&mut self) {
        if self.indent == Indent::Two {
            self.out.push(b'\n');
            self.out.extend(std::iter::repeat_n(b' ', 2 * self.depth));
        }
    }

    fn separate(&mut self, first: bool) {
        if !first {
            self.out.push(b',');
        }
        self.line();
    }
}

/// Refuses a number that JSON does not have.
pub(crate) fn check(f: f64) -> Result<(), Error> {
    match f {
        f if f.is_nan() => Err(Error::Value("NaN")),
        f64::INFINITY => Err(Error::Value("+Inf")),
        f64::NEG_INFINITY => Err(Error::Value("-Inf")),
        _ => Ok(()),
    }
}

impl Sink for Writer {
    type Error = Error;

    fn arrange<T>(&mut self, _: &mut Vec<u8>, _: &mut Vec<Entry<T>>) -> Result<(), Error> {
        Ok(())
    }

    fn empty(&mut self, kind: Kind) -> Result<(), Error> {
        self.out.extend_from_slice(if kind == Kind::Map { b"{}" } else { b"[]" });
        Ok(())
    }

    fn begin(&mut self, kind: Kind, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::Cycle(if kind == Kind::Map {
                "map[string]interface {}"
            } else {
                "[]interface {}"
            }));
        }
        self.depth = depth;
        self.out.push(if kind == Kind::Map { b'{' } else { b'[' });
        Ok(())
    }

    fn end(&mut self, kind: Kind) -> Result<(), Error> {
        self.depth -= 1;
        self.line();
        self.out.push(if kind == Kind::Map { b'}' } else { b']' });
        Ok(())
    }

    fn item(&mut self, first: bool) -> Result<(), Error> {
        self.separate(first);
        Ok(())
    }

    fn key(&mut self, key: &[u8], first: bool) -> Result<(), Error> {
        self.separate(first);
        text::write(&mut self.out, key, self.html);
        self.out.extend_from_slice(if self.indent == Indent::Two { b": " } else { b":" });
        Ok(())
    }

    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<(), Error> {
        match scalar {
            Scalar::Null => self.out.extend_from_slice(b"null"),
            Scalar::Bool(b) => self.out.extend_from_slice(if b { b"true" } else { b"false" }),
            Scalar::Int(i) => number::signed(&mut self.out, i),
            Scalar::Uint(u) => number::unsigned(&mut self.out, u),
            Scalar::Float(f) => {
                check(f)?;
                number::json(&mut self.out, f);
            }
            Scalar::Str(s) | Scalar::Plain(s) => text::write(&mut self.out, s, self.html),
        }
        Ok(())
    }

    fn unsupported(&mut self, text: String) -> Error {
        Error::Unsupported(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{List, Map, Node, Value};

    fn sample() -> Node {
        let mut map = Map::new();
        map.insert("b<>&", Value::from("<a href=\"x\">&\u{2028}\u{7f}\u{1}\t"));
        map.insert("a", Value::List(List::from(vec![Value::Float(1e21).into(), Value::Int(-3).into()])));
        map.insert("c", Value::Map(Map::new()));
        map.insert("d", Value::List(List::new()));
        Value::Map(map).into()
    }

    fn text(result: Result<Vec<u8>, Error>) -> String {
        String::from_utf8(result.unwrap()).unwrap()
    }

    #[test]
    fn html_is_escaped_unless_raw() {
        let node = sample();
        assert_eq!(
            text(to_string(&&node)),
            "{\"a\":[1e+21,-3],\"b\\u003c\\u003e\\u0026\":\"\\u003ca href=\\\"x\\\"\\u003e\\u0026\\u2028\u{7f}\\u0001\\t\",\
             \"c\":{},\"d\":[]}"
        );
        assert_eq!(
            text(to_raw_string(&&node)),
            "{\"a\":[1e+21,-3],\"b<>&\":\"<a href=\\\"x\\\">&\\u2028\u{7f}\\u0001\\t\",\"c\":{},\"d\":[]}"
        );
    }

    #[test]
    fn pretty_breaks_lines_and_keeps_empty_containers_together() {
        let mut map = Map::new();
        map.insert("a", Value::List(List::from(vec![Node::default(), Value::Map(Map::new()).into()])));
        let node: Node = Value::Map(map).into();
        assert_eq!(text(to_pretty(&&node)), "{\n  \"a\": [\n    null,\n    {}\n  ]\n}");
    }

    #[test]
    fn numbers_that_json_lacks_are_errors() {
        for (f, message) in [
            (f64::NAN, "json: unsupported value: NaN"),
            (f64::INFINITY, "json: unsupported value: +Inf"),
            (f64::NEG_INFINITY, "json: unsupported value: -Inf"),
        ] {
            let node: Node = Value::Float(f).into();
            assert_eq!(to_string(&&node).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_value_that_contains_itself_is_found() {
        struct Snake;
        impl Doc for Snake {
            fn view(&self) -> crate::View<'_, Self> {
                crate::View::List(vec![Snake])
            }
        }
        assert_eq!(
            to_string(&Snake).unwrap_err().to_string(),
            "json: unsupported value: encountered a cycle via []interface {}"
        );
    }
}

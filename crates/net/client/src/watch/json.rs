//! JSON whose depth somebody else decides.
//!
//! The usual reader refuses a document that is nested too deeply, and with it the whole page or stream. Here one
//! object that is too deep spoils only itself: what is below the limit is left out, and said to be.

use std::cell::Cell;
use std::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The deepest nesting that is kept: under the limit of 128 of the reader that does the work.
const DEEPEST: usize = 100;

/// A value, and whether something that is too deep was left out of it.
pub(super) struct Read {
    pub value: Value,
    pub cut: bool,
}

/// Reads one document.
pub(super) fn read(bytes: &[u8]) -> Result<Read, serde_json::Error> {
    let cut = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Any { depth: DEEPEST, cut: &cut }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(Read { value, cut: cut.get() })
}

/// What a page of a list says beside its items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub version: String,
    pub next: String,
}

/// Reads a page of a list; each item is given away when it is read, so that the page is never there as values.
pub(super) fn read_page(bytes: &[u8], item: &mut dyn FnMut(Read)) -> Result<Page, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let page = reader.deserialize_map(List { item })?;
    reader.end()?;
    Ok(page)
}

struct Any<'c> {
    depth: usize,
    cut: &'c Cell<bool>,
}

impl Any<'_> {
    fn below(&self) -> Option<Self> {
        let depth = self.depth.checked_sub(1);
        if depth.is_none() {
            self.cut.set(true);
        }
        depth.map(|depth| Any { depth, cut: self.cut })
    }
}

impl<'de> DeserializeSeed<'de> for Any<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        match self.below() {
            Some(Any { depth, cut }) => {
                while let Some(item) = items.next_element_seed(Any { depth, cut })? {
                    list.push(item);
                }
            }
            None => while items.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        match self.below() {
            Some(Any { depth, cut }) => {
                while let Some(key) = fields.next_key::<String>()? {
                    map.insert(key, fields.next_value_seed(Any { depth, cut })?);
                }
            }
            None => while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Object(map))
    }
}

struct List<'f> {
    item: &'f mut dyn FnMut(Read),
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = Page;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Page, A::Error> {
        let mut page = Page::default();
        let mut is_list = false;
        let unused = Cell::new(false);
        while let Some(key) = fields.next_key::<String>()? {
            match key.as_str() {
                "metadata" => {
                    let about = fields.next_value_seed(Any { depth: DEEPEST, cut: &unused })?;
                    let text =
                        |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                    page = Page { version: text("resourceVersion"), next: text("continue") };
                }
                "items" => {
                    is_list = true;
                    fields.next_value_seed(Items { item: &mut *self.item })?;
                }
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        if is_list { Ok(page) } else { Err(A::Error::custom("it is no list")) }
    }
}

struct Items<'f> {
    item: &'f mut dyn FnMut(Read),
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the items of a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let cut = Cell::new(false);
            match items.next_element_seed(Any { depth: DEEPEST, cut: &cut })? {
                Some(value) => (self.item)(Read { value, cut: cut.get() }),
                None => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_what_the_usual_reader_makes_of_them() {
        let text = r#"{"a":[1,-2,3.5,18446744073709551615,true,null,"x\n\u00e9"],"b":{"c":{}},"a2":[]}"#;
        let read = read(text.as_bytes()).unwrap();
        assert_eq!((read.value, read.cut), (serde_json::from_str(text).unwrap(), false));
    }

    #[test]
    fn what_is_too_deep_is_left_out_and_said() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert!(!read(nested(DEEPEST).as_bytes()).unwrap().cut);
            assert!(read(nested(DEEPEST + 1).as_bytes()).unwrap().cut);
            assert!(read(nested(200_000).as_bytes()).unwrap().cut);
        }
    }

    #[test]
    fn broken_documents_are_refused() {
        for text in ["", "{", "{\"a\":1", "[1,]", "{} {}", "nul", "\u{1}"] {
            assert!(read(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_page_gives_its_items_one_by_one() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let text = format!(
            r#"{{"items":[{{"a":1}},{deep},{{"a":2}}],"kind":"List","metadata":{{"resourceVersion":"7","continue":"c"}}}}"#
        );
        let mut found = Vec::new();
        let page = read_page(text.as_bytes(), &mut |read| found.push((read.cut, read.value))).unwrap();
        assert_eq!(page, Page { version: "7".to_owned(), next: "c".to_owned() });
        assert_eq!(found.len(), 3);
        assert_eq!(
            (&found[0], found[1].0, &found[2]),
            (&(false, json!({"a":1})), true, &(false, json!({"a":2})))
        );
        assert!(read_page(br#"{"items":null,"metadata":{}}"#, &mut |_| ()).is_ok());
        assert!(read_page(br#"{"kind":"Status"}"#, &mut |_| ()).is_err());
        assert!(read_page(br#"[]"#, &mut |_| ()).is_err());
    }
}

//! JSON parser that tolerates deep nesting.
//!
//! `serde_json` rejects a document that is nested too deeply, and with it the whole page or stream. This parser drops
//! what is below the depth limit and marks the object as truncated, so that the other objects still arrive.

use std::cell::Cell;
use std::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Depth limit, below serde_json's own limit of 128.
const MAX_DEPTH: usize = 100;

/// Parsed value, and whether parts that are nested too deeply were dropped.
pub(super) struct Parsed {
    pub value: Value,
    pub truncated: bool,
}

/// Parses one document.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, serde_json::Error> {
    let truncated = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = ValueSeed { depth: MAX_DEPTH, truncated: &truncated }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(Parsed { value, truncated: truncated.get() })
}

/// Metadata of a list page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListMeta {
    pub resource_version: String,
    pub continue_token: String,
}

/// Parses a page of a list and passes on each item as it is parsed, so that the whole page is never in memory as values.
pub(super) fn parse_list(bytes: &[u8], item: &mut dyn FnMut(Parsed)) -> Result<ListMeta, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let list_meta = reader.deserialize_map(ListVisitor { item })?;
    reader.end()?;
    Ok(list_meta)
}

struct ValueSeed<'c> {
    depth: usize,
    truncated: &'c Cell<bool>,
}

impl ValueSeed<'_> {
    fn descend(&self) -> Option<Self> {
        let depth = self.depth.checked_sub(1);
        if depth.is_none() {
            self.truncated.set(true);
        }
        depth.map(|depth| ValueSeed { depth, truncated: self.truncated })
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
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
        match self.descend() {
            Some(ValueSeed { depth, truncated }) => {
                while let Some(item) = items.next_element_seed(ValueSeed { depth, truncated })? {
                    list.push(item);
                }
            }
            None => while items.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        match self.descend() {
            Some(ValueSeed { depth, truncated }) => {
                while let Some(key) = fields.next_key::<String>()? {
                    map.insert(key, fields.next_value_seed(ValueSeed { depth, truncated })?);
                }
            }
            None => while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Object(map))
    }
}

struct ListVisitor<'f> {
    item: &'f mut dyn FnMut(Parsed),
}

impl<'de> Visitor<'de> for ListVisitor<'_> {
    type Value = ListMeta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<ListMeta, A::Error> {
        let mut list_meta = ListMeta::default();
        let mut is_list = false;
        let unused = Cell::new(false);
        while let Some(key) = fields.next_key::<String>()? {
            match key.as_str() {
                "metadata" => {
                    let metadata =
                        fields.next_value_seed(ValueSeed { depth: MAX_DEPTH, truncated: &unused })?;
                    let text =
                        |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                    list_meta = ListMeta {
                        resource_version: text("resourceVersion"),
                        continue_token: text("continue"),
                    };
                }
                "items" => {
                    is_list = true;
                    fields.next_value_seed(ItemsSeed { item: &mut *self.item })?;
                }
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        if is_list { Ok(list_meta) } else { Err(A::Error::custom("it is not a list")) }
    }
}

struct ItemsSeed<'f> {
    item: &'f mut dyn FnMut(Parsed),
}

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the items of a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let truncated = Cell::new(false);
            match items.next_element_seed(ValueSeed { depth: MAX_DEPTH, truncated: &truncated })? {
                Some(value) => (self.item)(Parsed { value, truncated: truncated.get() }),
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
    fn parses_like_serde_json() {
        let text = r#"{"a":[1,-2,3.5,18446744073709551615,true,null,"x\n\u00e9"],"b":{"c":{}},"a2":[]}"#;
        let parsed = parse(text.as_bytes()).unwrap();
        assert_eq!((parsed.value, parsed.truncated), (serde_json::from_str(text).unwrap(), false));
    }

    #[test]
    fn truncates_below_max_depth() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert!(!parse(nested(MAX_DEPTH).as_bytes()).unwrap().truncated);
            assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).unwrap().truncated);
            assert!(parse(nested(200_000).as_bytes()).unwrap().truncated);
        }
    }

    #[test]
    fn rejects_malformed_documents() {
        for text in ["", "{", "{\"a\":1", "[1,]", "{} {}", "nul", "\u{1}"] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn yields_list_items_one_by_one() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let text = format!(
            r#"{{"items":[{{"a":1}},{deep},{{"a":2}}],"kind":"List","metadata":{{"resourceVersion":"7","continue":"c"}}}}"#
        );
        let mut found = Vec::new();
        let list_meta =
            parse_list(text.as_bytes(), &mut |item| found.push((item.truncated, item.value))).unwrap();
        assert_eq!(list_meta, ListMeta { resource_version: "7".to_owned(), continue_token: "c".to_owned() });
        assert_eq!(found.len(), 3);
        assert_eq!(
            (&found[0], found[1].0, &found[2]),
            (&(false, json!({"a":1})), true, &(false, json!({"a":2})))
        );
        assert!(parse_list(br#"{"items":null,"metadata":{}}"#, &mut |_| ()).is_ok());
        assert!(parse_list(br#"{"kind":"Status"}"#, &mut |_| ()).is_err());
        assert!(parse_list(br#"[]"#, &mut |_| ()).is_err());
    }
}

//! Random values of a shape, and random changes of them.

use podium_schema::shape::{Merge, Object, Scalar, Shape, Shapes};
use serde_json::{Map, Value, json};

#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.word() % n as u64) as usize }
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const WORDS: [&str; 9] = ["a", "b", "c", "d", "x-y", "a.b/c", "é\"<", "TCP", "1"];

/// What is made of a shape; `odd` is how often, of a thousand, it is not what the shape says.
pub struct Maker<'a> {
    pub shapes: &'a Shapes,
    pub random: Random,
    pub odd: usize,
}

impl Maker<'_> {
    fn oddly(&mut self) -> bool {
        let odd = self.odd;
        self.random.below(1000) < odd
    }

    fn word(&mut self) -> String {
        let most = if self.random.chance(10) { WORDS.len() } else { 4 };
        WORDS[self.random.below(most)].to_owned()
    }

    pub fn anything(&mut self, depth: usize) -> Value {
        match self.random.below(if depth == 0 { 6 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.random.chance(50)),
            2 => json!(self.random.below(3)),
            3 => json!(1.5),
            4 | 5 => json!(self.word()),
            6 | 7 => {
                let count = self.random.below(3);
                Value::Array((0..count).map(|_| self.anything(depth - 1)).collect())
            }
            _ => {
                let count = self.random.below(4);
                Value::Object((0..count).map(|_| (self.word(), self.anything(depth - 1))).collect())
            }
        }
    }

    pub fn value(&mut self, shape: &Shape, depth: usize) -> Value {
        if self.oddly() {
            return if self.random.chance(40) { Value::Null } else { self.anything(2) };
        }
        match shape {
            Shape::Anything => self.anything(depth.min(3)),
            Shape::Scalar(scalar) => match scalar {
                Scalar::String | Scalar::Formatted => json!(self.word()),
                Scalar::Bytes => json!("YQ=="),
                Scalar::Time => json!(*self.random.pick(&["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"])),
                Scalar::MicroTime => json!("2020-01-01T00:00:00.000000Z"),
                Scalar::Quantity => json!(*self.random.pick(&["1", "100m", "1Gi"])),
                Scalar::Number if self.random.chance(50) => json!(1.25),
                Scalar::Int32 | Scalar::Int64 | Scalar::Number => json!(self.random.below(4)),
                Scalar::Boolean => json!(self.random.chance(50)),
                Scalar::IntOrString if self.random.chance(50) => json!(self.word()),
                Scalar::IntOrString => json!(self.random.below(3)),
            },
            Shape::Object(object) => Value::Object(self.object(object, depth)),
            Shape::List(list) => {
                let count = if depth == 0 { 0 } else { self.random.below(4) };
                let shape = self.shapes.get(list.items).clone();
                let mut items: Vec<Value> = Vec::new();
                for _ in 0..count {
                    let mut item = self.value(&shape, depth.saturating_sub(1));
                    if let (Merge::Keyed(keys), Value::Object(item), Shape::Object(object)) =
                        (&list.merge, &mut item, &shape)
                    {
                        for key in keys {
                            let optional = object.field(key).is_some_and(|field| field.default.is_some());
                            if (optional && self.random.chance(50)) || self.oddly() {
                                continue;
                            }
                            if let Some(field) = object.field(key) {
                                let value = self.value(&self.shapes.get(field.shape).clone(), 1);
                                item.insert(key.clone(), value);
                            }
                        }
                    }
                    let twice = match &list.merge {
                        Merge::Whole => false,
                        Merge::Set => items.contains(&item),
                        Merge::Keyed(keys) => {
                            items.iter().any(|other| keys.iter().all(|key| other.get(key) == item.get(key)))
                        }
                    };
                    if !twice || self.oddly() {
                        items.push(item);
                    }
                }
                Value::Array(items)
            }
        }
    }

    fn object(&mut self, object: &Object, depth: usize) -> Map<String, Value> {
        let mut out = Map::new();
        if depth == 0 {
            return out;
        }
        let count = self.random.below(5);
        for _ in 0..count {
            if let Some((key, value)) = self.entry(object, depth) {
                out.insert(key, value);
            }
        }
        out
    }

    /// A key of an object and a value for it. Deep places are rare, so those with parts are preferred.
    fn entry(&mut self, object: &Object, depth: usize) -> Option<(String, Value)> {
        if self.oddly() {
            return Some((self.word(), self.anything(1)));
        }
        if !object.fields.is_empty() {
            let mut field = self.random.pick(&object.fields);
            for _ in 0..2 {
                if matches!(self.shapes.get(field.shape), Shape::Scalar(_)) {
                    field = self.random.pick(&object.fields);
                }
            }
            let shape = self.shapes.get(field.shape).clone();
            return Some((field.name.clone(), self.value(&shape, depth - 1)));
        }
        let rest = object.rest.map_or(Shape::Anything, |rest| self.shapes.get(rest).clone());
        Some((self.word(), self.value(&rest, depth - 1)))
    }

    /// Changes a value here and there.
    pub fn change(&mut self, shape: &Shape, value: &mut Value, depth: usize) {
        if depth == 0 || self.oddly() {
            return;
        }
        match (shape, value) {
            (Shape::Object(object), Value::Object(map)) => {
                let times = 1 + self.random.below(2);
                for _ in 0..times {
                    let keys: Vec<String> = map.keys().cloned().collect();
                    if keys.is_empty() || self.random.chance(25) {
                        map.extend(self.entry(object, depth));
                        continue;
                    }
                    let key = self.random.pick(&keys).clone();
                    if self.random.chance(20) {
                        map.remove(&key);
                        continue;
                    }
                    let child = match (object.field(&key), object.rest) {
                        (Some(field), _) => self.shapes.get(field.shape).clone(),
                        (None, Some(rest)) => self.shapes.get(rest).clone(),
                        (None, None) => Shape::Anything,
                    };
                    if let Some(value) = map.get_mut(&key) {
                        self.change(&child, value, depth - 1);
                    }
                }
            }
            (Shape::List(list), Value::Array(items)) => {
                let shape = self.shapes.get(list.items).clone();
                match self.random.below(5) {
                    0 if !items.is_empty() => {
                        let at = self.random.below(items.len());
                        items.remove(at);
                    }
                    1 => {
                        for at in (1..items.len()).rev() {
                            let other = self.random.below(at + 1);
                            items.swap(at, other);
                        }
                    }
                    2 | 3 if !items.is_empty() => {
                        let at = self.random.below(items.len());
                        self.change(&shape, &mut items[at], depth - 1);
                    }
                    _ => {
                        if let Value::Array(more) = self.value(&Shape::List(list.clone()), depth) {
                            for item in more {
                                let at = self.random.below(items.len() + 1);
                                let twice = match &list.merge {
                                    Merge::Whole => false,
                                    Merge::Set => items.contains(&item),
                                    Merge::Keyed(keys) => items
                                        .iter()
                                        .any(|other| keys.iter().all(|key| other.get(key) == item.get(key))),
                                };
                                if !twice || self.oddly() {
                                    items.insert(at, item);
                                }
                            }
                        }
                    }
                }
            }
            (shape, value) => *value = self.value(shape, depth),
        }
    }
}

//! Deep equality.

use crate::value::Value;

/// How many pairs are compared before two structures count as different: only cycles get there.
const MAX_PAIRS: usize = 10_000_000;

/// `reflect.DeepEqual`.
pub fn equal<'h>(a: &Value<'h>, b: &Value<'h>) -> bool {
    let mut work = vec![(a.clone(), b.clone())];
    let mut pairs = 0;
    while let Some((a, b)) = work.pop() {
        pairs += 1;
        if pairs > MAX_PAIRS {
            return false;
        }
        let same = match (&a, &b) {
            (Value::Nil | Value::NilAny, Value::Nil | Value::NilAny) => true,
            (Value::Bool(x), Value::Bool(y)) => x == y,
            (Value::Int(x), Value::Int(y)) | (Value::Int64(x), Value::Int64(y)) => x == y,
            (Value::Int32(x), Value::Int32(y)) => x == y,
            (Value::Uint8(x), Value::Uint8(y)) => x == y,
            (Value::Uint64(x), Value::Uint64(y)) => x == y,
            (Value::Float(x), Value::Float(y)) => x == y,
            (Value::Complex(x, i), Value::Complex(y, j)) => x == y && i == j,
            (Value::Str(x), Value::Str(y)) => x == y,
            (Value::Bytes(x), Value::Bytes(y)) => x == y && a.is_nil_of_type() == b.is_nil_of_type(),
            (Value::List(x), Value::List(y)) => {
                if std::ptr::eq(*x, *y) {
                    continue;
                }
                let alike = x.ty.is(y.ty) && x.nil == y.nil && x.items.len() == y.items.len();
                if alike {
                    work.extend(x.items.iter().cloned().zip(y.items.iter().cloned()));
                }
                alike
            }
            (Value::Map(x), Value::Map(y)) => {
                if std::ptr::eq(*x, *y) {
                    continue;
                }
                if !x.ty.is(y.ty) || x.nil != y.nil || x.len() != y.len() {
                    return false;
                }
                for (key, value) in x.borrow().iter() {
                    match y.get(key) {
                        Some(other) => work.push((value.clone(), other)),
                        None => return false,
                    }
                }
                true
            }
            (Value::Struct(x), Value::Struct(y)) => {
                let alike = x.ty.is(y.ty);
                if alike {
                    work.extend(x.fields.iter().cloned().zip(y.fields.iter().cloned()));
                }
                alike
            }
            (Value::Opaque(x), Value::Opaque(y)) => x.ty().is(y.ty()) && x.deep_same(y.as_ref()),
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}

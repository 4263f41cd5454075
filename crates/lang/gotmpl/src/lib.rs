//! The Go template language: values, parser, evaluator, Go's fmt.
//!
//! ```text
//! text ──lex──▶ tokens ──parse──▶ nodes ──compile──▶ Program (immutable, shared by threads)
//!                                                       │
//!                         Heap (one render's values) ──▶ Machine ──▶ text or error
//! ```
//!
//! Lists and maps of one render live in one [`Heap`] and are freed with it, so a map may contain itself and nothing leaks.
//! Templates that call templates are frames on a stack of the machine's own, so nesting uses no thread stack.

mod builtins;
mod code;
mod compile;
mod deep;
mod entries;
mod error;
pub mod fmt;
pub mod func;
pub mod gostr;
mod hash;
pub mod heap;
mod machine;
mod program;
mod syntax;
pub mod types;
pub mod value;

pub use builtins::RENDERERS;
pub use code::{Functions, Unit};
pub use entries::Entries;
pub use error::{Cause, RenderError, Site, Via};
pub use func::{Call, Ctx, Error, Func, World};
pub use heap::Heap;
pub use machine::{Limits, Machine, Texts, without_no_value};
pub use program::{Templates, compile};
pub use syntax::ParseError;
pub use types::{Kind, Shape, Type};
pub use value::{List, Map, Opaque, Str, Struct, Tables, Value};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_may_contain_itself_and_still_goes_away() {
        let heap = Heap::new(1 << 20);
        let map = heap.map(Default::default());
        map.set("self".into(), Value::Map(map));
        let list = heap.list(vec![Value::Map(map)]);
        map.set("list".into(), list);
        assert_eq!(map.len(), 2);
    }

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value>(), 24);
    }
}

//! Text as Sprig's dependencies treat it: byte strings with Go's idea of runes.
//!
//! Some of these libraries take bytes for characters; charts see the result, so it is the same here.

mod case;
mod fold;
mod ip;
mod path;
mod space;
mod url;
mod words;

pub use case::{lower, swap_case, title, uncapitalize, upper};
pub use fold::{abbreviate, abbreviate_both, initials, wrap, wrap_with};
pub use path::{base, clean, dir, ext, is_abs};
pub use podium_gotmpl::gostr::trim_space;
pub use space::{fields, without_space};
pub use url::{Fault as UrlFault, UrlError, UrlParts, url_join, url_parse};
pub use words::{camel_case, kebab_case, pascal_case, shuffle, snake_case};

#[cfg(test)]
mod tests;

//! The parts of Go's library whose answers show in messages: quoting, numbers in English, URLs, addresses, dates.

pub mod addr;
pub(crate) mod date;
pub(crate) mod english;
pub(crate) mod quote;
pub mod url;

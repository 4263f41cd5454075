//! The parts of Go's library whose answers show in messages: quoting, numbers in English, URLs, addresses, dates.

pub(crate) mod addr;
pub(crate) mod date;
pub(crate) mod english;
pub(crate) mod quote;
pub(crate) mod url;

//! Unsigned numbers as Go's strconv reads them, and the errors that it gives.

/// Why a number could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text has no digits or something that is not a digit.
    #[error("strconv.ParseUint: parsing {0}: invalid syntax")]
    Syntax(String),
    /// The number needs more than 64 bits.
    #[error("strconv.ParseUint: parsing {0}: value out of range")]
    Range(String),
}

/// Formats bytes as Go's `%q` does.
pub(crate) fn quoted(text: &[u8]) -> String {
    String::from_utf8_lossy(&podium_gotmpl::gostr::quote(text)).into_owned()
}

/// Reads a decimal number without sign.
pub(crate) fn parse_u64(text: &[u8]) -> Result<u64, NumberError> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::Syntax(quoted(text)));
    }
    let add = |value: u64, digit: &u8| value.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    text.iter().try_fold(0, add).ok_or_else(|| NumberError::Range(quoted(text)))
}

/// Reports whether a number is written with needless zeros in front.
pub(crate) fn has_leading_zero(text: &[u8]) -> bool {
    matches!(text, [b'0', _, ..])
}

/// Reports whether a byte may stand in a pre-release or build identifier.
pub(crate) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Turns bytes that were checked to be ASCII into a string.
pub(crate) fn ascii(text: &[u8]) -> String {
    text.iter().copied().map(char::from).collect()
}

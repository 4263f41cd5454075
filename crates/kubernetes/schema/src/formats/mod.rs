//! Formats of text that schemas can ask for.

mod mail;
mod net;
mod url;

use std::sync::LazyLock;

use podium_re2::Regex;

pub use url::Url;

/// A format that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    ShortName,
    LongName,
}

impl Format {
    /// The format of that name; dashes do not count.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "uri" => Self::Uri,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "creditcard" => Self::CreditCard,
            "ssn" => Self::Ssn,
            "hexcolor" => Self::HexColor,
            "rgbcolor" => Self::RgbColor,
            "byte" => Self::Byte,
            "password" => Self::Password,
            "date" => Self::Date,
            "duration" => Self::Duration,
            "datetime" => Self::DateTime,
            "k8sshortname" => Self::ShortName,
            "k8slongname" => Self::LongName,
            _ => return None,
        })
    }

    /// Whether the format of that name is checked for text.
    pub fn supported(name: &str) -> bool {
        Self::named(name).is_some()
    }

    /// Whether text has the format.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            Self::Uri => Url::request(text).is_some(),
            Self::Email => mail::address(text),
            Self::Hostname => hostname(text),
            Self::Ipv4 => text.contains('.') && net::sloppy(text).is_some(),
            Self::Ipv6 => text.contains(':') && text.parse::<std::net::Ipv6Addr>().is_ok(),
            Self::Cidr => net::cidr(text),
            Self::Mac => net::mac(text),
            Self::Uuid => UUID.is_match(text),
            Self::Uuid3 => UUID3.is_match(text),
            Self::Uuid4 => UUID4.is_match(text),
            Self::Uuid5 => UUID5.is_match(text),
            Self::Isbn => isbn10(text) || isbn13(text),
            Self::Isbn10 => isbn10(text),
            Self::Isbn13 => isbn13(text),
            Self::CreditCard => credit_card(text),
            Self::Ssn => text.len() == 11 && SSN.is_match(text),
            Self::HexColor => HEX_COLOR.is_match(text),
            Self::RgbColor => RGB_COLOR.is_match(text),
            Self::Byte => base64(text),
            Self::Password => true,
            Self::Date => date(text),
            Self::Duration => duration(text),
            Self::DateTime => date_time(text),
            Self::ShortName => text.len() <= 63 && crate::names::is_label(text),
            Self::LongName => text.len() <= 253 && crate::names::is_subdomain(text),
        }
    }
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {$(
        static $name: Known = Known(LazyLock::new(|| Regex::new($text).ok()));
    )*};
}

/// A pattern of ours; one that does not compile matches nothing.
struct Known(LazyLock<Option<Regex>>);

impl Known {
    fn is_match(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

patterns! {
    HOSTNAME = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    SSN = r"^\d{3}[- ]?\d{2}[- ]?\d{4}$";
    HEX_COLOR = r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$";
    CARD = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$";
    CLOCK = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
}

fn hostname(text: &str) -> bool {
    HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

/// Digits without blanks and dashes.
fn digits(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ' | '-')).collect()
}

fn isbn10(text: &str) -> bool {
    let text = digits(text);
    let shape = text.len() == 10
        && text.bytes().take(9).all(|b| b.is_ascii_digit())
        && text.bytes().last().is_some_and(|b| b.is_ascii_digit() || b == b'X');
    let worth = |byte: u8| if byte == b'X' { 10 } else { u32::from(byte - b'0') };
    shape && text.bytes().zip(1..).map(|(byte, place)| place * worth(byte)).sum::<u32>() % 11 == 0
}

fn isbn13(text: &str) -> bool {
    let text = digits(text);
    if text.len() != 13 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let sum: u32 =
        text.bytes().zip([1, 3].into_iter().cycle()).map(|(b, factor)| factor * u32::from(b - b'0')).sum();
    sum.is_multiple_of(10)
}

fn credit_card(text: &str) -> bool {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    let worth = |(index, byte): (usize, u8)| {
        let digit = u32::from(byte - b'0');
        if index % 2 == 0 { digit } else { digit * 2 / 10 + digit * 2 % 10 }
    };
    CARD.is_match(&text) && text.bytes().rev().enumerate().map(worth).sum::<u32>() % 10 == 0
}

fn base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    let stem = bytes.strip_suffix(b"==").or_else(|| bytes.strip_suffix(b"=")).unwrap_or(bytes);
    let letter = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    !bytes.is_empty() && bytes.len().is_multiple_of(4) && stem.iter().all(letter)
}

/// A day, as `2006-01-02`.
fn date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    let number = |bytes: &[&u8]| {
        bytes.iter().try_fold(0_u32, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u32::from(**b - b'0')))
    };
    let (Some(year), Some(month), Some(day)) =
        (number(&[y1, y2, y3, y4]), number(&[m1, m2]), number(&[d1, d2]))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    };
    (1..=longest).contains(&day)
}

fn date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(day), Some(clock)) = (parts.next(), parts.next()) else { return false };
    let hour = clock.get(..2).unwrap_or_default();
    let (minute, second) = (clock.get(3..5).unwrap_or_default(), clock.get(6..8).unwrap_or_default());
    text.len() >= 4 && date(day) && CLOCK.is_match(clock) && hour <= "23" && minute <= "59" && second <= "59"
}

/// A duration of Go's, or numbers with units somewhere in the text.
fn duration(text: &str) -> bool {
    go_duration(text) || loose_duration(text)
}

/// `time.ParseDuration`, as far as whether it succeeds.
fn go_duration(text: &str) -> bool {
    const UNITS: [(&str, u64); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    let most = if negative { 1_u64 << 63 } else { (1_u64 << 63) - 1 };
    let mut total = 0_u64;
    while !rest.is_empty() {
        let split = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (whole, after) = rest.split_at(split(rest));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(split(after)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return false;
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let Some((_, worth)) = UNITS.iter().find(|(name, _)| *name == unit) else { return false };
        let whole = if whole.is_empty() { Ok(0) } else { whole.parse::<u64>() };
        let Some(part) = whole.ok().filter(|v| *v <= 1 << 63).and_then(|v| v.checked_mul(*worth)) else {
            return false;
        };
        let small = format!("0.{fraction}0").parse::<f64>().unwrap_or(0.0) * *worth as f64;
        let Some(sum) =
            part.checked_add(small as u64).filter(|v| *v <= 1 << 63).and_then(|v| total.checked_add(v))
        else {
            return false;
        };
        if sum > 1 << 63 {
            return false;
        }
        total = sum;
        rest = after;
    }
    total <= most
}

/// Whole numbers with units, as Scala writes them, anywhere in the text.
fn loose_duration(text: &str) -> bool {
    const EXACT: [&str; 17] = [
        "ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "sec", "m", "min", "h", "hr", "hour", "d",
        "day", "w",
    ];
    const BEGINNINGS: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let tail = rest.get(start..).unwrap_or_default();
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, after) = tail.split_at(end);
        let after_blank = after.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let letters =
            after_blank.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(after_blank.len());
        let (unit, after_unit) = after_blank.split_at(letters);
        if unit.is_empty() {
            rest = after;
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        let unit = unit.to_lowercase();
        let known = unit == "wk" || EXACT.iter().any(|name| *name == unit);
        found |= known || BEGINNINGS.iter().any(|name| unit.starts_with(name));
        rest = after_unit;
    }
    found
}

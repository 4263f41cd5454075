//! The values of literals.

use crate::ast::Literal;
use crate::lexer::Token;

const UNABLE: &str = "unable to unescape string";
const OCTAL: &str = "unable to unescape octal sequence in string";
const INVALID: &str = "invalid unicode code point";

/// The value of a literal token, or what is wrong with it.
pub fn read(token: Token, sign: &str, text: &str) -> Result<Literal, &'static str> {
    match token {
        Token::True => Ok(Literal::Bool(true)),
        Token::False => Ok(Literal::Bool(false)),
        Token::Null => Ok(Literal::Null),
        Token::Int => {
            let parsed = match text.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16),
                None => format!("{sign}{text}").parse(),
            };
            parsed.map(Literal::Int).map_err(|_| "invalid int literal")
        }
        Token::Uint => {
            let text = text.trim_end_matches(['u', 'U']);
            let parsed = match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => text.parse(),
            };
            parsed.map(Literal::Uint).map_err(|_| "invalid uint literal")
        }
        Token::Float => match format!("{sign}{text}").parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Literal::Double(number)),
            _ => Err("invalid double literal"),
        },
        Token::Bytes => unescape(text.get(1..).unwrap_or_default(), true).map(|b| Literal::Bytes(b.into())),
        _ => {
            let bytes = unescape(text, false)?;
            String::from_utf8(bytes).map(|text| Literal::String(text.into())).map_err(|_| INVALID)
        }
    }
}

/// The content of a quoted string.
fn unescape(text: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let raw = text.starts_with(['r', 'R']);
    let text = if raw { text.get(1..).unwrap_or_default() } else { &text };
    let inner = ["\"\"\"", "'''"]
        .iter()
        .filter(|_| text.len() >= 6)
        .find_map(|quotes| text.strip_prefix(quotes)?.strip_suffix(quotes))
        .or_else(|| text.get(1..text.len().saturating_sub(1)))
        .ok_or(UNABLE)?;
    if raw || !inner.contains('\\') {
        return Ok(inner.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            push(&mut out, character);
            continue;
        }
        let escape = rest.next().ok_or(UNABLE)?;
        let simple = match escape {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '\'' | '"' | '`' | '?' => escape as u8,
            _ => 0,
        };
        if simple != 0 {
            out.push(simple);
            continue;
        }
        let (digits, radix, problem) = match escape {
            'x' | 'X' => (2, 16, UNABLE),
            'u' if !bytes => (4, 16, UNABLE),
            'U' if !bytes => (8, 16, UNABLE),
            '0'..='3' => (2, 8, OCTAL),
            _ => return Err(UNABLE),
        };
        let mut value = if radix == 8 { escape.to_digit(8).unwrap_or(0) } else { 0 };
        for _ in 0..digits {
            let digit = rest.next().and_then(|c| c.to_digit(radix)).ok_or(problem)?;
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        if bytes {
            out.push(value.to_le_bytes()[0]);
        } else {
            push(&mut out, char::from_u32(value).ok_or(INVALID)?);
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

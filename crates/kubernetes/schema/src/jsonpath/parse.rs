//! Reads paths.

use podium_gotmpl::gostr;
use serde_json::Value;

use super::Part;

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Step {
    /// Text, whatever there was before.
    Text(Value),
    /// A value, as often as there was one before.
    Same(Value),
    Identifier(String),
    Field(String),
    All,
    Deep,
    Union(Vec<Vec<Step>>),
    Slice([Bound; 3]),
    Filter {
        left: Vec<Step>,
        right: Vec<Step>,
        operator: String,
    },
}

/// A bound of a slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound {
    pub value: i64,
    pub known: bool,
    pub derived: bool,
}

/// Reads text with paths in braces.
pub fn template(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        if !before.is_empty() {
            parts.push(Part::Text(before.into()));
        }
        let mut reader = Reader { rest: after.get(1..).unwrap_or_default(), steps: Vec::new() };
        reader.action()?;
        parts.push(Part::Steps(reader.steps));
        rest = reader.rest;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.into()));
    }
    Ok(parts)
}

/// Reads the steps of one path.
fn steps(path: &str) -> Result<Vec<Step>, String> {
    match template(&format!("{{{path}}}"))?.into_iter().next() {
        Some(Part::Steps(steps)) => Ok(steps),
        _ => Ok(Vec::new()),
    }
}

struct Reader<'a> {
    rest: &'a str,
    steps: Vec<Step>,
}

fn ends_line(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// Whether a character ends a name.
fn ends(c: char) -> bool {
    ends_line(c) || matches!(c, ' ' | '\t' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word(c: char) -> bool {
    c == '_' || gostr::is_letter(c) || gostr::is_digit(c)
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Reads up to the closing brace.
    fn action(&mut self) -> Result<(), String> {
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(());
            }
            if self.rest.starts_with("[?(") {
                self.filter()?;
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                if matches!(self.steps.last(), Some(Step::Deep)) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.rest = rest;
                self.steps.push(Step::Deep);
                if rest.starts_with(is_word) {
                    self.field();
                }
                continue;
            }
            match self.rest.chars().next() {
                None => return Err("unclosed action".to_owned()),
                Some(c) if ends_line(c) => return Err("unclosed action".to_owned()),
                Some(' ' | '@' | '$') => _ = self.take(1),
                Some('[') => self.brackets()?,
                Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
                Some('.') => {
                    self.take(1);
                    self.field();
                }
                Some(c) if c == '+' || c == '-' || gostr::is_digit(c) => self.number()?,
                Some(c) if is_word(c) => self.word(),
                Some(c) => {
                    return Err(format!("unrecognized character in action: U+{:04X} '{c}'", u32::from(c)));
                }
            }
        }
    }

    /// The name of a field; a backslash takes the next character as it is.
    fn field(&mut self) {
        let mut length = 0;
        let mut chars = self.rest.chars();
        while let Some(c) = chars.next() {
            if c == '\\' {
                length += 1 + chars.next().map_or(0, char::len_utf8);
            } else if ends(c) {
                break;
            } else {
                length += c.len_utf8();
            }
        }
        let name = self.take(length);
        self.steps.push(if name == "*" { Step::All } else { Step::Field(name.replace('\\', "")) });
    }

    fn word(&mut self) {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let word = self.take(end);
        self.steps.push(match word {
            "true" => Step::Same(true.into()),
            "false" => Step::Same(false.into()),
            other => Step::Identifier(other.to_owned()),
        });
    }

    fn number(&mut self) -> Result<(), String> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest.get(sign..).unwrap_or_default();
        let end = digits.find(|c: char| c != '.' && !gostr::is_digit(c)).unwrap_or(digits.len());
        let text = self.take(sign + end);
        let whole = text.parse::<i64>().map(Value::from);
        let number = whole.or_else(|_| text.parse::<f64>().map(Value::from));
        self.steps.push(Step::Same(number.map_err(|_| format!("cannot parse number {text}"))?));
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), String> {
        let bytes = self.rest.as_bytes();
        let mut at = 1;
        loop {
            match bytes.get(at) {
                None | Some(b'\n') => return Err("unterminated quoted string".to_owned()),
                Some(byte) if char::from(*byte) == quote && bytes.get(at - 1) != Some(&b'\\') => break,
                Some(_) => at += 1,
            }
        }
        let text = self.take(at + 1);
        let inner = text.get(1..text.len() - 1).unwrap_or_default();
        let mut rest = inner.as_bytes();
        let mut out = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let quote = u8::try_from(quote).unwrap_or(b'"');
            let Some((rune, wide, after)) = gostr::unquote_char(rest, quote) else {
                return Err(format!("unquote string {text} error invalid syntax"));
            };
            match (u8::try_from(rune), wide) {
                (Ok(byte), false) => out.push(byte),
                _ => gostr::append_rune(&mut out, rune),
            }
            rest = after;
        }
        self.steps.push(Step::Text(String::from_utf8_lossy(&out).into()));
        Ok(())
    }

    fn brackets(&mut self) -> Result<(), String> {
        let close = self.rest.find([']', '\n']).filter(|at| self.rest.as_bytes().get(*at) == Some(&b']'));
        let close = close.ok_or("unterminated array")?;
        let text = self.take(close + 1);
        let text = text.get(1..text.len() - 1).unwrap_or_default();
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let lists = text.split(',').map(|part| steps(&format!("[{}]", part.trim_matches(' '))));
            self.steps.push(Step::Union(lists.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            self.steps.extend(steps(&format!(".{key}"))?);
            return Ok(());
        }
        self.steps.push(Step::Slice(bounds(text)?));
        Ok(())
    }

    fn filter(&mut self) -> Result<(), String> {
        let bytes = self.rest.as_bytes();
        let mut quote = None;
        let mut closed = false;
        let mut at = 3;
        loop {
            match bytes.get(at) {
                None | Some(b'\n') => return Err("unterminated filter".to_owned()),
                Some(byte @ (b'"' | b'\'')) => match quote {
                    None => quote = Some(*byte),
                    Some(open) if open == *byte && bytes.get(at - 1) != Some(&b'\\') => closed = true,
                    Some(_) => {}
                },
                Some(b')') if quote.is_some() == closed => break,
                Some(_) => {}
            }
            at += 1;
        }
        if bytes.get(at + 1) != Some(&b']') {
            return Err("unclosed array expect ]".to_owned());
        }
        let whole = self.take(at + 2);
        let text = whole.get(3..at).unwrap_or_default();
        let sign = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let split = text.find(sign).filter(|at| *at > 0).and_then(|at| {
            let (left, rest) = text.split_at(at);
            // The operator is as long as it can be while something is left to compare with.
            let length = rest.find(|c| !sign(c)).unwrap_or(rest.len().saturating_sub(1));
            let (operator, right) = rest.split_at(length);
            let usable = !operator.is_empty() && !right.is_empty() && !right.contains('\n');
            usable.then_some((left, operator, right))
        });
        self.steps.push(match split {
            None => Step::Filter { left: steps(text)?, right: Vec::new(), operator: "exists".to_owned() },
            Some((left, operator, right)) => {
                Step::Filter { left: steps(left)?, right: steps(right)?, operator: operator.to_owned() }
            }
        });
        Ok(())
    }
}

/// The bounds of a slice: `1`, `-1`, `1:3`, `::2`.
fn bounds(text: &str) -> Result<[Bound; 3], String> {
    let wrong = || format!("invalid array index {text}");
    let parts: Vec<&str> = text.split(':').collect();
    let shape = |part: &&str| part.strip_prefix('-').unwrap_or(part).bytes().all(|b| b.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(shape) {
        return Err(wrong());
    }
    let mut all = [Bound::default(); 3];
    for (index, part) in parts.iter().enumerate() {
        if let Some(bound) = all.get_mut(index)
            && !part.is_empty()
        {
            let value = part.parse().map_err(|_| format!("array index {part} is not a number"))?;
            *bound = Bound { value, known: true, derived: false };
        }
    }
    if let ([first, second, _], 1) = (&mut all, parts.len()) {
        *second = Bound { value: first.value.saturating_add(1), known: true, derived: true };
    }
    Ok(all)
}

//! Text with columns: where libyaml's emitter puts spaces and line breaks, and the four ways to write a scalar.

use super::shape::wide;

/// The step of the indentation.
pub(super) const STEP: usize = 2;

/// The written text and what its end looks like.
pub(super) struct Out {
    pub(super) text: Vec<u8>,
    /// Characters in the last line.
    column: usize,
    /// The last line has nothing but indentation and indicators that count as indentation.
    pub(super) indention: bool,
    /// The text ends in white space (or what counts as such).
    whitespace: bool,
    /// A line is broken at the first opportunity after this column.
    width: usize,
}

impl Out {
    /// What is written goes behind what is there.
    pub(super) fn new(text: Vec<u8>, width: usize) -> Self {
        Self { text, column: 0, indention: true, whitespace: true, width }
    }

    fn put(&mut self, byte: u8) {
        self.text.push(byte);
        self.column += 1;
    }

    fn put_all(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
        self.column += characters(text);
    }

    fn line(&mut self) {
        self.text.push(b'\n');
        self.column = 0;
    }

    /// Goes to column `indent`, on a new line unless the last one is still empty enough.
    pub(super) fn indent(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line();
        }
        if self.column < indent {
            self.text.resize(self.text.len() + indent - self.column, b' ');
            self.column = indent;
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// An indicator such as `-` that belongs to the indentation: what follows may share its line.
    pub(super) fn leader(&mut self, indicator: u8) {
        self.space();
        self.put(indicator);
        self.whitespace = false;
    }

    /// The colon after a simple key.
    pub(super) fn colon(&mut self) {
        self.put(b':');
        self.whitespace = false;
        self.indention = false;
    }

    /// A word that needs no analysis: `true`, `12`, `{}`.
    pub(super) fn word(&mut self, word: &[u8]) {
        self.write_word(|text| text.extend_from_slice(word));
    }

    /// A word of ASCII that is produced in place.
    pub(super) fn write_word(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.space();
        let start = self.text.len();
        write(&mut self.text);
        self.column += self.text.len() - start;
        self.whitespace = false;
        self.indention = false;
    }

    fn space(&mut self) {
        if !self.whitespace {
            self.put(b' ');
        }
    }

    /// Plain style. The text has no break, and no space at either end.
    pub(super) fn plain(&mut self, text: &[u8], indent: usize, fold: bool) {
        self.space();
        if fold {
            self.folded(text, indent, false);
        } else {
            self.put_all(text);
        }
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a text and breaks lines at single spaces. The text has no break; `quoted` says that it stands between
    /// single quotation marks.
    fn folded(&mut self, text: &[u8], indent: usize, quoted: bool) {
        let mut done = 0;
        loop {
            let rest = text.get(done..).unwrap_or_default();
            // Columns only grow: the first single space beyond the width is the one to break at.
            let beyond = reach(rest, self.width.saturating_add(1).saturating_sub(self.column), quoted);
            let Some(at) = beyond.and_then(|beyond| single_space(text, done + beyond)) else {
                return self.part(rest, quoted);
            };
            self.part(text.get(done..at).unwrap_or_default(), quoted);
            self.indent(indent);
            done = at + 1;
        }
    }

    fn part(&mut self, text: &[u8], quoted: bool) {
        if quoted { self.doubled(text) } else { self.put_all(text) }
    }

    /// Single quotation marks.
    pub(super) fn single(&mut self, text: &[u8], indent: usize, fold: bool, multiline: bool) {
        self.space();
        self.put(b'\'');
        if multiline {
            self.single_lines(text, indent, fold);
        } else if fold {
            self.folded(text, indent, true);
        } else {
            self.doubled(text);
        }
        self.put(b'\'');
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a part of a single-quoted text.
    fn doubled(&mut self, text: &[u8]) {
        for part in text.split_inclusive(|&b| b == b'\'') {
            self.put_all(part);
            if part.last() == Some(&b'\'') {
                self.put(b'\'');
            }
        }
    }

    /// A single-quoted text with breaks in it: only LS and PS get here, and they are kept as they are.
    fn single_lines(&mut self, text: &[u8], indent: usize, fold: bool) {
        let mut rest = text;
        while !rest.is_empty() {
            let cut = rest.windows(3).position(is_separator).unwrap_or(rest.len());
            let (line, breaks) = rest.split_at(cut);
            let separators = breaks.chunks(3).take_while(|c| is_separator(c)).count();
            let whole_line = text.len() - rest.len();
            self.single_line(text, whole_line, line.len(), indent, fold);
            let (separators, tail) = breaks.split_at(3 * separators);
            if !separators.is_empty() {
                self.text.extend_from_slice(separators);
                self.column = 0;
                self.indention = true;
                if !tail.is_empty() {
                    self.indent(indent);
                }
            }
            rest = tail;
        }
    }

    /// One of the lines of a longer text, whose neighbours decide whether a space is single.
    fn single_line(&mut self, text: &[u8], start: usize, len: usize, indent: usize, fold: bool) {
        for at in start..start + len {
            let Some(&byte) = text.get(at) else { return };
            let before = at.checked_sub(1).and_then(|i| text.get(i));
            let after = text.get(at + 1);
            if byte == b' '
                && fold
                && self.column > self.width
                && before.is_some_and(|&b| b != b' ')
                && after.is_some_and(|&b| b != b' ')
            {
                self.indent(indent);
                continue;
            }
            if byte == b'\'' {
                self.put(b'\'');
            }
            self.text.push(byte);
            self.column += usize::from(byte & 0xc0 != 0x80);
            if byte != b' ' {
                self.indention = false;
            }
        }
    }

    /// Double quotation marks.
    pub(super) fn double(&mut self, text: &[u8], indent: usize, fold: bool) {
        self.space();
        self.put(b'"');
        // libyaml looks for a byte order mark at the wrong place: one at the start makes it escape everything.
        let marked = text.starts_with(b"\xef\xbb\xbf");
        let mut spaces = false;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let rest = text.get(at..).unwrap_or_default();
            let (width, escaped) = match byte {
                b'"' | b'\\' | 0..0x20 | 0x7f => (1, true),
                0..0x80 if marked => (1, true),
                b' ' => (1, false),
                0..0x80 => (rest.iter().take_while(|&&b| is_ordinary(b)).count(), false),
                _ => {
                    let wide = wide(rest);
                    (wide.len, marked || !wide.printable || wide.breaks)
                }
            };
            if escaped {
                self.escape(rest);
                spaces = false;
            } else if byte == b' ' {
                let inside = at > 0 && at + 1 < text.len();
                if fold && !spaces && self.column > self.width && inside {
                    self.indent(indent);
                    if text.get(at + 1) == Some(&b' ') {
                        self.put(b'\\');
                    }
                } else {
                    self.put(b' ');
                }
                spaces = true;
            } else {
                self.put_all(rest.get(..width).unwrap_or_default());
                spaces = false;
            }
            at += width;
        }
        self.put(b'"');
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes the escape of the character that starts here.
    fn escape(&mut self, rest: &[u8]) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        let Some((c, _)) = crate::unicode::decode(rest) else { return };
        self.put(b'\\');
        let short = match c {
            '\0' => b'0',
            '\u{7}' => b'a',
            '\u{8}' => b'b',
            '\t' => b't',
            '\n' => b'n',
            '\u{b}' => b'v',
            '\u{c}' => b'f',
            '\r' => b'r',
            '\u{1b}' => b'e',
            '"' => b'"',
            '\\' => b'\\',
            '\u{85}' => b'N',
            '\u{a0}' => b'_',
            '\u{2028}' => b'L',
            '\u{2029}' => b'P',
            c => {
                let code = c as u32;
                let (letter, digits) = match code {
                    0..0x100 => (b'x', 2),
                    0x100..0x1_0000 => (b'u', 4),
                    _ => (b'U', 8),
                };
                self.put(letter);
                for digit in (0..digits).rev() {
                    self.put(HEX[(code >> (4 * digit)) as usize & 15]);
                }
                return;
            }
        };
        self.put(short);
    }

    /// A literal block.
    pub(super) fn literal(&mut self, text: &[u8], indent: usize) {
        self.space();
        self.put(b'|');
        if text.first() == Some(&b' ') || break_len(text) > 0 {
            self.put(b'0' + STEP as u8);
        }
        match before_last_break(text) {
            None => self.put(b'-'),
            Some(rest) if rest.is_empty() || before_last_break(rest).is_some() => self.put(b'+'),
            Some(_) => {}
        }
        self.line();
        self.indention = true;
        self.whitespace = true;
        let mut rest = text;
        while !rest.is_empty() {
            let cut = next_break(rest);
            let (line, breaks) = rest.split_at(cut);
            if !line.is_empty() {
                self.indent(indent);
                self.put_all(line);
                self.indention = false;
            }
            let (one, tail) = breaks.split_at(break_len(breaks));
            if !one.is_empty() {
                self.text.extend_from_slice(one);
                self.column = 0;
                self.indention = true;
            }
            rest = tail;
        }
    }

    /// A tag before a scalar.
    pub(super) fn tag(&mut self, tag: &[u8]) {
        self.word(tag);
    }

    /// Ends the document.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.indent(0);
        self.text
    }
}

/// Whether a byte stands for itself between double quotation marks and is no space.
fn is_ordinary(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~')
}

fn characters(text: &[u8]) -> usize {
    if text.is_ascii() { text.len() } else { text.iter().filter(|&&b| b & 0xc0 != 0x80).count() }
}

/// Behind which byte a text has filled so many columns; nothing if it does not. A quotation mark may take two.
fn reach(text: &[u8], columns: usize, quoted: bool) -> Option<usize> {
    if text.len() < columns && !quoted {
        return None;
    }
    let near = text.get(..columns).unwrap_or(text);
    if near.len() == columns && near.is_ascii() && !(quoted && near.contains(&b'\'')) {
        return Some(columns);
    }
    let mut filled = 0;
    for (at, byte) in text.iter().enumerate() {
        if filled >= columns {
            return Some(at);
        }
        filled += usize::from(byte & 0xc0 != 0x80) + usize::from(quoted && *byte == b'\'');
    }
    (filled >= columns).then_some(text.len())
}

/// The first space from here on that has no space beside it and is not at the end.
fn single_space(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from.max(1);
    loop {
        at += memchr::memchr(b' ', text.get(at..)?)?;
        match text.get(at - 1..at + 2) {
            Some([b' ', ..] | [.., b' ']) => at += 1,
            Some(_) => return Some(at),
            None => return None,
        }
    }
}

fn is_separator(text: &[u8]) -> bool {
    matches!(text, [0xe2, 0x80, 0xa8 | 0xa9])
}

/// The length of the line break that starts here; 0 if none does. CR and NEL never stand in a block.
fn break_len(text: &[u8]) -> usize {
    match text {
        [b'\n', ..] => 1,
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
        _ => 0,
    }
}

/// Where the next line break is, or the end.
fn next_break(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|t| memchr::memchr2(b'\n', 0xe2, t)) {
        at += found;
        if break_len(text.get(at..).unwrap_or_default()) > 0 {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// What stands before the line break that ends a text.
fn before_last_break(text: &[u8]) -> Option<&[u8]> {
    match text {
        [rest @ .., b'\n'] | [rest @ .., 0xe2, 0x80, 0xa8 | 0xa9] => Some(rest),
        _ => None,
    }
}

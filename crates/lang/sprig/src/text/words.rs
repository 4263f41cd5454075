//! Names in camel case, snake case and kebab case.

use podium_gotmpl::gostr::{
    append_rune, decode_char, is_letter, is_number, is_punct, is_space, is_upper, runes, to_lower, to_upper,
};

fn is_connector(c: char) -> bool {
    matches!(c, '-' | '_') || is_space(c)
}

/// Letters that form words with their neighbours, unlike those of Chinese.
fn is_alphabetic(c: char) -> bool {
    let chinese = matches!(c, '\u{3400}'..='\u{4D85}' | '\u{4E00}'..='\u{9FCC}' | '\u{20000}'..='\u{2B81D}');
    is_letter(c) && !chinese
}

/// The words joined, each with a capital; `camelcase` of Sprig.
pub fn pascal_case(text: &[u8]) -> Vec<u8> {
    join_words(text, true)
}

/// The words joined, each but the first with a capital.
pub fn camel_case(text: &[u8]) -> Vec<u8> {
    join_words(text, false)
}

fn join_words(text: &[u8], big: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut push = |c: char| append_rune(&mut out, u32::from(c));
    let mut letters = runes(text).map(|(_, c, _)| c);
    // Connectors in front stay. If there is nothing else, the last one is written twice.
    let mut last = None;
    let first = letters.find(|c| {
        let connector = is_connector(*c);
        if connector {
            push(*c);
            last = Some(*c);
        }
        !connector
    });
    let Some(first) = first else {
        if let Some(last) = last {
            push(last);
        }
        return out;
    };
    // Inside a run of capitals all but the first become small.
    let mut in_capitals = is_upper(first);
    let mut previous = if big { to_upper(first) } else { to_lower(first) };
    for c in letters {
        let next = match (is_connector(previous), is_connector(c)) {
            (true, true) => {
                push(previous);
                c
            }
            (true, false) => {
                in_capitals = is_upper(c);
                to_upper(c)
            }
            (false, _) => {
                push(previous);
                in_capitals = in_capitals && is_upper(c);
                if in_capitals { to_lower(c) } else { c }
            }
        };
        previous = next;
    }
    push(if in_capitals && !big { to_lower(previous) } else { previous });
    out
}

/// The words in small letters with `_` between them.
pub fn snake_case(text: &[u8]) -> Vec<u8> {
    separate_words(text, '_')
}

/// The words in small letters with `-` between them.
pub fn kebab_case(text: &[u8]) -> Vec<u8> {
    separate_words(text, '-')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing, or only bytes that are no text.
    Invalid,
    Number,
    /// Begins with a capital.
    Upper,
    Alphabetic,
    Connector,
    Punctuation,
    Other,
}

/// Cuts text into words from the front.
struct Words<'a>(&'a [u8]);

/// The first character that is one, and the bytes up to its end; `previous` if there is none.
fn next_valid(text: &[u8], previous: char) -> (char, usize) {
    for (at, c, width) in runes(text) {
        if c != char::REPLACEMENT_CHARACTER {
            return (c, at + width);
        }
    }
    (previous, text.len())
}

impl<'a> Words<'a> {
    fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    fn next(&mut self) -> (Kind, &'a [u8]) {
        let (kind, len) = first_word(self.0);
        let (word, rest) = self.0.split_at_checked(len).unwrap_or((self.0, &[]));
        self.0 = rest;
        (kind, word)
    }
}

/// Goes on from `at` while characters are members; returns the end, the last character seen and its width.
fn run(text: &[u8], mut at: usize, mut c: char, member: impl Fn(char) -> bool) -> (usize, char, usize) {
    let mut last_width = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (next, width) = next_valid(rest, c);
        c = next;
        if !member(c) {
            break;
        }
        at += width;
        last_width = width;
    }
    (at, c, last_width)
}

fn first_word(text: &[u8]) -> (Kind, usize) {
    let (c, len) = next_valid(text, char::REPLACEMENT_CHARACTER);
    let small = |c: char| is_alphabetic(c) && !is_upper(c);
    if c == char::REPLACEMENT_CHARACTER {
        (Kind::Invalid, len)
    } else if is_connector(c) {
        (Kind::Connector, run(text, len, c, is_connector).0)
    } else if is_punct(c) {
        (Kind::Punctuation, run(text, len, c, is_punct).0)
    } else if is_upper(c) {
        (Kind::Upper, capitalised_len(text, c, len))
    } else if is_alphabetic(c) {
        (Kind::Alphabetic, run(text, len, c, small).0)
    } else if is_number(c) {
        (Kind::Number, run(text, len, c, is_number).0)
    } else {
        let other = |c: char| !(is_connector(c) || is_alphabetic(c) || is_number(c) || is_punct(c));
        (Kind::Other, run(text, len, c, other).0)
    }
}

/// The length of a word that begins with a capital: a capital and small letters, or a run of capitals without the
/// one that begins the next word.
fn capitalised_len(text: &[u8], first: char, len: usize) -> usize {
    let Some(rest) = text.get(len..).filter(|rest| !rest.is_empty()) else { return len };
    let (second, _) = next_valid(rest, first);
    if is_upper(second) {
        let (end, after, last_width) = run(text, len, first, is_upper);
        if end < text.len() && is_alphabetic(after) { end - last_width } else { end }
    } else if is_alphabetic(second) {
        run(text, len, first, |c| is_alphabetic(c) && !is_upper(c)).0
    } else {
        len
    }
}

struct Separated {
    out: Vec<u8>,
    connector: char,
}

impl Separated {
    fn push_connector(&mut self) {
        append_rune(&mut self.out, u32::from(self.connector));
    }

    fn push(&mut self, kind: Kind, word: &[u8]) {
        if !matches!(kind, Kind::Upper | Kind::Connector) {
            self.out.extend(word);
            return;
        }
        let connector = self.connector;
        self.out.extend(super::case::map(word, |c| match c {
            c if is_connector(c) => connector,
            c if is_upper(c) => to_lower(c),
            c => c,
        }));
    }

    /// Small letters and numbers that follow a number belong to it.
    fn push_alphanumeric<'a>(
        &mut self,
        words: &mut Words<'a>,
        mut next: (Kind, &'a [u8]),
    ) -> (Kind, &'a [u8]) {
        while matches!(next.0, Kind::Alphabetic | Kind::Number) {
            self.push(next.0, next.1);
            next = words.next();
        }
        if !matches!(next.0, Kind::Invalid | Kind::Punctuation | Kind::Connector) {
            self.push_connector();
        }
        next
    }
}

fn separate_words(text: &[u8], connector: char) -> Vec<u8> {
    let mut result = Separated { out: Vec::with_capacity(text.len()), connector };
    let mut words = Words(text);
    let mut word = words.next();
    while !words.is_done() {
        let previous = word;
        result.push(previous.0, previous.1);
        word = words.next();
        match (previous.0, word.0) {
            (Kind::Number, _) => word = result.push_alphanumeric(&mut words, word),
            (Kind::Connector | Kind::Punctuation, _) => {}
            (_, Kind::Number) if words.is_done() => {}
            (_, Kind::Number) => {
                let number = word;
                word = words.next();
                if word.0 == Kind::Alphabetic {
                    result.push_connector();
                    result.push(number.0, number.1);
                    word = result.push_alphanumeric(&mut words, word);
                } else {
                    // A number before a capital belongs to the word before it.
                    result.push(number.0, number.1);
                    if !matches!(word.0, Kind::Connector | Kind::Punctuation) {
                        result.push_connector();
                    }
                }
            }
            (_, Kind::Connector | Kind::Punctuation) => {}
            _ => result.push_connector(),
        }
    }
    result.push(word.0, word.1);
    result.out
}

/// `shuffle`: the characters in another order; `random` gives a number below its argument.
pub fn shuffle(text: &[u8], mut random: impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut letters: Vec<char> = Vec::new();
    let mut rest = text;
    while let (c, width @ 1..) = decode_char(rest) {
        letters.push(c);
        rest = rest.get(width..).unwrap_or_default();
    }
    for at in (1..letters.len()).rev() {
        letters.swap(at, random(at + 1).min(at));
    }
    letters.into_iter().collect::<String>().into_bytes()
}

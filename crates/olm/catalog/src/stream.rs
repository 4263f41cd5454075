//! Splits a file into documents like Kubernetes' YAML-or-JSON decoder.
//!
//! A file that starts with `{` is a stream of JSON values, any other file is YAML with `---` separators.
//! Current opm retries a JSON file as YAML after at most one value, so that YAML flow mappings work.

use podium_gotmpl::gostr;
use podium_goyaml::json as gojson;
use podium_goyaml::yaml::{self, Origin};

use crate::compat::OpmCompat;
use crate::header::{MetaHeader, read_header};
use crate::json::{self, Document, ParseStop, SourceText};

/// Number of bytes in which the decoder looks for a brace.
const PEEK_LEN: usize = 4096;

/// A decoded document with its header.
#[derive(Debug)]
pub struct DecodedMeta {
    /// Document.
    pub document: Document,
    /// Header.
    pub header: MetaHeader,
    /// Whether this is an empty YAML document.
    pub blank: bool,
}

/// A decoding error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Go's message.
    pub message: String,
    /// Line.
    pub line: u32,
}

enum Mode {
    Json,
    Yaml,
    Done,
}

/// Iterator over the documents of a file. Stops after the first error.
pub struct DocumentStream<'t> {
    text: &'t SourceText,
    at: usize,
    line: u32,
    count: usize,
    mode: Mode,
    compat: OpmCompat,
}

impl<'t> DocumentStream<'t> {
    /// Creates a stream.
    pub fn new(text: &'t SourceText, compat: OpmCompat) -> Self {
        let prefix = text.bytes.get(..PEEK_LEN.min(text.bytes.len())).unwrap_or_default();
        let mode = if is_json(prefix) { Mode::Json } else { Mode::Yaml };
        Self { text, at: 0, line: 1, count: 0, mode, compat }
    }

    fn rest(&self) -> &'t [u8] {
        self.text.bytes.get(self.at..).unwrap_or_default()
    }

    fn next_json(&mut self) -> Option<Result<DecodedMeta, DecodeError>> {
        let (text, without_offset, line) = match json::parse(self.text, self.at, self.line) {
            Err(ParseStop::End) => return None,
            Ok((document, end)) => {
                let raw = || self.text.bytes.get(self.at..end.at).unwrap_or_default().trim_ascii().to_vec();
                let line = document.root().line();
                match read_header(&document, raw) {
                    Ok(header) => {
                        (self.at, self.line) = (end.at, end.line);
                        self.count += 1;
                        return Some(Ok(DecodedMeta { document, header, blank: false }));
                    }
                    Err(text) => (text.clone(), text, line),
                }
            }
            Err(ParseStop::Fallback) => match self.decode_with_go_json() {
                Ok(None) => return None,
                Ok(Some(item)) => return Some(Ok(item)),
                Err(failure) => failure,
            },
        };
        let reject = |message: String| Some(Err(DecodeError { message, line }));
        if self.compat == OpmCompat::V151 {
            return reject(text);
        }
        if self.count > 1 {
            return reject(without_offset);
        }
        if !self.consume_whitespace() {
            return reject(text);
        }
        self.mode = Mode::Yaml;
        match self.next_yaml() {
            Some(Err(_)) => reject(text),
            other => other,
        }
    }

    /// Decodes a value with the Go-compatible parser, where the token parser gave up. An error has the
    /// message with and without offset, and the line.
    fn decode_with_go_json(&mut self) -> Result<Option<DecodedMeta>, (String, String, u32)> {
        match gojson::parse_prefix(self.rest(), 0) {
            Ok((node, len)) => {
                let raw = self.rest().get(..len).unwrap_or_default().trim_ascii().to_vec();
                let line = self.line_at(self.at + len);
                let to_failure = |text: String| (text.clone(), text, line);
                let document =
                    Document::from_node(&node).ok_or_else(|| to_failure("too large".to_owned()))?;
                let header = read_header(&document, || raw).map_err(to_failure)?;
                self.line = line;
                self.at += len;
                self.count += 1;
                Ok(Some(DecodedMeta { document, header, blank: false }))
            }
            Err(gojson::Error::PrefixEmpty) => Ok(None),
            Err(error @ gojson::Error::Character { offset, .. }) => {
                let offset = self.at + offset;
                Err((format!("json: offset {offset}: {error}"), error.to_string(), self.line_at(offset)))
            }
            Err(error @ gojson::Error::Type { .. }) => {
                let text = crate::header::pretty_unmarshal_error(
                    &out_of_range_number(self.rest()),
                    &error.to_string(),
                );
                Err((text.clone(), text, self.line))
            }
            Err(error) => Err((error.to_string(), error.to_string(), self.line_at(self.text.bytes.len()))),
        }
    }

    fn line_at(&self, offset: usize) -> u32 {
        let between = self.text.bytes.get(self.at..offset.max(1) - 1).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', between).count();
        self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX))
    }

    /// Skips whitespace up to the first line break and reports whether data follows. Like upstream, ignores
    /// fewer than four bytes.
    fn consume_whitespace(&mut self) -> bool {
        loop {
            let rest = self.rest();
            if rest.len() < 4 {
                return false;
            }
            let (c, stream_type) = gostr::decode_char(rest);
            if c == char::REPLACEMENT_CHARACTER {
                return false;
            }
            if !gostr::is_space(c) {
                return true;
            }
            self.at += stream_type;
            if c == '\n' {
                self.line = self.line.saturating_add(1);
                return true;
            }
        }
    }

    fn next_yaml(&mut self) -> Option<Result<DecodedMeta, DecodeError>> {
        let rest = self.rest();
        let mut documents = yaml::documents(rest);
        let reject = |message: String, line: u32| Some(Err(DecodeError { message, line }));
        let document = match documents.next()? {
            Ok(document) => document,
            Err(error) => return reject(error.to_string(), self.line + error.pos().line.max(1) - 1),
        };
        let origin = Origin { source: 0, first_line: self.line + document.first_line - 1 };
        let (consumed, lines) = documents.position();
        self.at += consumed;
        self.line = self.line.saturating_add(lines);
        let node = match yaml::parse(&document.text, origin) {
            Ok(node) => node,
            Err(error) => return reject(error.to_string(), error.pos().line),
        };
        let line = node.pos.line.max(origin.first_line);
        let Some(json_document) = Document::from_node(&node) else {
            return reject("too large".to_owned(), line);
        };
        let raw = || gojson::to_string(&&node).unwrap_or_default();
        match read_header(&json_document, raw) {
            Ok(header) => {
                self.count += 1;
                let blank = json_document.root().is_null();
                Some(Ok(DecodedMeta { document: json_document, header, blank }))
            }
            Err(text) => reject(format!("error unmarshaling JSON: while decoding JSON: {text}"), line),
        }
    }
}

/// Reports whether the first non-whitespace character is a brace.
pub fn is_json(text: &[u8]) -> bool {
    let is_not_space = |&(_, c, _): &(usize, char, usize)| !gostr::is_space(c);
    gostr::runes(text).find(is_not_space).is_some_and(|(_, c, _)| c == '{')
}

/// Returns the first value of a text with a number outside of the float64 range, and the offset that Go
/// reports for it.
fn out_of_range_number(text: &[u8]) -> (Vec<u8>, Option<usize>) {
    let text = text.trim_ascii_start();
    let (mut at, mut depth, mut quoted, mut found) = (0, 0_usize, false, None);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    at += 1;
                    break;
                }
            }
            b'-' | b'0'..=b'9' if !quoted => {
                let rest = text.get(at..).unwrap_or_default();
                let digit = |b: &&u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let len = rest.iter().take_while(digit).count();
                if found.is_none() && gojson::parse(rest.get(..len).unwrap_or_default(), 0).is_err() {
                    found = Some(at + len + 1);
                }
                at += len - 1;
            }
            _ => {}
        }
        at += 1;
    }
    (text.get(..at).unwrap_or_default().to_vec(), found)
}

impl Iterator for DocumentStream<'_> {
    type Item = Result<DecodedMeta, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = match self.mode {
            Mode::Json => self.next_json(),
            Mode::Yaml => self.next_yaml(),
            Mode::Done => None,
        };
        if !matches!(item, Some(Ok(_))) {
            self.mode = Mode::Done;
        }
        item
    }
}

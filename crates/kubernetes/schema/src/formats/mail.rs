//! Mail addresses, as RFC 5322 has them and Go reads them.

/// Whether text is one address, with or without a name before it.
pub fn address(text: &str) -> bool {
    let mut reader = Reader { rest: text };
    let Some(found) = reader.address() else { return false };
    found && reader.skip_all() && reader.rest.is_empty()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Blanks and comments.
    fn skip_all(&mut self) -> bool {
        self.blanks();
        while self.peek() == Some('(') {
            if !self.comment() {
                return false;
            }
            self.blanks();
        }
        true
    }

    fn comment(&mut self) -> bool {
        let mut depth = 0_usize;
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    chars.next();
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return true;
            }
        }
        false
    }

    /// An address; nothing if it is broken, false if there is none where one should be.
    fn address(&mut self) -> Option<bool> {
        self.blanks();
        if self.rest.is_empty() {
            return None;
        }
        let start = self.rest;
        if self.bare() {
            return Some(true);
        }
        self.rest = start;
        if self.peek() != Some('<') && !self.phrase() {
            return None;
        }
        self.blanks();
        if self.skip(':') {
            return self.group();
        }
        if !self.skip('<') || !self.bare() || !self.skip('>') {
            return None;
        }
        Some(true)
    }

    /// The members of a group; one that has a single member stands for it.
    fn group(&mut self) -> Option<bool> {
        let mut members = 0;
        loop {
            self.blanks();
            if self.skip(';') {
                return Some(members == 1);
            }
            let start = self.rest;
            if !self.bare() {
                self.rest = start;
                if self.peek() != Some('<') && !self.phrase() {
                    return None;
                }
                self.blanks();
                if !self.skip('<') || !self.bare() || !self.skip('>') {
                    return None;
                }
            }
            members += 1;
            self.skip_all();
            if !self.skip(',') && self.peek() != Some(';') {
                return None;
            }
        }
    }

    /// `local@domain`.
    fn bare(&mut self) -> bool {
        self.blanks();
        let local = match self.peek() {
            None => return false,
            Some('"') => self.quoted().is_some_and(|text| !text.is_empty()),
            Some(_) => self.atom(true, false).is_some(),
        };
        if !local || !self.skip('@') {
            return false;
        }
        self.blanks();
        match self.peek() {
            None => false,
            Some('[') => self.literal(),
            Some(_) => self.atom(true, false).is_some(),
        }
    }

    fn literal(&mut self) -> bool {
        let Some(end) = self.rest.find(']') else { return false };
        let inner = self.rest.get(1..end).unwrap_or_default();
        let fits = inner.parse::<std::net::IpAddr>().is_ok();
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        fits
    }

    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                c if escaped => {
                    if !(visible(c) || blank(c)) {
                        return None;
                    }
                    text.push(c);
                    escaped = false;
                }
                '"' => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return Some(text);
                }
                '\\' => escaped = true,
                c if (visible(c) && c != '"' && c != '\\') || blank(c) => text.push(c),
                _ => return None,
            }
        }
        None
    }

    /// An atom, perhaps with dots between its parts.
    fn atom(&mut self, dots: bool, lax: bool) -> Option<()> {
        let end = self.rest.find(|c: char| !(atom_char(c) || dots && c == '.')).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        if atom.is_empty() {
            return None;
        }
        if !lax && (atom.starts_with('.') || atom.ends_with('.') || atom.contains("..")) {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// The name before an address: words, quoted or not.
    fn phrase(&mut self) -> bool {
        let mut any = false;
        loop {
            if any && !self.skip_all() {
                return false;
            }
            self.blanks();
            let word = match self.peek() {
                None => false,
                Some('"') => self.quoted().is_some(),
                Some(_) => self.atom(true, true).is_some(),
            };
            if !word {
                return any;
            }
            any = true;
        }
    }
}

fn visible(c: char) -> bool {
    ('!'..='~').contains(&c) || !c.is_ascii()
}

fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn atom_char(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}

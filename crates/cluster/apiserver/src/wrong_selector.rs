//! What the server says of a label selector that it cannot read.

/// The pieces of a selector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Word,
    In,
    NotIn,
    Comma,
    Not,
    Sign,
    Open,
    Close,
    End,
    Error,
}

const SIGNS: &[(&str, Piece)] = &[
    ("==", Piece::Sign),
    ("=", Piece::Sign),
    ("!=", Piece::Sign),
    ("!", Piece::Not),
    (">", Piece::Sign),
    ("<", Piece::Sign),
    (",", Piece::Comma),
    ("(", Piece::Open),
    (")", Piece::Close),
];

const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

/// The first thing that is wrong with the form of a selector; nothing if its form is right.
pub fn why(text: &str) -> Option<String> {
    let mut pieces = Pieces { all: pieces(text), at: 0 };
    loop {
        let (piece, word) = pieces.peek();
        match piece {
            Piece::Word | Piece::In | Piece::NotIn | Piece::Not => {
                if let Some(wrong) = pieces.requirement() {
                    return Some(format!("unable to parse requirement: {wrong}"));
                }
                match pieces.next() {
                    (Piece::End, _) => return None,
                    (Piece::Comma, _) => {
                        let (next, word) = pieces.peek();
                        if !matches!(next, Piece::Word | Piece::In | Piece::NotIn | Piece::Not) {
                            return Some(format!("found '{word}', expected: identifier after ','"));
                        }
                    }
                    (_, word) => return Some(format!("found '{word}', expected: ',' or 'end of string'")),
                }
            }
            Piece::End => return None,
            _ => return Some(format!("found '{word}', expected: !, identifier, or 'end of string'")),
        }
    }
}

struct Pieces {
    all: Vec<(Piece, String)>,
    at: usize,
}

impl Pieces {
    fn peek(&self) -> (Piece, String) {
        self.all.get(self.at).cloned().unwrap_or((Piece::End, String::new()))
    }

    fn next(&mut self) -> (Piece, String) {
        let next = self.peek();
        self.at += 1;
        next
    }

    /// One requirement; what is wrong with it.
    fn requirement(&mut self) -> Option<String> {
        let (mut piece, mut word) = self.next();
        let not = piece == Piece::Not;
        if not {
            (piece, word) = self.next();
        }
        if !matches!(piece, Piece::Word | Piece::In | Piece::NotIn) {
            return Some(format!("found '{word}', expected: identifier"));
        }
        if not || matches!(self.peek().0, Piece::End | Piece::Comma) {
            return None;
        }
        match self.next() {
            (Piece::In | Piece::NotIn, _) => self.values(),
            (Piece::Sign, _) => match self.peek().0 {
                Piece::End | Piece::Comma => None,
                _ => match self.next() {
                    (Piece::Word | Piece::In | Piece::NotIn, _) => None,
                    (_, word) => Some(format!("found '{word}', expected: identifier")),
                },
            },
            (_, word) => Some(format!("found '{word}', expected: {OPERATORS}")),
        }
    }

    /// Values in brackets.
    fn values(&mut self) -> Option<String> {
        let (piece, word) = self.next();
        if piece != Piece::Open {
            return Some(format!("found '{word}' expected: '('"));
        }
        let (first, word) = self.peek();
        match first {
            Piece::Close => {
                self.next();
                return None;
            }
            Piece::Word | Piece::In | Piece::NotIn | Piece::Comma => {}
            _ => return Some(format!("found '{word}', expected: ',', ')' or identifier")),
        }
        loop {
            match self.next() {
                (Piece::Word | Piece::In | Piece::NotIn, _) => match self.peek() {
                    (Piece::Comma, _) => {}
                    (Piece::Close, _) => break,
                    (_, word) => return Some(format!("found '{word}', expected: ',' or ')'")),
                },
                (Piece::Comma, _) => {
                    if self.peek().0 == Piece::Close {
                        break;
                    }
                }
                (_, word) => return Some(format!("found '{word}', expected: ',', or identifier")),
            }
        }
        self.next();
        None
    }
}

fn is_sign(letter: char) -> bool {
    "=!(),><".contains(letter)
}

fn pieces(text: &str) -> Vec<(Piece, String)> {
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.chars().next() else { break };
        let end = if is_sign(first) {
            let signs = rest.find(|letter| !is_sign(letter)).unwrap_or(rest.len());
            let signs = rest.get(..signs).unwrap_or_default();
            // The longest sign that there is.
            match SIGNS.iter().filter(|(sign, _)| signs.starts_with(sign)).max_by_key(|(sign, _)| sign.len())
            {
                Some((sign, piece)) => {
                    all.push((*piece, (*sign).to_owned()));
                    sign.len()
                }
                None => {
                    all.push((Piece::Error, format!("error expected: keyword found '{signs}'")));
                    signs.len()
                }
            }
        } else {
            let is_end = |letter: char| is_sign(letter) || letter.is_ascii_whitespace();
            let end = rest.find(is_end).unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or_default();
            let piece = match word {
                "in" => Piece::In,
                "notin" => Piece::NotIn,
                _ => Piece::Word,
            };
            all.push((piece, word.to_owned()));
            end
        };
        rest = rest.get(end..).unwrap_or_default();
    }
    all.push((Piece::End, String::new()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_what_it_found() {
        for (text, words) in [
            ("a=b,=a", "found '=', expected: identifier after ','"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"),
            ("n gt 1", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
            ("a=b,(", "found '(', expected: identifier after ','"),
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ] {
            assert_eq!(why(text).as_deref(), Some(words), "{text}");
        }
        for text in ["", "a", "!a", "a in (b,c),d notin ()", "a==b,c!=d,e>1", "in=notin", "a in (,b)", "a="] {
            assert_eq!(why(text), None, "{text}");
        }
    }
}

//! Lines out of pieces.

/// As much memory as is kept between lines.
const KEPT: usize = 64 << 10;

/// Cuts a stream of bytes at its line ends; the line that is not complete yet is kept.
pub(super) struct Lines {
    rest: Vec<u8>,
    longest: usize,
}

impl Lines {
    /// Lines of at most so many bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self { rest: Vec::new(), longest }
    }

    /// Gives away every line that the next piece completes; says whether all lines, also the one that goes on,
    /// are short enough.
    pub(super) fn take<E>(
        &mut self,
        mut piece: &[u8],
        mut line: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (head, tail) =
                (piece.get(..end).unwrap_or_default(), piece.get(end + 1..).unwrap_or_default());
            if self.rest.len() + head.len() > self.longest {
                return Ok(false);
            }
            if self.rest.is_empty() {
                line(head)?;
            } else {
                self.rest.extend_from_slice(head);
                line(&self.rest)?;
                self.rest.clear();
                self.rest.shrink_to(KEPT);
            }
            piece = tail;
        }
        if self.rest.len() + piece.len() > self.longest {
            return Ok(false);
        }
        self.rest.extend_from_slice(piece);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str], longest: usize) -> (Vec<String>, bool) {
        let mut found = Vec::new();
        let mut lines = Lines::new(longest);
        let short = pieces.iter().all(|piece| {
            let line = |line: &[u8]| {
                found.push(String::from_utf8_lossy(line).into_owned());
                Ok::<(), ()>(())
            };
            lines.take(piece.as_bytes(), line).unwrap()
        });
        (found, short)
    }

    #[test]
    fn lines_do_not_depend_on_where_pieces_end() {
        for pieces in [&["ab\nc\n\nd"][..], &["a", "b\nc", "\n", "\nd"], &["ab", "\n", "c\n\n", "d"]] {
            assert_eq!(
                lines(pieces, 2),
                (vec!["ab".to_owned(), "c".to_owned(), String::new()], true),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn a_long_line_is_noticed_before_its_end() {
        assert_eq!(lines(&["a\n", "abc", "d"], 3), (vec!["a".to_owned()], false));
        assert_eq!(lines(&["ab", "cd\n"], 3), (vec![], false));
    }
}

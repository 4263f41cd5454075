//! Splits a chunked byte stream into lines.

/// Buffer capacity that is retained between lines.
const RETAINED_CAPACITY: usize = 64 << 10;

/// Line splitter that buffers the incomplete last line.
pub(super) struct LineSplitter {
    partial: Vec<u8>,
    max_len: usize,
}

impl LineSplitter {
    /// Creates a splitter for lines of at most `max_len` bytes.
    pub(super) fn new(max_len: usize) -> Self {
        Self { partial: Vec::new(), max_len }
    }

    /// Passes on every line that the chunk completes. Returns false once a line, complete or not, exceeds the limit.
    pub(super) fn push<E>(
        &mut self,
        mut chunk: &[u8],
        mut on_line: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (head, tail) =
                (chunk.get(..end).unwrap_or_default(), chunk.get(end + 1..).unwrap_or_default());
            if self.partial.len() + head.len() > self.max_len {
                return Ok(false);
            }
            if self.partial.is_empty() {
                on_line(head)?;
            } else {
                self.partial.extend_from_slice(head);
                on_line(&self.partial)?;
                self.partial.clear();
                self.partial.shrink_to(RETAINED_CAPACITY);
            }
            chunk = tail;
        }
        if self.partial.len() + chunk.len() > self.max_len {
            return Ok(false);
        }
        self.partial.extend_from_slice(chunk);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&str], max_len: usize) -> (Vec<String>, bool) {
        let mut found = Vec::new();
        let mut lines = LineSplitter::new(max_len);
        let within_limit = chunks.iter().all(|chunk| {
            let line = |line: &[u8]| {
                found.push(String::from_utf8_lossy(line).into_owned());
                Ok::<(), ()>(())
            };
            lines.push(chunk.as_bytes(), line).unwrap()
        });
        (found, within_limit)
    }

    #[test]
    fn splits_lines_across_chunk_boundaries() {
        for chunks in [&["ab\nc\n\nd"][..], &["a", "b\nc", "\n", "\nd"], &["ab", "\n", "c\n\n", "d"]] {
            assert_eq!(
                lines(chunks, 2),
                (vec!["ab".to_owned(), "c".to_owned(), String::new()], true),
                "{chunks:?}"
            );
        }
    }

    #[test]
    fn rejects_long_line_before_its_end() {
        assert_eq!(lines(&["a\n", "abc", "d"], 3), (vec!["a".to_owned()], false));
        assert_eq!(lines(&["ab", "cd\n"], 3), (vec![], false));
    }
}

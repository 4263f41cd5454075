//! Compression whose output depends on nothing but its input.
//!
//! What is large is compressed in pieces, on all processors at once. Each piece is a member of its own, and members that
//! follow each other are one gzip file (RFC 1952, 2.2): everybody who reads layers reads them so.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

use flate2::{Compression, GzBuilder};

/// The level is part of what makes bytes the same.
const LEVEL: u32 = 6;
/// The compressor is given blocks of this size, because what it makes of a text depends on how the text comes.
const BLOCK: usize = 64 << 10;
/// So much becomes a member: part of what makes bytes the same, too. A new one forgets what it could have referred to,
/// which makes the whole about a percent larger.
const MEMBER: usize = 2 << 20;

/// Compresses what is written.
pub(crate) struct Gzip<W: Write> {
    to: W,
    /// What the next member will be of.
    waiting: Vec<u8>,
    /// Members that are being made, the first one first.
    running: VecDeque<JoinHandle<io::Result<Vec<u8>>>>,
    /// How many are made at a time; the bytes do not depend on it.
    threads: usize,
    begun: bool,
}

fn member(data: &[u8]) -> io::Result<Vec<u8>> {
    let to = Vec::with_capacity(data.len() / 2);
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(to, Compression::new(LEVEL));
    for block in data.chunks(BLOCK) {
        encoder.write_all(block)?;
    }
    encoder.finish()
}

impl<W: Write> Gzip<W> {
    pub(crate) fn new(to: W) -> Self {
        Self::on(to, thread::available_parallelism().map_or(1, usize::from).min(16))
    }

    fn on(to: W, threads: usize) -> Self {
        Self { to, waiting: Vec::new(), running: VecDeque::new(), threads, begun: false }
    }

    /// Waits for the first member that is being made.
    fn take(&mut self) -> io::Result<()> {
        let Some(first) = self.running.pop_front() else { return Ok(()) };
        let made = first.join().unwrap_or_else(|_| Err(io::Error::other("the compressor failed")));
        self.to.write_all(&made?)
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        let last = std::mem::take(&mut self.waiting);
        // What is small needs no thread; and what is empty is a member, too.
        let last = if last.is_empty() && self.begun { Vec::new() } else { member(&last)? };
        while !self.running.is_empty() {
            self.take()?;
        }
        self.to.write_all(&last)?;
        Ok(self.to)
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = data.len().min(MEMBER - self.waiting.len());
        self.waiting.extend_from_slice(data.get(..taken).unwrap_or_default());
        if self.waiting.len() == MEMBER {
            if self.running.len() >= self.threads {
                self.take()?;
            }
            let data = std::mem::take(&mut self.waiting);
            self.running.push_back(thread::Builder::new().spawn(move || member(&data))?);
            self.begun = true;
        }
        Ok(taken)
    }

    /// There is nothing to flush before the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn text(size: u32) -> Vec<u8> {
        (0..size).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect()
    }

    fn packed(data: &[u8], size: usize, threads: usize) -> Vec<u8> {
        let mut gzip = Gzip::on(Vec::new(), threads);
        data.chunks(size).for_each(|part| gzip.write_all(part).unwrap());
        gzip.finish().unwrap()
    }

    #[test]
    fn how_it_comes_does_not_matter() {
        let data = text(500_000);
        let one = packed(&data, data.len(), 1);
        assert!([1, 511, 512, 65_536, 65_537].iter().all(|size| packed(&data, *size, 2) == one));
    }

    #[test]
    fn how_many_work_on_it_does_not_matter() {
        for size in [0, 1, MEMBER - 1, MEMBER, MEMBER + 1, 3 * MEMBER, 4 * MEMBER + 7] {
            let data = text(u32::try_from(size).unwrap());
            let one = packed(&data, 100_000, 1);
            assert!([2, 7].iter().all(|threads| packed(&data, 999_999, *threads) == one));
            let mut back = Vec::new();
            flate2::read::MultiGzDecoder::new(&one[..]).read_to_end(&mut back).unwrap();
            assert!(back == data, "{size}");
        }
    }
}

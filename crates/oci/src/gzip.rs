//! Deterministic gzip compression.
//!
//! Large content is split into members that are compressed in parallel. Concatenated members form one gzip file (RFC
//! 1952, section 2.2).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

use flate2::{Compression, GzBuilder};

/// The compression level; part of the deterministic output.
const LEVEL: u32 = 6;
/// Input block size: the encoder's output depends on the sizes of its input writes.
const BLOCK_SIZE: usize = 64 << 10;
/// Input size of a member; part of the deterministic output. Each member resets the compression window, which makes
/// the output about one percent larger.
const MEMBER_SIZE: usize = 2 << 20;

/// Compresses written data to `output`.
pub(crate) struct GzipWriter<W: Write> {
    output: W,
    /// Input of the next member.
    pending: Vec<u8>,
    /// Members being compressed, in output order.
    in_flight: VecDeque<JoinHandle<io::Result<Vec<u8>>>>,
    /// Number of members compressed in parallel; does not affect the output.
    threads: usize,
    member_spawned: bool,
}

fn compress_member(data: &[u8]) -> io::Result<Vec<u8>> {
    let output = Vec::with_capacity(data.len() / 2);
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(output, Compression::new(LEVEL));
    for block in data.chunks(BLOCK_SIZE) {
        encoder.write_all(block)?;
    }
    encoder.finish()
}

impl<W: Write> GzipWriter<W> {
    pub(crate) fn new(output: W) -> Self {
        Self::with_threads(output, thread::available_parallelism().map_or(1, usize::from).min(16))
    }

    fn with_threads(output: W, threads: usize) -> Self {
        Self { output, pending: Vec::new(), in_flight: VecDeque::new(), threads, member_spawned: false }
    }

    /// Writes the oldest member in flight.
    fn join_next(&mut self) -> io::Result<()> {
        let Some(first) = self.in_flight.pop_front() else { return Ok(()) };
        let compressed = first.join().unwrap_or_else(|_| Err(io::Error::other("the compressor failed")));
        self.output.write_all(&compressed?)
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        let last = std::mem::take(&mut self.pending);
        // The last member needs no thread. Empty input still produces one member.
        let last = if last.is_empty() && self.member_spawned { Vec::new() } else { compress_member(&last)? };
        while !self.in_flight.is_empty() {
            self.join_next()?;
        }
        self.output.write_all(&last)?;
        Ok(self.output)
    }
}

impl<W: Write> Write for GzipWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let accepted = data.len().min(MEMBER_SIZE - self.pending.len());
        self.pending.extend_from_slice(data.get(..accepted).unwrap_or_default());
        if self.pending.len() == MEMBER_SIZE {
            if self.in_flight.len() >= self.threads {
                self.join_next()?;
            }
            let data = std::mem::take(&mut self.pending);
            self.in_flight.push_back(thread::Builder::new().spawn(move || compress_member(&data))?);
            self.member_spawned = true;
        }
        Ok(accepted)
    }

    /// Members are written when they are complete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn sample(size: u32) -> Vec<u8> {
        (0..size).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect()
    }

    fn compress(data: &[u8], size: usize, threads: usize) -> Vec<u8> {
        let mut gzip = GzipWriter::with_threads(Vec::new(), threads);
        data.chunks(size).for_each(|part| gzip.write_all(part).unwrap());
        gzip.finish().unwrap()
    }

    #[test]
    fn output_is_independent_of_write_sizes() {
        let data = sample(500_000);
        let one = compress(&data, data.len(), 1);
        assert!([1, 511, 512, 65_536, 65_537].iter().all(|size| compress(&data, *size, 2) == one));
    }

    #[test]
    fn output_is_independent_of_thread_count() {
        for size in
            [0, 1, MEMBER_SIZE - 1, MEMBER_SIZE, MEMBER_SIZE + 1, 3 * MEMBER_SIZE, 4 * MEMBER_SIZE + 7]
        {
            let data = sample(u32::try_from(size).unwrap());
            let one = compress(&data, 100_000, 1);
            assert!([2, 7].iter().all(|threads| compress(&data, 999_999, *threads) == one));
            let mut decompressed = Vec::new();
            flate2::read::MultiGzDecoder::new(&one[..]).read_to_end(&mut decompressed).unwrap();
            assert!(decompressed == data, "{size}");
        }
    }
}

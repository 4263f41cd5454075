//! Compression whose output depends on nothing but its input.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

/// The level is part of what makes bytes the same.
const LEVEL: u32 = 6;
/// The compressor is given blocks of this size, because what it makes of a text depends on how the text comes.
const BLOCK: usize = 64 << 10;

/// Compresses what is written.
pub(crate) struct Gzip<W: Write> {
    inner: GzEncoder<W>,
    block: Vec<u8>,
}

impl<W: Write> Gzip<W> {
    pub(crate) fn new(to: W) -> Self {
        let inner = GzBuilder::new().mtime(0).operating_system(255).write(to, Compression::new(LEVEL));
        Self { inner, block: Vec::with_capacity(BLOCK) }
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.inner.write_all(&self.block)?;
        self.inner.finish()
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = data.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(data.get(..taken).unwrap_or_default());
        if self.block.len() == BLOCK {
            self.inner.write_all(&self.block)?;
            self.block.clear();
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
    use super::*;

    #[test]
    fn how_it_comes_does_not_matter() {
        let data: Vec<u8> = (0..500_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        let packed = |size: usize| {
            let mut gzip = Gzip::new(Vec::new());
            data.chunks(size).for_each(|part| gzip.write_all(part).unwrap());
            gzip.finish().unwrap()
        };
        let one = packed(data.len());
        assert!([1, 511, 512, 65_536, 65_537].iter().all(|size| packed(*size) == one));
    }
}

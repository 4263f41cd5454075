//! Streaming zstd decompression. Frame checksums are not verified: layer digests cover the content.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Maximum window size, which is allocated up front; the default limit of the zstd tool.
const MAX_WINDOW: u64 = 128 << 20;

/// Decompresses concatenated frames and skips skippable ones.
pub(crate) struct ZstdReader<R> {
    input: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("invalid zstd data: {error}"))
}

impl<R: BufRead> ZstdReader<R> {
    pub(crate) fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { input, decoder, in_frame: false }
    }

    pub(crate) fn into_inner(self) -> R {
        self.input
    }

    /// Starts the next frame; returns false at the end of the input.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.input).take(length), &mut io::sink())? < length {
                        return Err(invalid("it ends too early"));
                    }
                }
                Err(error) => return Err(invalid(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                self.in_frame = self.next_frame()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            // A block decompresses to at most 128 KiB, so the caller's size limit catches decompression bombs.
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.input, one).map_err(invalid)?;
            }
            match self.decoder.read(buffer)? {
                0 => self.in_frame = false,
                read => return Ok(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// Output of `printf 'hello hello hello hello hello hello' | zstd -19`, with a checksum.
    const HELLO: &[u8] = b"\x28\xb5\x2f\xfd\x04\x68\x65\x00\x00\x30\x68\x65\
        \x6c\x6c\x6f\x20\x01\x00\xb9\x4b\x11\x2b\xe1\x68\xe7";

    fn read(data: &[u8]) -> io::Result<Vec<u8>> {
        let mut output = Vec::new();
        ZstdReader::new(data).read_to_end(&mut output)?;
        Ok(output)
    }

    fn noise(size: u32) -> Vec<u8> {
        (0..size).map(|n| (n.wrapping_mul(n).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    #[test]
    fn reads_concatenated_and_skippable_frames() {
        assert_eq!(read(HELLO).unwrap(), b"hello hello hello hello hello hello");
        let data = noise(700_000);
        let compressed = compress_to_vec(&data[..], CompressionLevel::Fastest);
        assert_eq!(read(&compressed).unwrap(), data);
        let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
        let empty = compress_to_vec(&b""[..], CompressionLevel::Fastest);
        let output = read(&[skipped, HELLO, &empty, skipped, &compressed[..]].concat()).unwrap();
        assert_eq!(output.len(), 35 + data.len());
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn rejects_corrupt_frames() {
        for end in 1..HELLO.len() - 4 {
            assert!(read(&HELLO[..end]).is_err(), "{end}");
        }
        assert!(read(&[HELLO, b"more"].concat()).is_err());
        assert!(read(b"\x50\x2a\x4d\x18\x09\0\0\0abc").unwrap_err().to_string().contains("too early"));
        // A frame without content size that requires a window of 2^30 bytes.
        let error = read(b"\x28\xb5\x2f\xfd\x00\xa0\x01\0\0").unwrap_err().to_string();
        assert!(error.contains("zstd"), "{error}");
        // Flipped bits never cause a panic.
        let compressed = compress_to_vec(&noise(3000)[..], CompressionLevel::Fastest);
        for at in 0..compressed.len() {
            for bit in [1, 16, 128] {
                let mut changed = compressed.clone();
                changed[at] ^= bit;
                let _ = read(&changed);
            }
        }
    }
}

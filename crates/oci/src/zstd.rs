//! Layers that are compressed with zstd, as a stream. Its own checksum is not looked at: digests say more.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What the beginning of a frame asks for is kept in memory; zstd itself refuses more, unless it is told otherwise.
const MAX_WINDOW: u64 = 128 << 20;

/// Unpacks frame after frame; those that hold no content are passed over.
pub(crate) struct Zstd<R> {
    from: R,
    decoder: FrameDecoder,
    inside: bool,
}

fn wrong(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("what should be zstd is not: {error}"))
}

impl<R: BufRead> Zstd<R> {
    pub(crate) fn new(from: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { from, decoder, inside: false }
    }

    pub(crate) fn into_inner(self) -> R {
        self.from
    }

    /// Begins the next frame; whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.from.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.from) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.from).take(length), &mut io::sink())? < length {
                        return Err(wrong("it ends too early"));
                    }
                }
                Err(error) => return Err(wrong(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside {
                self.inside = self.begin()?;
                if !self.inside {
                    return Ok(0);
                }
            }
            // A block unpacks to 128 KiB at most, so a bomb is noticed by whoever counts what comes out.
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.from, one).map_err(wrong)?;
            }
            match self.decoder.read(buffer)? {
                0 => self.inside = false,
                read => return Ok(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// What the original makes of it, with a checksum: `printf 'hello hello hello hello hello hello' | zstd -19`.
    const HELLO: &[u8] = b"\x28\xb5\x2f\xfd\x04\x68\x65\x00\x00\x30\x68\x65\
        \x6c\x6c\x6f\x20\x01\x00\xb9\x4b\x11\x2b\xe1\x68\xe7";

    fn read(data: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Zstd::new(data).read_to_end(&mut all)?;
        Ok(all)
    }

    fn noise(size: u32) -> Vec<u8> {
        (0..size).map(|n| (n.wrapping_mul(n).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    #[test]
    fn frames_follow_each_other() {
        assert_eq!(read(HELLO).unwrap(), b"hello hello hello hello hello hello");
        let data = noise(700_000);
        let packed = compress_to_vec(&data[..], CompressionLevel::Fastest);
        assert_eq!(read(&packed).unwrap(), data);
        let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
        let empty = compress_to_vec(&b""[..], CompressionLevel::Fastest);
        let all = read(&[skipped, HELLO, &empty, skipped, &packed[..]].concat()).unwrap();
        assert_eq!(all.len(), 35 + data.len());
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn what_is_broken_is_an_error() {
        for end in 1..HELLO.len() - 4 {
            assert!(read(&HELLO[..end]).is_err(), "{end}");
        }
        assert!(read(&[HELLO, b"more"].concat()).is_err());
        assert!(read(b"\x50\x2a\x4d\x18\x09\0\0\0abc").unwrap_err().to_string().contains("too early"));
        // A frame that wants a gigabyte of memory: no length, and a window of 2^30.
        let error = read(b"\x28\xb5\x2f\xfd\x00\xa0\x01\0\0").unwrap_err().to_string();
        assert!(error.contains("zstd"), "{error}");
        // Whatever a byte is changed to, there is an answer.
        let packed = compress_to_vec(&noise(3000)[..], CompressionLevel::Fastest);
        for at in 0..packed.len() {
            for bit in [1, 16, 128] {
                let mut changed = packed.clone();
                changed[at] ^= bit;
                let _ = read(&changed);
            }
        }
    }
}

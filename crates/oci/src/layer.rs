//! Layer streams: decompression up to a limit, and verification of the diff ID.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::digest::{Digest, Hasher};
use crate::zstd::ZstdReader;

/// Read buffer size.
const CHUNK_SIZE: usize = 64 << 10;

/// The tar stream of a layer. Compression is detected by magic bytes, because media types are unreliable.
pub struct LayerReader<R: Read> {
    decoder: Decoder<R>,
    remaining: u64,
    hasher: Option<(Hasher, Digest)>,
}

enum Decoder<R: Read> {
    Plain(BufReader<R>),
    GzipWriter(Box<MultiGzDecoder<BufReader<R>>>),
    ZstdReader(Box<ZstdReader<BufReader<R>>>),
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

impl<R: Read> LayerReader<R> {
    /// Reads a layer blob that decompresses to at most `limit` bytes and, if given, to `diff_id`.
    pub fn new(blob: R, limit: u64, diff_id: Option<&Digest>) -> io::Result<Self> {
        let mut blob = BufReader::with_capacity(CHUNK_SIZE, blob);
        let decoder = match blob.fill_buf()? {
            [0x1f, 0x8b, ..] => Decoder::GzipWriter(Box::new(MultiGzDecoder::new(blob))),
            // A zstd frame or a skippable frame.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Decoder::ZstdReader(Box::new(ZstdReader::new(blob)))
            }
            [b'B', b'Z', b'h', ..] | [0xfd, b'7', b'z', ..] => {
                return Err(invalid("unsupported layer compression: use gzip or zstd"));
            }
            _ => Decoder::Plain(blob),
        };
        let hasher = diff_id.map(|expected| (Hasher::new(expected.algorithm()), expected.clone()));
        Ok(Self { decoder, remaining: limit, hasher })
    }

    /// Reads to the end, verifies the diff ID, and returns the blob reader with the remaining limit.
    pub fn finish(mut self) -> io::Result<(R, u64)> {
        let mut discarded = vec![0; CHUNK_SIZE];
        while self.read(&mut discarded)? > 0 {}
        if let Some((hasher, expected)) = self.hasher.take() {
            let actual = hasher.finish();
            if actual != expected {
                return Err(invalid(format!(
                    "the layer should unpack to {expected} and unpacks to {actual}"
                )));
            }
        }
        let blob = match self.decoder {
            Decoder::Plain(blob) => blob,
            Decoder::GzipWriter(blob) => blob.into_inner(),
            Decoder::ZstdReader(blob) => blob.into_inner(),
        };
        Ok((blob.into_inner(), self.remaining))
    }
}

impl<R: Read> Read for LayerReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.decoder {
            Decoder::Plain(decoder) => decoder.read(buffer)?,
            Decoder::GzipWriter(decoder) => decoder.read(buffer)?,
            Decoder::ZstdReader(decoder) => decoder.read(buffer)?,
        };
        self.remaining = self
            .remaining
            .checked_sub(read as u64)
            .ok_or_else(|| invalid("the image unpacks to more than the limit allows: is it a bomb?"))?;
        if let Some((hasher, _)) = &mut self.hasher {
            hasher.update(buffer.get(..read).unwrap_or_default());
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn read(data: &[u8], limit: u64, expected: Option<&Digest>) -> io::Result<Vec<u8>> {
        let mut reader = LayerReader::new(data, limit, expected)?;
        let mut all = Vec::new();
        reader.read_to_end(&mut all)?;
        reader.finish()?;
        Ok(all)
    }

    #[test]
    fn reads_plain_gzip_and_zstd_layers() {
        let data = vec![7; 1000];
        let expected = Digest::sha256(&data);
        assert_eq!(read(&data, 1000, Some(&expected)).unwrap(), data);
        assert_eq!(read(&gzip(&data), 1000, Some(&expected)).unwrap(), data);
        assert_eq!(read(&zstd(&data), 1000, Some(&expected)).unwrap(), data);
        assert_eq!(
            read(&[gzip(&data[..400]), gzip(&data[400..])].concat(), 1000, Some(&expected)).unwrap(),
            data
        );
    }

    #[test]
    fn rejects_bombs_and_diff_id_mismatch() {
        for bomb in [gzip(&vec![0; 10 << 20]), zstd(&vec![0; 10 << 20])] {
            assert!(bomb.len() < 100 << 10);
            assert!(read(&bomb, 1 << 20, None).unwrap_err().to_string().contains("bomb"));
        }
        assert!(read(&gzip(b"a"), 10, Some(&Digest::sha256(b"b"))).is_err());
        assert!(read(&gzip(b"hello")[..12], 10, None).is_err());
        assert!(read(&zstd(b"a"), 10, Some(&Digest::sha256(b"b"))).is_err());
        assert!(read(b"\x28\xb5\x2f\xfd", 10, None).unwrap_err().to_string().contains("zstd"));
        assert!(read(b"BZh9", 10, None).unwrap_err().to_string().contains("gzip or zstd"));
    }
}

//! The streams of layers: what is compressed is unpacked, up to a limit, and what it unpacks to can be proven.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::digest::{Digest, Hasher};
use crate::zstd::Zstd;

/// How much of a blob is read at a time.
const PART: usize = 64 << 10;

/// The tar of a layer, compressed or not: its first bytes tell, because media types are not always true.
pub struct LayerReader<R: Read> {
    inner: Inner<R>,
    left: u64,
    hasher: Option<(Hasher, Digest)>,
}

enum Inner<R: Read> {
    Plain(BufReader<R>),
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    Zstd(Box<Zstd<BufReader<R>>>),
}

fn wrong(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

impl<R: Read> LayerReader<R> {
    /// Of a blob. No more than `limit` bytes come out of it. With `diff_id`, what comes out has to be that.
    pub fn new(blob: R, limit: u64, diff_id: Option<&Digest>) -> io::Result<Self> {
        let mut blob = BufReader::with_capacity(PART, blob);
        let inner = match blob.fill_buf()? {
            [0x1f, 0x8b, ..] => Inner::Gzip(Box::new(MultiGzDecoder::new(blob))),
            // A frame, or one without content before it.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Inner::Zstd(Box::new(Zstd::new(blob)))
            }
            [b'B', b'Z', b'h', ..] | [0xfd, b'7', b'z', ..] => {
                return Err(wrong(
                    "the layer is compressed in a way that is not read: compress it with gzip or zstd",
                ));
            }
            _ => Inner::Plain(blob),
        };
        let hasher = diff_id.map(|id| (Hasher::new(id.algorithm()), id.clone()));
        Ok(Self { inner, left: limit, hasher })
    }

    /// Reads the rest, compares, and gives the blob back with how much could still have come out.
    pub fn finish(mut self) -> io::Result<(R, u64)> {
        let mut waste = vec![0; PART];
        while self.read(&mut waste)? > 0 {}
        if let Some((hasher, id)) = self.hasher.take() {
            let is = hasher.finish();
            if is != id {
                return Err(wrong(format!("the layer should unpack to {id} and unpacks to {is}")));
            }
        }
        let blob = match self.inner {
            Inner::Plain(blob) => blob,
            Inner::Gzip(blob) => blob.into_inner(),
            Inner::Zstd(blob) => blob.into_inner(),
        };
        Ok((blob.into_inner(), self.left))
    }
}

impl<R: Read> Read for LayerReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.inner {
            Inner::Plain(inner) => inner.read(buffer)?,
            Inner::Gzip(inner) => inner.read(buffer)?,
            Inner::Zstd(inner) => inner.read(buffer)?,
        };
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| wrong("the image unpacks to more than the limit allows: is it a bomb?"))?;
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

    fn read(data: &[u8], limit: u64, id: Option<&Digest>) -> io::Result<Vec<u8>> {
        let mut reader = LayerReader::new(data, limit, id)?;
        let mut all = Vec::new();
        reader.read_to_end(&mut all)?;
        reader.finish()?;
        Ok(all)
    }

    #[test]
    fn compressed_or_not_it_is_the_same() {
        let data = vec![7; 1000];
        let id = Digest::of(&data);
        assert_eq!(read(&data, 1000, Some(&id)).unwrap(), data);
        assert_eq!(read(&gzip(&data), 1000, Some(&id)).unwrap(), data);
        assert_eq!(read(&zstd(&data), 1000, Some(&id)).unwrap(), data);
        assert_eq!(read(&[gzip(&data[..400]), gzip(&data[400..])].concat(), 1000, Some(&id)).unwrap(), data);
    }

    #[test]
    fn bombs_and_lies_are_refused() {
        for bomb in [gzip(&vec![0; 10 << 20]), zstd(&vec![0; 10 << 20])] {
            assert!(bomb.len() < 100 << 10);
            assert!(read(&bomb, 1 << 20, None).unwrap_err().to_string().contains("bomb"));
        }
        assert!(read(&gzip(b"a"), 10, Some(&Digest::of(b"b"))).is_err());
        assert!(read(&gzip(b"hello")[..12], 10, None).is_err());
        assert!(read(&zstd(b"a"), 10, Some(&Digest::of(b"b"))).is_err());
        assert!(read(b"\x28\xb5\x2f\xfd", 10, None).unwrap_err().to_string().contains("zstd"));
        assert!(read(b"BZh9", 10, None).unwrap_err().to_string().contains("gzip or zstd"));
    }
}

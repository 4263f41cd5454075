//! Chart archives, made by rule: the same bytes every time.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::request::File;

const BLOCK: usize = 512;

/// A chart archive of files.
pub fn pack(files: &[File]) -> std::io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    for file in files {
        out.write_all(&header(&file.name, file.data.len()))?;
        out.write_all(&file.data)?;
        out.write_all(&vec![0; file.data.len().next_multiple_of(BLOCK) - file.data.len()])?;
    }
    out.write_all(&[0; 2 * BLOCK])?;
    out.finish()
}

/// A tar header of a file that anybody may read.
fn header(name: &str, size: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    // The sum counts itself as spaces.
    put(148, b"        ");
    put(156, b"0ustar\x0000");
    let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

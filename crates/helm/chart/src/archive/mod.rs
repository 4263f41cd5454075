//! Chart archives: the files of a gzipped tar, with the checks that Helm makes and a bound on everything.
//!
//! ```text
//! bytes ──gunzip──▶ tar blocks ──tar──▶ entries ──extract──▶ files below the chart's root
//! ```

mod gunzip;
mod sniff;
mod tar;
pub mod write;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::files::File;
use crate::text;
use gunzip::{Gunzip, Spare};
use tar::{Entry, Reader};

pub use sniff::content_type;

/// How many bytes the files of one archive can have together.
pub const MAX_SIZE: u64 = 100 * 1024 * 1024;

/// How many bytes an archive can have with its headers. Helm has no such limit; without one, headers of empty files
/// alone could fill the memory.
const MAX_STREAM: u64 = 2 * MAX_SIZE;

/// Why an archive cannot be read. The texts are those of Helm and Go, except where Helm has no check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no byte in it.
    #[error("EOF")]
    NoBytes,
    /// It does not begin like a gzip file.
    #[error("gzip: invalid header")]
    GzipHeader,
    /// The content is not what was compressed.
    #[error("gzip: invalid checksum")]
    GzipChecksum,
    /// It was cut off.
    #[error("unexpected EOF")]
    CutOff,
    /// The compressed data is damaged.
    #[error("flate: corrupt input before offset {0}")]
    Corrupt(u64),
    /// A tar header is damaged.
    #[error("archive/tar: invalid tar header")]
    TarHeader,
    /// A name or an attribute is longer than a megabyte.
    #[error("archive/tar: header field too long")]
    TarField,
    /// A file with holes.
    #[error("{0:?} is a sparse file; package the chart without sparse files")]
    Sparse(String),
    /// A path that starts at the root of the file system.
    #[error("chart illegally contains absolute paths")]
    AbsolutePath(String),
    /// A path without a directory.
    #[error("chart illegally contains content outside the base directory: {}", text::quote(.0))]
    OutsideBase(String),
    /// A path that leaves the chart.
    #[error("chart illegally references parent directory")]
    ParentDirectory(String),
    /// A path with a drive letter.
    #[error("chart contains illegally named files")]
    DriveLetter(String),
    /// `Chart.yaml` at the top of the archive instead of in the chart's directory.
    #[error("chart yaml not in base directory")]
    ChartYamlOutside,
    /// More than [`MAX_SIZE`].
    #[error("decompressed chart is larger than the {words} {limit}")]
    TooLarge {
        /// How the limit is called.
        words: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// Headers and files together are too much.
    #[error("decompressed archive is larger than {0} bytes with its headers")]
    StreamTooLarge(u64),
    /// A file that is larger than a single file can be.
    #[error("decompressed chart file {} is larger than the maximum file size {limit}", text::quote(name))]
    FileTooLarge {
        /// The path as it stands in the archive.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// No file in it.
    #[error("no files in chart archive")]
    Empty,
}

/// Reads the files of an archive in their order, without the directory that all of them are in.
///
/// Links and devices become empty files, as in Helm; nothing is ever written or followed. `budget` is how many bytes
/// the files can have together; what they have is taken off it.
pub fn extract(archive: &[u8], dialect: &Dialect, budget: &mut u64) -> Result<Vec<File>, Error> {
    let mut spare = SPARE.take();
    let files = extract_within(archive, dialect, budget, MAX_STREAM, &mut spare);
    SPARE.set(spare);
    files
}

/// The regular files of an archive with their names as they stand in it, for who knows what they are. Links, devices
/// and folders are left out.
pub fn files(archive: &[u8]) -> Result<Vec<(String, Arc<[u8]>)>, Error> {
    let mut spare = SPARE.take();
    let files = files_within(archive, &mut spare);
    SPARE.set(spare);
    files
}

fn files_within(archive: &[u8], spare: &mut Spare) -> Result<Vec<(String, Arc<[u8]>)>, Error> {
    let too_large = || Error::TooLarge { words: "maximum size", limit: MAX_SIZE };
    let mut left = MAX_SIZE;
    let mut tar = Reader::new(Gunzip::new(archive, MAX_STREAM, spare)?);
    let mut files = Vec::new();
    while let Some(entry) = tar.next()? {
        if !entry.is_file() {
            continue;
        }
        if entry.size > left {
            return Err(too_large());
        }
        let data = tar.read_content()?;
        left -= u64::try_from(data.len()).unwrap_or(left).min(left);
        files.push((entry.name, data.into()));
    }
    Ok(files)
}

thread_local! {
    /// Decompressors to use again: making one takes longer than unpacking a small chart.
    static SPARE: Cell<Spare> = Cell::default();
}

/// Like [`extract`], with a limit for headers and files together.
fn extract_within(
    archive: &[u8],
    dialect: &Dialect,
    budget: &mut u64,
    stream: u64,
    spare: &mut Spare,
) -> Result<Vec<File>, Error> {
    let too_large = || Error::TooLarge { words: dialect.archive_limit_words, limit: MAX_SIZE };
    let mut tar = Reader::new(Gunzip::new(archive, stream, spare)?);
    let mut files = Vec::new();
    while let Some(entry) = tar.next()? {
        if entry.is_directory() || entry.is_global_header() {
            continue;
        }
        let name = local_name(&entry)?;
        let size = entry.size;
        if size > *budget {
            return Err(too_large());
        }
        if let Some(limit) = dialect.max_file_size
            && size > limit
        {
            return Err(Error::FileTooLarge { name: entry.name, limit });
        }
        let data = tar.read_content()?;
        *budget -= u64::try_from(data.len()).unwrap_or(*budget).min(*budget);
        // A link whose header claims a size has no content, which Helm takes for a file that was cut at the limit.
        if *budget == 0 || u64::try_from(data.len()) != Ok(size) {
            return Err(too_large());
        }
        files.push(File::new(name, &data));
    }
    if files.is_empty() { Err(Error::Empty) } else { Ok(files) }
}

/// The path below the chart's directory, if it is a harmless one.
fn local_name(entry: &Entry) -> Result<Arc<str>, Error> {
    let whole = &entry.name;
    // Archives from Windows may have backslashes, and then only those separate.
    let delimiter = if whole.contains('\\') { '\\' } else { '/' };
    let (first, rest) = whole.split_once(delimiter).unwrap_or((whole, ""));
    let path = if delimiter == '/' { Cow::Borrowed(rest) } else { Cow::Owned(rest.replace(delimiter, "/")) };
    if path.starts_with('/') {
        return Err(Error::AbsolutePath(whole.clone()));
    }
    let path = text::cleaned(&path);
    if path == "." {
        return Err(Error::OutsideBase(whole.clone()));
    }
    if path.starts_with("..") {
        return Err(Error::ParentDirectory(whole.clone()));
    }
    if matches!(path.as_bytes(), [drive, b':', b'/', ..] if drive.is_ascii_alphabetic()) {
        return Err(Error::DriveLetter(whole.clone()));
    }
    if first == "Chart.yaml" {
        return Err(Error::ChartYamlOutside);
    }
    Ok(path.into())
}

#[cfg(test)]
mod tests;

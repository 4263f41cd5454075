//! Decompressing gzip, one member after the other.

use flate2::{Crc, Decompress, FlushDecompress, Status};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::Error;

/// A file that says to hold no more than this is decompressed in one go.
const SMALL: usize = 256 * 1024;

/// What can be used for one file after the other.
#[derive(Default)]
pub(super) struct Spare {
    stream: Option<Decompress>,
    whole: Option<Box<DecompressorOxide>>,
    content: Vec<u8>,
}

/// A gzip file that is being decompressed.
pub(super) struct Gunzip<'a> {
    input: &'a [u8],
    source: Source<'a>,
    crc: Crc,
    /// How many bytes may come out, and how many did.
    limit: u64,
    given: u64,
    ended: bool,
}

/// Where the content comes from.
enum Source<'a> {
    /// A small file without faults: this is what is left of it.
    Whole(&'a [u8]),
    /// Any other file: what is wrong with it counts only when it is read so far.
    Stream(&'a mut Decompress),
}

impl<'a> Gunzip<'a> {
    /// Reads the first header.
    pub(super) fn new(input: &'a [u8], limit: u64, spare: &'a mut Spare) -> Result<Self, Error> {
        let source = Source::Whole(&[]);
        let mut gunzip = Self { input, source, crc: Crc::new(), limit, given: 0, ended: false };
        gunzip.header()?;
        if gunzip.ended {
            return Err(Error::NoBytes);
        }
        let Spare { stream, whole, content } = spare;
        let content = inflate(gunzip.input, whole.get_or_insert_default(), content);
        gunzip.source = match content.filter(|content| content.len() as u64 <= limit) {
            Some(content) => Source::Whole(content),
            None => {
                let stream = stream.get_or_insert_with(|| Decompress::new(false));
                stream.reset(false);
                Source::Stream(stream)
            }
        };
        Ok(gunzip)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.input.split_at_checked(count).ok_or(Error::CutOff)?;
        self.input = rest;
        Ok(taken)
    }

    fn skip_text(&mut self) -> Result<(), Error> {
        let end = self.input.iter().position(|byte| *byte == 0).ok_or(Error::CutOff)?;
        // Go's reader has room for this many characters.
        if end >= 512 {
            return Err(Error::GzipHeader);
        }
        self.take(end + 1).map(drop)
    }

    /// Reads the header of a member. No more members are the end.
    fn header(&mut self) -> Result<(), Error> {
        if self.input.is_empty() {
            self.ended = true;
            return Ok(());
        }
        let start = self.input;
        let fixed = self.take(10)?;
        let [0x1F, 0x8B, 8, flags, ..] = *fixed else { return Err(Error::GzipHeader) };
        if flags & 4 != 0 {
            let length = self.take(2)?.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
            self.take(length)?;
        }
        for text_flag in [8, 16] {
            if flags & text_flag != 0 {
                self.skip_text()?;
            }
        }
        if flags & 2 != 0 {
            let mut crc = Crc::new();
            crc.update(start.get(..start.len() - self.input.len()).unwrap_or_default());
            let wanted = self.take(2)?;
            if crc.sum().to_le_bytes().get(..2) != Some(wanted) {
                return Err(Error::GzipHeader);
            }
        }
        if let Source::Stream(inflate) = &mut self.source {
            inflate.reset(false);
        }
        self.crc.reset();
        Ok(())
    }

    fn trailer(&mut self) -> Result<(), Error> {
        let wanted = self.take(8)?;
        let is = [self.crc.sum().to_le_bytes(), self.crc.amount().to_le_bytes()].concat();
        if is == wanted { self.header() } else { Err(Error::GzipChecksum) }
    }

    /// Takes so many bytes of a file that is decompressed already.
    pub(super) fn take_whole(&mut self, count: u64) -> Option<&'a [u8]> {
        let Source::Whole(content) = &mut self.source else { return None };
        content.split_off(..usize::try_from(count).ok()?)
    }

    /// Fills the buffer as far as there is data, and says how far that is.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() && !self.ended {
            let Some(free) = buffer.get_mut(filled..) else { break };
            let inflate = match &mut self.source {
                Source::Whole(content) => return Ok(take_front(content, buffer)),
                Source::Stream(inflate) => inflate,
            };
            let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(self.input, free, FlushDecompress::None);
            let total_in = inflate.total_in();
            let taken = usize::try_from(total_in - before_in).unwrap_or(usize::MAX);
            let given = usize::try_from(inflate.total_out() - before_out).unwrap_or(usize::MAX);
            self.crc.update(free.get(..given).unwrap_or_default());
            self.input = self.input.get(taken..).unwrap_or_default();
            filled += given;
            match status {
                Ok(Status::StreamEnd) => self.trailer()?,
                Ok(_) if taken == 0 && given == 0 => return Err(Error::CutOff),
                Ok(_) => {}
                Err(_) => return Err(Error::Corrupt(total_in)),
            }
        }
        self.given += filled as u64;
        if self.given > self.limit {
            return Err(Error::StreamTooLarge(self.limit));
        }
        Ok(filled)
    }
}

/// Moves bytes from the front of a text to a buffer, and says how many.
fn take_front(text: &mut &[u8], buffer: &mut [u8]) -> usize {
    let (taken, rest) = text.split_at(text.len().min(buffer.len()));
    if let Some(room) = buffer.get_mut(..taken.len()) {
        room.copy_from_slice(taken);
    }
    *text = rest;
    taken.len()
}

/// The content of the last member of a file, if it is small and nothing is wrong with it.
fn inflate<'c>(member: &[u8], state: &mut DecompressorOxide, content: &'c mut Vec<u8>) -> Option<&'c [u8]> {
    let (data, trailer) = member.split_last_chunk::<8>()?;
    let (sum, size) = trailer.split_first_chunk::<4>()?;
    let claimed = u32::from_le_bytes(size.try_into().ok()?) as usize;
    if claimed > SMALL {
        return None;
    }
    if content.len() < claimed {
        content.resize(claimed, 0);
    }
    let room = content.get_mut(..claimed)?;
    state.init();
    let done = decompress(state, data, room, 0, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
    let mut crc = Crc::new();
    crc.update(room);
    let is_sound = done == (TINFLStatus::Done, data.len(), claimed) && crc.sum().to_le_bytes() == *sum;
    is_sound.then_some(room)
}

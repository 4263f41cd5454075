//! Decompressing gzip, one member after the other.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::Error;

/// A gzip file that is being decompressed.
pub(super) struct Gunzip<'a> {
    input: &'a [u8],
    inflate: &'a mut Decompress,
    crc: Crc,
    /// How many bytes may come out, and how many did.
    limit: u64,
    given: u64,
    ended: bool,
}

impl<'a> Gunzip<'a> {
    /// Reads the first header. A decompressor can be used again and again.
    pub(super) fn new(input: &'a [u8], limit: u64, inflate: &'a mut Decompress) -> Result<Self, Error> {
        let mut gunzip = Self { input, inflate, crc: Crc::new(), limit, given: 0, ended: false };
        gunzip.header()?;
        if gunzip.ended { Err(Error::NoBytes) } else { Ok(gunzip) }
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
        self.inflate.reset(false);
        self.crc.reset();
        Ok(())
    }

    fn trailer(&mut self) -> Result<(), Error> {
        let wanted = self.take(8)?;
        let is = [self.crc.sum().to_le_bytes(), self.crc.amount().to_le_bytes()].concat();
        if is == wanted { self.header() } else { Err(Error::GzipChecksum) }
    }

    /// Fills the buffer as far as there is data, and says how far that is.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() && !self.ended {
            let Some(free) = buffer.get_mut(filled..) else { break };
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(self.input, free, FlushDecompress::None);
            let taken = usize::try_from(self.inflate.total_in() - before_in).unwrap_or(usize::MAX);
            let given = usize::try_from(self.inflate.total_out() - before_out).unwrap_or(usize::MAX);
            self.crc.update(free.get(..given).unwrap_or_default());
            self.input = self.input.get(taken..).unwrap_or_default();
            filled += given;
            match status {
                Ok(Status::StreamEnd) => self.trailer()?,
                Ok(_) if taken == 0 && given == 0 => return Err(Error::CutOff),
                Ok(_) => {}
                Err(_) => return Err(Error::Corrupt(self.inflate.total_in())),
            }
        }
        self.given += filled as u64;
        if self.given > self.limit {
            return Err(Error::StreamTooLarge(self.limit));
        }
        Ok(filled)
    }
}

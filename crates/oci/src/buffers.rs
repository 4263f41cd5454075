//! Memory for what is read from a disk and sent to the network, used again and again: new memory has to be cleared by
//! the system, page by page, which takes longer than reading into it.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// How many are remembered: as many as may wait for the network, and a few that it works on.
const MAX: usize = 12;

/// Buffers that the network may still have.
#[derive(Default)]
pub(crate) struct Buffers(VecDeque<Bytes>);

impl Buffers {
    /// A buffer of this size, with anything in it.
    pub(crate) fn take(&mut self, size: usize) -> BytesMut {
        if let Some(oldest) = self.0.pop_front() {
            match oldest.try_into_mut() {
                Ok(mut buffer) => {
                    buffer.resize(size, 0);
                    return buffer;
                }
                Err(busy) => self.0.push_front(busy),
            }
        }
        BytesMut::zeroed(size)
    }

    /// What is sent.
    pub(crate) fn send(&mut self, buffer: BytesMut) -> Bytes {
        let part = buffer.freeze();
        if self.0.len() < MAX {
            self.0.push_back(part.clone());
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_let_go_is_used_again_and_nothing_else() {
        let mut buffers = Buffers::default();
        let mut first = buffers.take(100);
        first.fill(1);
        let first = buffers.send(first);
        let mut second = buffers.take(100);
        second.fill(2);
        let second = buffers.send(second);
        assert_eq!((&first[..], &second[..]), (&[1; 100][..], &[2; 100][..]));
        let place = first.as_ptr();
        drop(first);
        let third = buffers.take(50);
        assert_eq!((third.as_ptr(), third.len()), (place, 50));
        assert_eq!(&second[..], &[2; 100]);
    }
}

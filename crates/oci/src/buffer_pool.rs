//! Memory for what is read from a disk and sent to the network, used again and again: new memory has to be cleared by
//! the system, page by page, which takes longer than reading into it.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// How many are remembered: as many as may wait for the network, and a few that it works on.
const MAX_TRACKED: usize = 12;

/// Buffers that the network may still have.
#[derive(Default)]
pub(crate) struct BufferPool(VecDeque<Bytes>);

impl BufferPool {
    /// A buffer of this size, with anything in it.
    pub(crate) fn acquire(&mut self, size: usize) -> BytesMut {
        if let Some(oldest) = self.0.pop_front() {
            match oldest.try_into_mut() {
                Ok(mut buffer) => {
                    buffer.resize(size, 0);
                    return buffer;
                }
                Err(in_use) => self.0.push_front(in_use),
            }
        }
        BytesMut::zeroed(size)
    }

    /// What is sent.
    pub(crate) fn freeze(&mut self, buffer: BytesMut) -> Bytes {
        let chunk = buffer.freeze();
        if self.0.len() < MAX_TRACKED {
            self.0.push_back(chunk.clone());
        }
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuses_only_released_buffers() {
        let mut buffers = BufferPool::default();
        let mut first = buffers.acquire(100);
        first.fill(1);
        let first = buffers.freeze(first);
        let mut second = buffers.acquire(100);
        second.fill(2);
        let second = buffers.freeze(second);
        assert_eq!((&first[..], &second[..]), (&[1; 100][..], &[2; 100][..]));
        let address = first.as_ptr();
        drop(first);
        let third = buffers.acquire(50);
        assert_eq!((third.as_ptr(), third.len()), (address, 50));
        assert_eq!(&second[..], &[2; 100]);
    }
}

//! A pool of buffers between disk and network. Fresh memory is zeroed page by page by the kernel, which costs more
//! than reading into it.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Number of tracked buffers: the capacity of the channel to the network and a few in flight.
const MAX_TRACKED: usize = 12;

/// Buffers that the network may still reference.
#[derive(Default)]
pub(crate) struct BufferPool(VecDeque<Bytes>);

impl BufferPool {
    /// Returns a buffer of `size` bytes with unspecified content, reusing a released one if possible.
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

    /// Freezes a buffer for sending and tracks it for reuse.
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

//! A pool of buffers for images, reused from one read of the feed to the next.
//!
//! A read fills up to some megabytes. Freeing and allocating them each time would make the kernel clear the pages, which
//! blocks a core for milliseconds.

use parking_lot::Mutex;

/// Capacity of all pooled buffers.
const POOL_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The smallest capacity worth pooling.
const BUFFER_BYTES_MIN: usize = 64 * 1024;

/// Unused buffers.
#[derive(Debug, Default)]
pub(in super::super) struct BufferPool(Mutex<Vec<Vec<u8>>>);

impl BufferPool {
    pub(super) fn take(&self) -> Vec<u8> {
        self.0.lock().pop().unwrap_or_default()
    }

    pub(super) fn give_back(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() < BUFFER_BYTES_MIN {
            return;
        }
        buffer.clear();
        let mut pool = self.0.lock();
        let bytes: usize = pool.iter().map(Vec::capacity).sum();
        if bytes.saturating_add(buffer.capacity()) <= POOL_BYTES_MAX {
            pool.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused_empty_up_to_the_bound() {
        let pool = BufferPool::default();
        let mut buffer = pool.take();
        buffer.extend_from_slice(&[7; BUFFER_BYTES_MIN]);
        let capacity = buffer.capacity();
        pool.give_back(buffer);
        let again = pool.take();
        assert_eq!((again.len(), again.capacity()), (0, capacity));
        pool.give_back(Vec::with_capacity(BUFFER_BYTES_MIN - 1));
        assert_eq!(pool.take().capacity(), 0, "a small buffer is not pooled");
        for _ in 0..6 {
            pool.give_back(Vec::with_capacity(POOL_BYTES_MAX / 4));
        }
        assert_eq!(pool.0.lock().len(), 4);
    }
}

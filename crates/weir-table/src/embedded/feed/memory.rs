//! Memory for images, kept from one read of the feed to the next.
//!
//! A read fills up to some megabytes. If they were freed and asked for anew each time, the system would have to clear them,
//! which holds a processor for milliseconds at once.

use parking_lot::Mutex;

/// Bytes that are kept at most, in all, and a buffer that is worth it.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;
const WORTH_BYTES: usize = 64 * 1024;

/// Buffers nobody uses.
#[derive(Debug, Default)]
pub(in super::super) struct FeedMemory(Mutex<Vec<Vec<u8>>>);

impl FeedMemory {
    pub(super) fn take(&self) -> Vec<u8> {
        self.0.lock().pop().unwrap_or_default()
    }

    pub(super) fn give_back(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() < WORTH_BYTES {
            return;
        }
        buffer.clear();
        let mut kept = self.0.lock();
        let bytes: usize = kept.iter().map(Vec::capacity).sum();
        if bytes.saturating_add(buffer.capacity()) <= KEPT_BYTES_MAX {
            kept.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_empty_and_not_all_are_kept() {
        let memory = FeedMemory::default();
        let mut buffer = memory.take();
        buffer.extend_from_slice(&[7; WORTH_BYTES]);
        let capacity = buffer.capacity();
        memory.give_back(buffer);
        let again = memory.take();
        assert_eq!((again.len(), again.capacity()), (0, capacity));
        memory.give_back(Vec::with_capacity(WORTH_BYTES - 1));
        assert_eq!(memory.take().capacity(), 0, "a small one is not worth it");
        for _ in 0..6 {
            memory.give_back(Vec::with_capacity(KEPT_BYTES_MAX / 4));
        }
        assert_eq!(memory.0.lock().len(), 4);
    }
}

//! Memory for images, kept from one read of the feed to the next.
//!
//! A read fills up to some megabytes. If they were freed and asked for anew each time, the system would have to clear them,
//! which holds a processor for milliseconds at once.

use parking_lot::Mutex;

/// Buffers that are kept: one is read into while a job has another.
const KEPT_MAX: usize = 2;
/// A larger one is not kept.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Buffers nobody uses.
#[derive(Debug, Default)]
pub(in super::super) struct FeedMemory(Mutex<Vec<Vec<u8>>>);

impl FeedMemory {
    pub(super) fn take(&self) -> Vec<u8> {
        self.0.lock().pop().unwrap_or_default()
    }

    pub(super) fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut kept = self.0.lock();
        if kept.len() < KEPT_MAX && buffer.capacity() <= BYTES_MAX {
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
        buffer.extend_from_slice(b"an image");
        let capacity = buffer.capacity();
        memory.give_back(buffer);
        let again = memory.take();
        assert_eq!((again.len(), again.capacity()), (0, capacity));
        memory.give_back(Vec::with_capacity(BYTES_MAX + 1));
        for _ in 0..KEPT_MAX + 1 {
            memory.give_back(Vec::with_capacity(10));
        }
        assert_eq!(memory.0.lock().len(), KEPT_MAX);
    }
}

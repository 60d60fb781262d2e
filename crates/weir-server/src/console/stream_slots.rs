//! The slots of streams of figures: how many there may be at the same time, of one caller and of all.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_framework::auth::Identity;
use weir_framework::{ApiError, Code, limits};

use super::codes;

/// Streams at the same time.
const STREAMS_MAX: usize = 256;
/// Streams that only administrators may have, so that others never leave them without figures.
const RESERVE: usize = 32;
/// Streams of one subject: tabs of a person, or clients with the same token.
const OF_SUBJECT_MAX: usize = 16;
/// When a refused request may be sent again, in seconds.
const RETRY_SECS: u64 = 5;

const _: () = assert!(RESERVE + OF_SUBJECT_MAX < STREAMS_MAX);

/// The slots of a server.
#[derive(Debug, Default)]
pub(super) struct StreamSlots(Arc<Mutex<Taken>>);

/// Slots that are taken.
#[derive(Debug, Default)]
struct Taken {
    all: usize,
    /// Never zero.
    by_subject: HashMap<String, usize>,
}

/// A slot, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct StreamSlot {
    taken: Arc<Mutex<Taken>>,
    subject: String,
}

impl StreamSlots {
    /// Takes a slot.
    ///
    /// # Errors
    /// The caller has too many streams: a 429. All streams that the caller may have are taken: a 503.
    pub(super) fn take(&self, caller: &Identity) -> Result<StreamSlot, ApiError> {
        let retry_after = |code, detail: String| {
            let detail = format!("{detail}; retry after {RETRY_SECS} s");
            limits::retry_after(ApiError::new(code, detail), RETRY_SECS)
        };
        let mut taken = self.0.lock();
        let own = taken.by_subject.get(&caller.subject).copied().unwrap_or_default();
        if own >= OF_SUBJECT_MAX {
            let detail = format!("{OF_SUBJECT_MAX} streams of figures of this caller are open");
            return Err(retry_after(codes::TOO_MANY_STREAMS, detail));
        }
        let reserve = if caller.grants.is_admin() { 0 } else { RESERVE };
        if taken.all + reserve >= STREAMS_MAX {
            let detail = "the server is at its limit of streams of figures".to_owned();
            return Err(retry_after(Code::SERVICE_UNAVAILABLE, detail));
        }
        taken.all += 1;
        taken.by_subject.insert(caller.subject.clone(), own + 1);
        Ok(StreamSlot { taken: Arc::clone(&self.0), subject: caller.subject.clone() })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        taken.all = taken.all.saturating_sub(1);
        let left = taken.by_subject.get(&self.subject).map_or(0, |own| own.saturating_sub(1));
        if left == 0 {
            taken.by_subject.remove(&self.subject);
        } else if let Some(own) = taken.by_subject.get_mut(&self.subject) {
            *own = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_framework::auth::Proof;
    use weir_framework::auth::grant::Grants;

    use super::*;

    fn caller(subject: &str, grants: Grants) -> Identity {
        Identity { subject: subject.to_owned(), grants, claims: None, proof: Proof::Socket }
    }

    fn org(number: usize) -> Identity {
        caller(&format!("org-{number}"), Grants::default())
    }

    #[test]
    fn a_caller_has_so_many_slots_and_others_have_theirs() {
        let slots = StreamSlots::default();
        let mut taken: Vec<_> = (0..OF_SUBJECT_MAX).map(|_| slots.take(&org(1)).unwrap()).collect();
        assert_eq!(slots.take(&org(1)).unwrap_err().code(), codes::TOO_MANY_STREAMS);
        drop(slots.take(&org(2)).unwrap());
        taken.pop();
        drop(slots.take(&org(1)).unwrap());
        drop(taken);
        let taken = slots.0.lock();
        assert_eq!((taken.all, taken.by_subject.len()), (0, 0));
    }

    #[test]
    fn a_reserve_is_left_for_administrators() {
        let slots = StreamSlots::default();
        let others = STREAMS_MAX - RESERVE;
        let _taken: Vec<_> =
            (0..others).map(|n| slots.take(&org(n / OF_SUBJECT_MAX)).unwrap()).collect();
        let refused = slots.take(&org(others)).unwrap_err();
        assert_eq!(refused.code(), Code::SERVICE_UNAVAILABLE);
        let admin = |n: usize| caller(&format!("admin:{}", n / OF_SUBJECT_MAX), Grants::admin());
        let _reserve: Vec<_> = (0..RESERVE).map(|n| slots.take(&admin(n)).unwrap()).collect();
        let refused = slots.take(&admin(RESERVE)).unwrap_err();
        assert_eq!(refused.code(), Code::SERVICE_UNAVAILABLE);
    }
}

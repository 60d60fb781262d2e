//! Ids of events: ULIDs, which are in order of time. Those a process makes within one millisecond are in the order in
//! which it made them.

use parking_lot::Mutex;
use ulid::Ulid;

/// Makes the ids of events.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    last: Mutex<Option<Ulid>>,
}

impl Ids {
    /// A new id of this moment.
    pub(crate) fn next(&self, now_ms: i64) -> Ulid {
        // 79 random bits: an 80th could leave no room to count up within the millisecond.
        let random = fastrand::u128(..) & (u128::MAX >> 49);
        let fresh = Ulid::from_parts(u64::try_from(now_ms).unwrap_or_default(), random);
        let mut last = self.last.lock();
        let next = match *last {
            Some(last) if last.timestamp_ms() == fresh.timestamp_ms() => {
                last.increment().unwrap_or(fresh)
            }
            _ => fresh,
        };
        *last = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_process_are_in_order() {
        let ids = Ids::default();
        let made: Vec<_> = [5, 5, 5, 6, 6, 9].map(|ms| ids.next(ms)).into();
        assert!(made.is_sorted_by(|a, b| a < b && a.to_string() < b.to_string()), "{made:?}");
        assert_eq!(ids.next(3).timestamp_ms(), 3, "a clock set back is believed");
    }
}

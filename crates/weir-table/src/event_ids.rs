//! Ids of events in the order of time: ULIDs. Ids that a process makes within one millisecond are in the order of their
//! creation.

use parking_lot::Mutex;
use ulid::Ulid;

/// Generates ids of events.
#[derive(Debug, Default)]
pub struct EventIds {
    last: Mutex<Option<Ulid>>,
}

impl EventIds {
    /// A new id for this time.
    #[must_use]
    pub fn next(&self, now_ms: i64) -> String {
        let fresh = Ulid::from_parts(u64::try_from(now_ms).unwrap_or_default(), random());
        let mut last = self.last.lock();
        let next = match *last {
            Some(last) if last.timestamp_ms() == fresh.timestamp_ms() => {
                last.increment().unwrap_or(fresh)
            }
            _ => fresh,
        };
        *last = Some(next);
        next.to_string()
    }
}

/// 79 random bits; with 80 a counter within the millisecond could overflow.
fn random() -> u128 {
    fastrand::u128(..) & (u128::MAX >> 49)
}

/// The bit that only derived ids have.
const DERIVED: u128 = 1 << 79;

/// The id of an event that has a number elsewhere, like a row of a database. It is the same every time, and no generated id.
#[must_use]
pub fn derived(at_ms: i64, number: u64) -> String {
    let at_ms = u64::try_from(at_ms).unwrap_or_default().min(TIME_MAX);
    Ulid::from_parts(at_ms, DERIVED | u128::from(number)).to_string()
}

/// The number of a derived id; `None` for others.
#[must_use]
pub fn derived_number(id: &str) -> Option<u64> {
    let random = Ulid::from_string(id).ok()?.random();
    if random & DERIVED == 0 {
        return None;
    }
    u64::try_from(random & !DERIVED).ok()
}

/// The first and the last possible id from `from_ms`, inclusive, to `to_ms`, exclusive; `None` if the range is empty.
#[must_use]
pub fn bounds(from_ms: Option<i64>, to_ms: Option<i64>) -> Option<(String, String)> {
    let from_ms = u64::try_from(from_ms.unwrap_or_default().max(0)).unwrap_or_default();
    let first = Ulid::from_parts(from_ms.min(TIME_MAX), 0);
    let last = match to_ms {
        None => Ulid::max(),
        Some(to_ms) => {
            let last_ms = u64::try_from(to_ms.checked_sub(1)?).ok()?;
            Ulid::from_parts(last_ms.min(TIME_MAX), u128::MAX >> 48)
        }
    };
    (first <= last).then(|| (first.to_string(), last.to_string()))
}

/// The last millisecond that a ULID can represent.
const TIME_MAX: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_id_has_its_number() {
        for number in [0, 1, 200_000, u64::MAX] {
            let id = derived(1_759_917_600_123, number);
            assert_eq!((id.len(), derived_number(&id)), (26, Some(number)));
            assert_eq!(id, derived(1_759_917_600_123, number));
        }
        assert_eq!(derived(1_759_917_600_123, 7), "01K71M6VBVG000000000000007");
        assert_eq!(derived_number(&EventIds::default().next(5)), None);
        assert_eq!(derived_number("x"), None);
    }

    #[test]
    fn ids_of_one_process_are_in_order() {
        let ids = EventIds::default();
        let made: Vec<_> = [5, 5, 5, 6, 6, 9].map(|ms| ids.next(ms)).into();
        assert!(made.is_sorted_by(|a, b| a < b), "{made:?}");
        let time = |id: &str| Ulid::from_string(id).unwrap().timestamp_ms();
        assert_eq!(time(&made[5]), 9);
        assert_eq!(time(&ids.next(3)), 3, "a clock set back is believed");
    }

    #[test]
    fn bounds_hold_every_id_of_the_time_and_no_other() {
        let (first, last) = bounds(Some(10), Some(20)).unwrap();
        let ids = EventIds::default();
        for (ms, inside) in [(9, false), (10, true), (19, true), (20, false)] {
            let id = ids.next(ms);
            assert_eq!(first <= id && id <= last, inside, "{ms}");
        }
        assert_eq!(bounds(None, None), Some((Ulid::nil().to_string(), Ulid::max().to_string())));
        assert_eq!(bounds(Some(10), Some(10)), None);
        assert_eq!(bounds(None, Some(0)), None);
        assert!(bounds(Some(-5), Some(i64::MAX)).is_some());
    }
}

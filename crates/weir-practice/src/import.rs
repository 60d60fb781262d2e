//! Imports of records that exist elsewhere: whether a stored one stays. Pure.
//!
//! Each domain module has an `import` that stores a record with everything that belongs to it: list entries, reservations,
//! counters. Importing a record twice changes nothing.

/// Which record stays when the stored one differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDifference {
    /// The one that was changed later; the stored one if both were in the same second.
    KeepNewer,
    /// The imported one, unless the stored one was changed in a later second.
    ReplaceUnlessNewer,
    /// The imported one.
    Replace,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Imported {
    /// The record was new.
    Created,
    /// The record replaced an older one.
    Updated,
    /// The same record was there.
    Unchanged,
    /// A newer record was there, or the resource was deleted, and stays so.
    Kept,
}

impl Imported {
    /// The result of a write.
    pub(crate) fn by(was_there: bool) -> Imported {
        if was_there { Imported::Updated } else { Imported::Created }
    }
}

/// What an import does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Write the record.
    Write,
    /// Nothing.
    Done(Imported),
}

/// Decides about a record that was changed at `updated_s`. `stored` says whether the stored record is the same, and when it
/// was changed.
pub(crate) fn step(stored: Option<(bool, i64)>, updated_s: i64, on: OnDifference) -> Step {
    match stored {
        None => Step::Write,
        Some((true, _)) => Step::Done(Imported::Unchanged),
        Some((false, stored_s)) => {
            let is_replaced = match on {
                OnDifference::KeepNewer => updated_s > stored_s,
                OnDifference::ReplaceUnlessNewer => updated_s >= stored_s,
                OnDifference::Replace => true,
            };
            if is_replaced { Step::Write } else { Step::Done(Imported::Kept) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_record_stays() {
        use OnDifference::{KeepNewer, Replace, ReplaceUnlessNewer};
        let kept = Step::Done(Imported::Kept);
        for (on, older, same_second, newer) in [
            (KeepNewer, kept, kept, Step::Write),
            (ReplaceUnlessNewer, kept, Step::Write, Step::Write),
            (Replace, Step::Write, Step::Write, Step::Write),
        ] {
            assert_eq!(step(None, 5, on), Step::Write);
            assert_eq!(step(Some((true, 9)), 5, on), Step::Done(Imported::Unchanged));
            assert_eq!(step(Some((false, 9)), 8, on), older, "{on:?}");
            assert_eq!(step(Some((false, 9)), 9, on), same_second, "{on:?}");
            assert_eq!(step(Some((false, 9)), 10, on), newer, "{on:?}");
        }
    }
}

//! The totals that this process could not sum, for the metrics and the state of its jobs.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::dirty_set::TotalId;
use crate::bounds::UNSUMMED_MAX;
use crate::error::Error;

/// Totals that could not be summed, each with the reason.
#[derive(Debug, Default)]
pub(crate) struct UnsummedTotals {
    totals: Mutex<BTreeMap<TotalId, String>>,
}

impl UnsummedTotals {
    /// Adds a total. Beyond the bound it is not remembered, but its chain is closed all the same.
    pub(super) fn insert(&self, id: &TotalId, why: &Error) {
        let mut totals = self.totals.lock();
        if totals.len() < UNSUMMED_MAX || totals.contains_key(id) {
            totals.insert(id.clone(), why.to_string());
        }
    }

    /// Removes a total that was summed, or whose org or app is gone.
    pub(super) fn remove(&self, id: &TotalId) {
        self.totals.lock().remove(id);
    }

    /// Number of totals.
    pub(crate) fn len(&self) -> u64 {
        self.totals.lock().len() as u64
    }

    /// The number of totals with the first of them and its reason; `None` when there are none.
    pub(crate) fn summary(&self) -> Option<String> {
        let totals = self.totals.lock();
        let ((scope, label, day), why) = totals.first_key_value()?;
        let (count, client) = (totals.len(), scope.client_id());
        Some(format!(
            "totals that cannot be summed, so that their chains are closed: {count}; the first is that of {client}, \
             {label} on {day}: {why}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::day::OrgDay;
    use crate::ids::{Label, OrgId, Scope};

    #[test]
    fn a_total_is_remembered_until_it_is_summed() {
        let totals = UnsummedTotals::default();
        let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
        let day = OrgDay::new(2037, 1, 23).unwrap();
        let id = (Scope::Org(org), Label::new("premium").unwrap(), day);
        assert_eq!((totals.len(), totals.summary()), (0, None));
        totals.insert(&id, &Error::damaged("a counter", "it is text"));
        totals.insert(&id, &Error::damaged("a counter", "it is text"));
        let summary = totals.summary().unwrap();
        assert!(summary.contains("closed: 1; the first is that of org-550e8400-"), "{summary}");
        assert!(summary.ends_with("premium on 2037-01-23: a counter cannot be read: it is text"));
        totals.remove(&id);
        assert_eq!(totals.summary(), None);
    }
}

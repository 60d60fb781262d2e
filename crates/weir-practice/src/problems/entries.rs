//! The lists of a problem, and the writes that keep them like its item.

use weir_table::{Backend, Item, Write};

use super::ProblemSummary;
use crate::item::list_entry;
use crate::keys::{GSI2, List, ListEntry, index_attributes};
use crate::practice::Practice;

/// The lists that a problem is in, beside [`List::Problems`], which its own item carries.
fn lists(problem: &ProblemSummary) -> Vec<List> {
    let mut lists: Vec<List> = problem.statuses().into_iter().map(List::ProblemsOfStatus).collect();
    if problem.deletion.is_none() {
        lists.push(List::ProblemsOfPlatform(problem.at.platform.clone()));
        lists.extend(problem.tags.iter().cloned().map(List::ProblemsWithTag));
    }
    lists
}

/// The entries of a problem in lists.
pub(super) fn entries(problem: &ProblemSummary) -> Vec<ListEntry> {
    lists(problem).iter().map(|list| list.problem(problem.created_s, &problem.at)).collect()
}

/// The item with its own entry in [`List::Problems`], or without when the problem is deleted.
pub(super) fn index(item: &mut Item, problem: &ProblemSummary) {
    let (partition, sort) = index_attributes(GSI2);
    if problem.deletion.is_some() {
        item.remove(&partition);
        item.remove(&sort);
    } else {
        let key = List::Problems.problem(problem.created_s, &problem.at).index;
        item.set(partition, key.partition);
        item.set(sort, key.sort);
    }
}

impl<B: Backend> Practice<B> {
    /// The writes that move a problem from its old lists to its new ones.
    pub(super) fn entry_writes(&self, old: &[ListEntry], new: &[ListEntry]) -> Vec<Write> {
        let table = self.table();
        let gone = old.iter().filter(|entry| !new.contains(entry));
        let come = new.iter().filter(|entry| !old.contains(entry));
        let deletes = gone.map(|entry| Write::delete(table.clone(), entry.key.clone()));
        let puts = come.map(|entry| Write::put(table.clone(), list_entry(entry.clone())));
        deletes.chain(puts).collect()
    }
}

//! Items in memory, changed by one request after the other: what an order of requests must return.

use std::collections::BTreeMap;

use weir_table::expr::{apply, eval};
use weir_table::request::Action;
use weir_table::{Item, Key, Transacted, Verdict, Write, Written};

use crate::answers::Answer;
use crate::program::Step;
use crate::shapes::PARTITION;

/// Items of one table without sort key, by their keys.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) items: BTreeMap<String, Item>,
}

impl Memory {
    /// Does a valid request.
    pub(crate) fn ask(&mut self, step: &Step) -> Result<Answer, String> {
        Ok(match step {
            Step::Write(write) => Answer::Written(self.write(write)?),
            Step::Add(add) => Answer::Written(add.selected(self.write(&add.write())?)),
            Step::Transact(transaction) => Answer::Transacted(self.transact(&transaction.writes)?),
            Step::Get(get) => Answer::Items(vec![self.get(&get.key)]),
            Step::TransactGet(gets) => {
                Answer::Items(gets.iter().map(|get| self.get(&get.key)).collect())
            }
            step => return Err(format!("no step of a concurrent program: {step:?}")),
        })
    }

    fn get(&self, key: &Key) -> Option<Item> {
        self.items.get(&name_of(key)).cloned()
    }

    fn transact(&mut self, writes: &[Write]) -> Result<Transacted, String> {
        let verdict = |write: &Write| {
            let item = self.items.get(&key_of(write));
            if holds(write, item) { Verdict::Held } else { Verdict::Failed(item.cloned()) }
        };
        let verdicts: Vec<Verdict> = writes.iter().map(verdict).collect();
        if verdicts.iter().any(|verdict| *verdict != Verdict::Held) {
            return Ok(Transacted::Refused(verdicts));
        }
        for write in writes {
            self.write(write)?;
        }
        Ok(Transacted::Applied)
    }

    fn write(&mut self, write: &Write) -> Result<Written, String> {
        let key = key_of(write);
        let old = self.items.get(&key).cloned();
        if !holds(write, old.as_ref()) {
            return Ok(Written::Refused(old));
        }
        match &write.action {
            Action::Check(_) => {}
            Action::Delete(_) => drop(self.items.remove(&key)),
            Action::Put(item) => drop(self.items.insert(key, item.clone())),
            Action::Update(at, update) => {
                let fresh = || Item::new().with(PARTITION, at.partition.to_value());
                let new = apply::apply(update, &old.unwrap_or_else(fresh));
                let new = new.map_err(|error| format!("{error:?}"))?;
                self.items.insert(key, new.clone());
                return Ok(Written::Applied(Some(new)));
            }
        }
        Ok(Written::Applied(old))
    }
}

fn holds(write: &Write, item: Option<&Item>) -> bool {
    let nothing = Item::new();
    let item = item.unwrap_or(&nothing);
    write.condition.as_ref().is_none_or(|condition| eval::holds(condition, item))
}

/// The name of a key.
pub(crate) fn name_of(key: &Key) -> String {
    format!("{:?}", key.partition.to_value())
}

fn key_of(write: &Write) -> String {
    match &write.action {
        Action::Put(item) => {
            format!("{:?}", item.get(PARTITION).unwrap_or(&weir_table::Value::Null))
        }
        Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => name_of(key),
    }
}

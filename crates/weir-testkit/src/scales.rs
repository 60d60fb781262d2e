//! Costs of transactions on DynamoDB, by our calculator.
//!
//! DynamoDB Local reports writes of one transaction that cost the same only once, and bills checks like reads. So the items of a
//! transaction are read before and after it, on a way of their own that no meter sees, and weighed by [`weir_table::capacity`].

use std::pin::Pin;

use weir_table::capacity::{WriteUnits, refused_write, transact_read_milliunits, transactional};
use weir_table::request::Action;
use weir_table::{Backend, Get, Item, Key, Result, TableSpec, Transaction};

type Read<'a> = Pin<Box<dyn Future<Output = Result<Vec<Option<Item>>>> + Send + 'a>>;
type Images = Vec<Option<Item>>;

/// Reads items where no meter sees it.
trait Reads: Send + Sync {
    fn read<'a>(&'a self, gets: &'a [Get]) -> Read<'a>;
}

impl<B: Backend> Reads for B {
    fn read<'a>(&'a self, gets: &'a [Get]) -> Read<'a> {
        Box::pin(self.batch_get(gets))
    }
}

/// Write units of tables and of indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Units {
    /// Of tables.
    pub tables: u64,
    /// Of indexes.
    pub indexes: u64,
}

impl std::ops::AddAssign for Units {
    fn add_assign(&mut self, other: Units) {
        self.tables += other.tables;
        self.indexes += other.indexes;
    }
}

impl std::ops::Sub for Units {
    type Output = Units;

    fn sub(self, other: Units) -> Units {
        Units { tables: self.tables - other.tables, indexes: self.indexes - other.indexes }
    }
}

/// The costs of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weight {
    /// The costs of all writes.
    pub all: Units,
    /// What DynamoDB Local reports: each cost that a transaction has once, and a check like a read.
    pub reported: Units,
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.all += other.all;
        self.reported += other.reported;
    }
}

impl std::ops::Sub for Weight {
    type Output = Weight;

    fn sub(self, other: Weight) -> Weight {
        Weight { all: self.all - other.all, reported: self.reported - other.reported }
    }
}

/// The items that a transaction is about.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    gets: Vec<Get>,
    /// Whether each is only checked.
    checks: Vec<bool>,
}

/// Weighs transactions on tables of known shapes.
pub(crate) struct Scales {
    specs: Vec<TableSpec>,
    reads: Box<dyn Reads>,
}

impl std::fmt::Debug for Scales {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scales")
    }
}

impl Scales {
    pub(crate) fn new<B: Backend>(specs: Vec<TableSpec>, beside: B) -> Scales {
        Scales { specs, reads: Box::new(beside) }
    }

    fn spec(&self, table: &str) -> Option<&TableSpec> {
        self.specs.iter().find(|spec| spec.name == table)
    }

    /// The items of tables whose shapes are known.
    pub(crate) fn targets(&self, transaction: &Transaction) -> Result<Targets> {
        let mut targets = Targets::default();
        for write in &transaction.writes {
            let Some(spec) = self.spec(write.table.as_str()) else { continue };
            let key: Key = match &write.action {
                Action::Put(item) => spec.key_of(item)?,
                Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => key.clone(),
            };
            targets.gets.push(Get::new(write.table.clone(), key));
            targets.checks.push(matches!(write.action, Action::Check(_)));
        }
        Ok(targets)
    }

    pub(crate) async fn read(&self, targets: &Targets) -> Result<Images> {
        self.reads.read(&targets.gets).await
    }

    /// What a transaction cost that left `new` where `old` was. One that was refused is billed by what is there.
    pub(crate) fn weigh(
        &self,
        targets: &Targets,
        old: &Images,
        new: &Images,
        applied: bool,
    ) -> Weight {
        let (mut weight, mut costs) = (Weight::default(), Vec::new());
        let images = old.iter().zip(new);
        for ((get, is_check), (old, new)) in targets.gets.iter().zip(&targets.checks).zip(images) {
            let Some(spec) = self.spec(get.table.as_str()) else { continue };
            let of_table = |table: u64| WriteUnits { table, ..WriteUnits::default() };
            let cost = match applied {
                true => WriteUnits::of(spec, old.as_ref(), new.as_ref()).transactional(),
                false => of_table(transactional(refused_write(old.as_ref()))),
            };
            weight.all += units(&cost);
            let reported = if *is_check {
                let bytes = old.as_ref().map_or(0, Item::size);
                of_table(transact_read_milliunits(bytes) / 1_000)
            } else {
                cost
            };
            let reported = (get.table.clone(), reported);
            if !costs.contains(&reported) {
                weight.reported += units(&reported.1);
                costs.push(reported);
            }
        }
        weight
    }
}

fn units(cost: &WriteUnits) -> Units {
    Units { tables: cost.table, indexes: cost.indexes() }
}

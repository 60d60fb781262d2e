//! What transactions cost on DynamoDB, by our calculator.
//!
//! DynamoDB Local reports writes of one transaction that cost the same only once. So the items of a transaction are read before and
//! after it, on a way of their own that no meter sees, and weighed by [`weir_table::capacity`].

use std::pin::Pin;

use weir_table::capacity::{WriteUnits, refused_write, transactional};
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

/// What transactions cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weight {
    /// What all writes cost.
    pub all: Units,
    /// What DynamoDB Local reports: each cost that a transaction has, once.
    pub distinct: Units,
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.all += other.all;
        self.distinct += other.distinct;
    }
}

impl std::ops::Sub for Weight {
    type Output = Weight;

    fn sub(self, other: Weight) -> Weight {
        Weight { all: self.all - other.all, distinct: self.distinct - other.distinct }
    }
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

    /// The items a transaction is about; none where a table's shape is not known.
    pub(crate) fn gets(&self, transaction: &Transaction) -> Result<Vec<Get>> {
        let writes = transaction.writes.iter();
        let known = writes.filter_map(|write| Some((write, self.spec(write.table.as_str())?)));
        let get = |(write, spec): (&weir_table::Write, &TableSpec)| {
            let key: Key = match &write.action {
                Action::Put(item) => spec.key_of(item)?,
                Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => key.clone(),
            };
            Ok(Get::new(write.table.clone(), key))
        };
        known.map(get).collect()
    }

    pub(crate) async fn read(&self, gets: &[Get]) -> Result<Images> {
        self.reads.read(gets).await
    }

    /// What a transaction cost that left `new` where `old` was. One that was refused is billed by what is there.
    pub(crate) fn weigh(&self, gets: &[Get], old: &Images, new: &Images, applied: bool) -> Weight {
        let (mut weight, mut costs) = (Weight::default(), Vec::new());
        for ((get, old), new) in gets.iter().zip(old).zip(new) {
            let Some(spec) = self.spec(get.table.as_str()) else { continue };
            let cost = match applied {
                true => WriteUnits::of(spec, old.as_ref(), new.as_ref()).transactional(),
                false => WriteUnits {
                    table: transactional(refused_write(old.as_ref())),
                    ..WriteUnits::default()
                },
            };
            let units = Units { tables: cost.table, indexes: cost.indexes() };
            weight.all += units;
            let cost = (get.table.clone(), cost);
            if !costs.contains(&cost) {
                weight.distinct += units;
                costs.push(cost);
            }
        }
        weight
    }
}

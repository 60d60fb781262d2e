//! Runs a program on both sides and compares after every step.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::dynamodb::Dynamo;
use weir_table::embedded::Embedded;
use weir_table::request::Action;
use weir_table::{Backend as _, Error, Get, Key, Name, Query, Result, Store, TableSpec};
use weir_table::{Transaction, Write};

use crate::answers::{Answer, agree, all_pages, ask, in_any_order};
use crate::exceptions::{Difference, Endpoint, Exception, not_asked};
use crate::program::{Program, Step, table_name};
use crate::shapes::shape;
use crate::sides::{Fault, Oracle, Side, open};

/// Programs run so far in this process: each has tables and tokens of its own.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// An oracle and how it is called.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) endpoint: Endpoint,
    /// The connection, behind our checks.
    pub(crate) store: Store<Dynamo>,
}

impl Reference {
    /// Asks the oracle: DynamoDB Local as it is, dynoxide behind our checks (see [`exceptions`]).
    /// A batch of gets is always checked, because the back-end groups it and asks for keys too.
    ///
    /// [`exceptions`]: crate::exceptions
    async fn ask(&self, step: &Step) -> Answer {
        match (self.endpoint, step) {
            (Endpoint::Dynoxide, _) | (_, Step::BatchGet(_)) => ask(&self.store, step).await,
            (Endpoint::DynamoDbLocal, _) => ask(&Oracle(self.store.backend()), step).await,
        }
    }
}

/// A program in the middle of its run.
struct Run<'a> {
    program: &'a Program,
    reference: &'a Reference,
    dir: tempfile::TempDir,
    ours: Option<Store<Embedded>>,
    specs: Vec<TableSpec>,
    number: u64,
    /// The last transaction with a token.
    last: Option<Transaction>,
    excused: Vec<Exception>,
}

/// Runs `program`; the error tells what differed.
pub(crate) async fn run(
    program: &Program,
    reference: &Reference,
) -> Result<Vec<Exception>, String> {
    let mut run = Run::start(program, reference).await.map_err(failed("starting"))?;
    let outcome = match run.steps().await {
        Ok(()) => run.compare_contents().await,
        differs => differs,
    };
    run.clear().await.map_err(failed("clearing up"))?;
    outcome.map(|()| run.excused)
}

fn failed(doing: &str) -> impl Fn(Error) -> String {
    move |error| format!("{doing}: {error:?}")
}

impl<'a> Run<'a> {
    async fn start(program: &'a Program, reference: &'a Reference) -> Result<Run<'a>> {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let dir = folder()?;
        let ours = open(dir.path(), program.setting)?;
        let specs: Vec<TableSpec> = program
            .shapes
            .iter()
            .enumerate()
            .map(|(place, shapes)| shape(*shapes, wire_name(number, &table_name(place))))
            .collect();
        for spec in &specs {
            ours.create(spec).await?;
            reference.store.create(spec).await?;
        }
        Ok(Run {
            program,
            reference,
            dir,
            ours: Some(ours),
            specs,
            number,
            last: None,
            excused: Vec::new(),
        })
    }

    fn ours(&self) -> Result<&Store<Embedded>, String> {
        self.ours.as_ref().ok_or_else(|| "the store is closed".to_owned())
    }

    fn oracle(&self) -> Oracle<'a> {
        Oracle(self.reference.store.backend())
    }

    async fn steps(&mut self) -> Result<(), String> {
        for (place, step) in self.program.steps.iter().enumerate() {
            self.step(step).await.map_err(|differs| format!("step {place}: {differs}"))?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Checkpoint => {
                let ours = self.ours()?.backend();
                ours.checkpoint().await.map_err(failed("folding"))
            }
            Step::Reopen => self.reopen().await,
            Step::Again => match self.last.clone() {
                Some(transaction) => self.compare(&Step::Transact(transaction)).await,
                None => Ok(()),
            },
            step => {
                let step = self.renamed(step);
                if let Step::Transact(transaction) = &step
                    && transaction.token.is_some()
                {
                    self.last = Some(transaction.clone());
                }
                self.compare(&step).await
            }
        }
    }

    async fn reopen(&mut self) -> Result<(), String> {
        if let Some(ours) = self.ours.take() {
            ours.backend().close().await.map_err(failed("closing"))?;
        }
        let opened = open(self.dir.path(), self.program.setting).map_err(failed("opening"))?;
        self.ours = Some(opened);
        Ok(())
    }

    /// Does a step on both sides.
    async fn compare(&mut self, step: &Step) -> Result<(), String> {
        let ours = ask(self.ours()?, step).await;
        if let Some(exception) = not_asked(self.reference.endpoint, step, &ours) {
            self.excused.push(exception);
            return self.copy_to_oracle(step).await;
        }
        let theirs = self.reference.ask(step).await;
        if agree(step, self.sort_of(step), &ours, &theirs) {
            return self.compare_fields(step, &ours).await;
        }
        let difference = Difference {
            endpoint: self.reference.endpoint,
            spec: self.spec_of(step),
            step,
            ours: &ours,
            theirs: &theirs,
        };
        match difference.excuse() {
            Some(exception) => {
                self.excused.push(exception);
                self.copy_to_oracle(step).await
            }
            None => Err(format!("{step:#?}\nembedded: {ours:#?}\noracle: {theirs:#?}")),
        }
    }

    /// A request that both sides refuse is refused with the same field by both of our back-ends.
    async fn compare_fields(&self, step: &Step, ours: &Answer) -> Result<(), String> {
        let Answer::Failed(Fault::Invalid, field, _) = ours else {
            return Ok(());
        };
        match ask(&self.reference.store, step).await {
            Answer::Failed(Fault::Invalid, theirs, _) if theirs == *field => Ok(()),
            theirs => Err(format!(
                "{step:#?}\nembedded refuses {ours:?}\nthe DynamoDB back-end answers {theirs:?}"
            )),
        }
    }

    /// The table that a step is about, when it is about one.
    fn spec_of(&self, step: &Step) -> Option<&TableSpec> {
        let table = match step {
            Step::Write(write) => &write.table,
            Step::Get(get) => &get.table,
            Step::Query(query) => &query.table,
            _ => return None,
        };
        self.specs.iter().find(|spec| *table == spec.name)
    }

    /// The sort attribute of the index that a step reads.
    fn sort_of(&self, step: &Step) -> Option<&Name> {
        let Step::Query(query) = step else {
            return None;
        };
        let index = query.index.as_deref()?;
        self.spec_of(step)?.find_index(index).ok()?.sort.as_ref()
    }

    /// After a difference that is excused the oracle gets what the embedded store has.
    async fn copy_to_oracle(&self, step: &Step) -> Result<(), String> {
        let writes = match step {
            Step::Write(write) => std::slice::from_ref(write),
            Step::BatchWrite(writes) => writes,
            Step::Transact(transaction) => &transaction.writes,
            _ => return Ok(()),
        };
        for write in writes {
            let spec = self.specs.iter().find(|spec| write.table == spec.name);
            let Some(key) = spec.and_then(|spec| key_of(spec, write)) else {
                continue;
            };
            let table = write.table.clone();
            let get = Get::new(table.clone(), key.clone());
            let Ok(item) = self.ours()?.get(&get).await else {
                continue;
            };
            let copy = match item {
                Some(item) => Write::put(table, item),
                None => Write::delete(table, key),
            };
            self.oracle().write(copy).await.map_err(failed("copying"))?;
        }
        Ok(())
    }

    /// Every table and every index holds the same on both sides.
    async fn compare_contents(&self) -> Result<(), String> {
        for spec in &self.specs {
            let indexes = spec.indexes.iter().map(|index| Some(index.name.as_str()));
            for index in indexes.chain([None]) {
                let scan = Query::scan(spec.name.as_str());
                let scan = match index {
                    Some(index) => scan.index(index),
                    None => scan,
                };
                let ours = all_pages(self.ours()?, &scan).await.map_err(failed("scanning"))?;
                let theirs = all_pages(&self.oracle(), &scan).await.map_err(failed("scanning"))?;
                let (ours, theirs) = (in_any_order(&ours.items), in_any_order(&theirs.items));
                if ours != theirs {
                    return Err(format!(
                        "at the end {} {index:?} holds\nembedded: {ours:#?}\noracle: {theirs:#?}",
                        spec.name
                    ));
                }
            }
        }
        Ok(())
    }

    async fn clear(&self) -> Result<()> {
        for spec in &self.specs {
            self.oracle().0.delete_table(&spec.name).await?;
        }
        if let Some(ours) = &self.ours {
            ours.backend().close().await?;
        }
        Ok(())
    }

    /// The step with the names that tables and tokens have in this run.
    fn renamed(&self, step: &Step) -> Step {
        let mut step = step.clone();
        let rename = |table: &mut Name| *table = wire_name(self.number, table).into();
        match &mut step {
            Step::Write(write) => rename(&mut write.table),
            Step::BatchWrite(writes) => writes.iter_mut().for_each(|w| rename(&mut w.table)),
            Step::Transact(transaction) => {
                transaction.writes.iter_mut().for_each(|w| rename(&mut w.table));
                if let Some(token) = &mut transaction.token {
                    *token = format!("{}-{token}", self.token_prefix());
                }
            }
            Step::Get(get) => rename(&mut get.table),
            Step::BatchGet(gets) | Step::TransactGet(gets) => {
                gets.iter_mut().for_each(|get| rename(&mut get.table));
            }
            Step::Query(query) => rename(&mut query.table),
            Step::Again | Step::Checkpoint | Step::Reopen => {}
        }
        step
    }

    /// Tokens are remembered by the endpoint, which other processes use too.
    fn token_prefix(&self) -> String {
        format!("{}-{}", std::process::id(), self.number)
    }
}

/// A folder in memory where there is one: thousands of programs would wait for the disk.
fn folder() -> Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .map_err(|source| Error::io("making a temporary folder", source))
}

fn wire_name(run: u64, table: &str) -> String {
    format!("{run}-{table}")
}

fn key_of(spec: &TableSpec, write: &Write) -> Option<Key> {
    match &write.action {
        Action::Put(item) => spec.key_of(item).ok(),
        Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => Some(key.clone()),
    }
}

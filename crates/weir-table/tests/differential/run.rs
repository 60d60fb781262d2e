//! Runs a program on both sides and compares after every step.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::dynamodb::Dynamo;
use weir_table::embedded::Embedded;
use weir_table::expr;
use weir_table::request::Action;
use weir_table::{
    Added, Backend, Error, Get, Item, Name, Prepared, Query, Result, Store, TableSpec, Transaction,
    Written,
};

use crate::adapted;
use crate::additions::Add;
use crate::answers::{Answer, agree, all_pages, ask, in_any_order};
use crate::exceptions::{Endpoint, Exception, Excused};
use crate::excuses::Difference;
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
    pub(crate) async fn ask(&self, step: &Step) -> Answer {
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
    /// The prepared additions, by their number.
    prepared: HashMap<usize, Arc<Prepared>>,
    report: Report,
}

/// What a run did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) excused: Excused,
    /// Additions that the embedded store made in place.
    pub(crate) additions_in_place: u64,
    /// Additions that it made as updates, or refused.
    pub(crate) additions_fallback: u64,
}

impl Report {
    pub(crate) fn add(&mut self, other: &Report) {
        self.excused.add(&other.excused);
        self.additions_in_place += other.additions_in_place;
        self.additions_fallback += other.additions_fallback;
    }
}

/// Runs `program`; the error says what differed.
pub(crate) async fn run(program: &Program, reference: &Reference) -> Result<Report, String> {
    let mut run = Run::start(program, reference).await.map_err(failed("starting"))?;
    let outcome = match run.steps().await {
        Ok(()) => run.compare_contents().await,
        differs => differs,
    };
    run.clear().await.map_err(failed("clearing up"))?;
    outcome.map(|()| run.report)
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
            // Expired items stay until the end on both sides.
            reference.store.create(&TableSpec { ttl: None, ..spec.clone() }).await?;
        }
        Ok(Run {
            program,
            reference,
            dir,
            ours: Some(ours),
            specs,
            number,
            last: None,
            prepared: HashMap::new(),
            report: Report::default(),
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
                let times = if let Step::Add(add) = &step { add.times } else { 1 };
                for _ in 0..times {
                    self.compare(&step).await?;
                }
                Ok(())
            }
        }
    }

    async fn reopen(&mut self) -> Result<(), String> {
        self.count_additions();
        if let Some(ours) = self.ours.take() {
            ours.backend().close().await.map_err(failed("closing"))?;
        }
        let opened = open(self.dir.path(), self.program.setting).map_err(failed("opening"))?;
        self.ours = Some(opened);
        Ok(())
    }

    /// Does a step on both sides.
    async fn compare(&mut self, step: &Step) -> Result<(), String> {
        self.report.excused.steps += 1;
        let is_dynoxide = self.reference.endpoint == Endpoint::Dynoxide;
        let written_out = adapted::without_exponents(step).filter(|_| is_dynoxide);
        if written_out.is_some() {
            self.report.excused.count(Exception::NumberSetByText);
        }
        let step = written_out.as_ref().unwrap_or(step);
        let asked = if is_dynoxide { self.eager(step).await? } else { None };
        if asked.is_some() {
            self.report.excused.count(Exception::LazyFallback);
        }
        let asked = asked.as_ref().unwrap_or(step);
        let ours = self.ask_ours(step).await?;
        let theirs = self.reference.ask(asked).await;
        if agree(step, self.sort_of(step), &ours, &theirs) {
            return self.compare_fields(asked, &ours).await;
        }
        let difference = Difference {
            store: self.ours()?,
            reference: self.reference,
            spec: self.spec_of(step),
            sort: self.sort_of(step),
            step,
            ours: &ours,
            theirs: &theirs,
        };
        match difference.excuse().await {
            Some(exception) => {
                self.report.excused.count(exception);
                Ok(())
            }
            None => Err(format!("{step:#?}\nembedded: {ours:#?}\noracle: {theirs:#?}")),
        }
    }

    async fn ask_ours(&mut self, step: &Step) -> Result<Answer, String> {
        let Step::Add(add) = step else {
            return Ok(ask(self.ours()?, step).await);
        };
        let store = self.ours()?.clone();
        let prepared = match self.prepared.get(&add.number) {
            Some(prepared) => Arc::clone(prepared),
            None => match store.prepare(add.addition.clone()).await {
                Ok(prepared) => Arc::clone(self.prepared.entry(add.number).or_insert(prepared)),
                Err(error) => return Ok(Answer::failed(&error)),
            },
        };
        Ok(make_addition(&store, &prepared, add).await)
    }

    /// The step with the defaults that dynoxide would not read, by the items that it has.
    async fn eager(&self, step: &Step) -> Result<Option<Step>, String> {
        let mut eager = step.clone();
        let mut is_changed = false;
        for write in adapted::writes(&mut eager) {
            let Action::Update(key, update) = &mut write.action else { continue };
            let spec = self.specs.iter().find(|spec| write.table == spec.name);
            let is_valid = spec.is_some_and(|spec| expr::check::update(spec, update).is_ok());
            if !is_valid || adapted::with_eager_fallback(update, &Item::new()).is_none() {
                continue;
            }
            // An invalid key is refused later.
            let get = Get::new(write.table.clone(), key.clone());
            let Ok(item) = self.reference.store.get(&get).await else { continue };
            if let Some(changed) = adapted::with_eager_fallback(update, &item.unwrap_or_default()) {
                *update = changed;
                is_changed = true;
            }
        }
        Ok(is_changed.then_some(eager))
    }

    /// A request that both sides refuse is refused with the same field by both of our back-ends.
    async fn compare_fields(&self, step: &Step, ours: &Answer) -> Result<(), String> {
        let Answer::Failed(Fault::Invalid, field, _) = ours else {
            return Ok(());
        };
        let store = &self.reference.store;
        let theirs = match step {
            Step::Add(add) => match store.prepare(add.addition.clone()).await {
                Ok(prepared) => make_addition(store, &prepared, add).await,
                Err(error) => Answer::failed(&error),
            },
            step => ask(store, step).await,
        };
        match theirs {
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
            Step::Add(add) => &add.addition.table,
            Step::Get(get) => &get.table,
            Step::Query(query) => &query.table,
            _ => return None,
        };
        self.specs.iter().find(|spec| *table == spec.name)
    }

    /// The sort attribute of the table or index that a step reads.
    fn sort_of(&self, step: &Step) -> Option<&Name> {
        let Step::Query(query) = step else {
            return None;
        };
        let spec = self.spec_of(step)?;
        match query.index.as_deref() {
            Some(index) => spec.find_index(index).ok()?.sort.as_ref(),
            None => spec.sort.as_ref(),
        }
    }

    /// Every table and every index holds the same on both sides.
    async fn compare_contents(&mut self) -> Result<(), String> {
        self.count_additions();
        let verified = self.ours()?.backend().verify().await.map_err(failed("verifying"))?;
        if !verified.is_sound() {
            return Err(format!("at the end {verified:#?}"));
        }
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

    fn count_additions(&mut self) {
        if let Some(ours) = &self.ours {
            let stats = ours.backend().stats();
            self.report.additions_in_place += stats.additions_in_place_total;
            self.report.additions_fallback += stats.additions_fallback_total;
        }
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
            Step::Add(add) => rename(&mut add.addition.table),
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
pub(crate) fn folder() -> Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .map_err(|source| Error::io("making a temporary folder", source))
}

fn wire_name(run: u64, table: &str) -> String {
    format!("{run}-{table}")
}

/// Makes a prepared addition.
pub(crate) async fn make_addition<B: Backend>(
    store: &Store<B>,
    prepared: &Arc<Prepared>,
    add: &Add,
) -> Answer {
    let request = weir_table::Add { prepared, key: &add.key, add: &add.add, than: &add.than };
    match store.add(request, Item::clone).await {
        Ok(Added::Done(item)) => Answer::Written(add.selected(Written::Applied(Some(item)))),
        Ok(Added::Refused(item)) => Answer::Written(Written::Refused(item)),
        Err(error) => Answer::failed(&error),
    }
}

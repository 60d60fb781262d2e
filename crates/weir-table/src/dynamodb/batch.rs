//! Batches: many items in one call, each independent of the others.
//!
//! DynamoDB may leave part of a batch unprocessed, because it throttles or the response grew too large. That part is sent
//! again after a wait, a bounded number of times without progress.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aws_sdk_dynamodb::types::{
    DeleteRequest, KeysAndAttributes, PutRequest, ReturnConsumedCapacity, WriteRequest,
};
use tokio::time::Instant;

use super::convert::{self, WireItem};
use super::meter::Verb;
use super::render::Placeholders;
use super::retry::Call;
use super::{Dynamo, tables};
use crate::error::{Error, Result};
use crate::expr::Path;
use crate::item::Item;
use crate::key::Key;
use crate::request::{Action, Consistency, Get, Write};
use crate::spec::TableSpec;
use crate::value::Name;

/// Gets of one table that share the options that a call has only once per table.
struct Group<'a> {
    spec: Arc<TableSpec>,
    consistency: Consistency,
    projection: Option<&'a [Path]>,
    positions: HashMap<Key, usize>,
}

/// Reads items; the results are in the order of the requests.
pub(super) async fn get(dynamo: &Dynamo, gets: &[Get]) -> Result<Vec<Option<Item>>> {
    let mut found = vec![None; gets.len()];
    let mut groups = grouped(dynamo, gets).await?;
    let table = only_table(gets.iter().map(|get| &get.table));
    while !groups.is_empty() {
        // A call takes one group of each table; further groups of a table wait for the next call.
        let mut now: BTreeMap<String, Group<'_>> = BTreeMap::new();
        let mut later = Vec::new();
        for group in groups {
            match now.entry(group.spec.name.clone()) {
                Entry::Vacant(free) => {
                    free.insert(group);
                }
                Entry::Occupied(_) => later.push(group),
            }
        }
        get_groups(dynamo, table, &now, &mut found).await?;
        groups = later;
    }
    Ok(found)
}

async fn grouped<'a>(dynamo: &Dynamo, gets: &'a [Get]) -> Result<Vec<Group<'a>>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (position, get) in gets.iter().enumerate() {
        let projection = get.projection.as_deref();
        let same = groups.iter_mut().find(|group| {
            group.spec.name == get.table
                && group.consistency == get.consistency
                && group.projection == projection
        });
        if let Some(group) = same {
            group.positions.insert(get.key.clone(), position);
        } else {
            groups.push(Group {
                spec: tables::spec(dynamo, &get.table).await?,
                consistency: get.consistency,
                projection,
                positions: HashMap::from([(get.key.clone(), position)]),
            });
        }
    }
    Ok(groups)
}

async fn get_groups(
    dynamo: &Dynamo,
    table: &str,
    groups: &BTreeMap<String, Group<'_>>,
    found: &mut [Option<Item>],
) -> Result<()> {
    let mut wanted = HashMap::new();
    for (name, group) in groups {
        wanted.insert(dynamo.wire_name(name), wire_group(group)?);
    }
    let mut retries = UnprocessedRetries::new(dynamo);
    while !wanted.is_empty() {
        let request = dynamo
            .tables
            .batch_get_item()
            .set_request_items(Some(wanted))
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let call = calling(Verb::BatchGet, table);
        let response = dynamo
            .retries
            .run(&dynamo.meter, call, || request.clone().send())
            .await
            .map_err(|failed| dynamo.error(failed, "reading a batch", table))?
            .value;
        dynamo.meter.consumed(Verb::BatchGet, response.consumed_capacity());
        for (wire_name, items) in response.responses.unwrap_or_default() {
            let name = wire_name.strip_prefix(&dynamo.prefix).unwrap_or_default();
            if let Some(group) = groups.get(name) {
                place(group, items, found)?;
            }
        }
        wanted = response.unprocessed_keys.unwrap_or_default();
        let left = wanted.values().map(|left| left.keys.len()).sum();
        retries.wait(call, left).await?;
    }
    Ok(())
}

fn wire_group(group: &Group<'_>) -> Result<KeysAndAttributes> {
    let spec = &group.spec;
    let mut placeholders = Placeholders::default();
    // The key attributes are requested too: they identify the request of an item.
    let keys: Vec<Path> = key_names(spec).map(|name| Path::new(name.clone())).collect();
    let projection = group.projection.map(|paths| {
        let others = paths.iter().filter(|path| !spec.is_key(&path.attribute));
        placeholders.projection(others.chain(&keys))
    });
    KeysAndAttributes::builder()
        .set_keys(Some(group.positions.keys().map(|key| convert::key(spec, key)).collect()))
        .consistent_read(group.consistency == Consistency::Strong)
        .set_projection_expression(projection)
        .set_expression_attribute_names(placeholders.names())
        .build()
        .map_err(|source| Error::backend("making a request to DynamoDB", source))
}

fn key_names(spec: &TableSpec) -> impl Iterator<Item = &Name> {
    [&spec.partition].into_iter().chain(&spec.sort)
}

/// Puts items at the positions of their requests, without key attributes that were not requested.
fn place(group: &Group<'_>, items: Vec<WireItem>, found: &mut [Option<Item>]) -> Result<()> {
    for wire in items {
        let mut item = convert::read_item(wire)?;
        let key = group.spec.key_of(&item)?;
        if let Some(paths) = group.projection {
            for name in key_names(&group.spec) {
                let is_requested = |path: &Path| path.attribute == *name && path.steps.is_empty();
                if !paths.iter().any(is_requested) {
                    item.remove(name);
                }
            }
        }
        let slot = group.positions.get(&key).and_then(|position| found.get_mut(*position));
        match slot {
            Some(slot) => *slot = Some(item),
            None => {
                let problem = format!("DynamoDB returned {key}, which was not requested");
                return Err(Error::backend("reading a batch", problem));
            }
        }
    }
    Ok(())
}

/// Puts and deletes items, each independent of the others.
pub(super) async fn write(dynamo: &Dynamo, writes: Vec<Write>) -> Result<()> {
    let table = only_table(writes.iter().map(|write| &write.table));
    let mut wanted: HashMap<String, Vec<WriteRequest>> = HashMap::new();
    for write in &writes {
        let spec = tables::spec(dynamo, &write.table).await?;
        let requests = wanted.entry(dynamo.wire_name(&write.table)).or_default();
        requests.push(wire_write(&spec, write)?);
    }
    let mut retries = UnprocessedRetries::new(dynamo);
    while !wanted.is_empty() {
        let request = dynamo
            .tables
            .batch_write_item()
            .set_request_items(Some(wanted))
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let call = calling(Verb::BatchWrite, table);
        let response = dynamo
            .retries
            .run(&dynamo.meter, call, || request.clone().send())
            .await
            .map_err(|failed| dynamo.error(failed, "writing a batch", table))?
            .value;
        dynamo.meter.consumed(Verb::BatchWrite, response.consumed_capacity());
        wanted = response.unprocessed_items.unwrap_or_default();
        let left = wanted.values().map(Vec::len).sum();
        retries.wait(call, left).await?;
    }
    Ok(())
}

fn wire_write(spec: &TableSpec, write: &Write) -> Result<WriteRequest> {
    let fault = |source| Error::backend("making a request to DynamoDB", source);
    let request = WriteRequest::builder();
    Ok(match &write.action {
        Action::Put(item) => {
            let put = PutRequest::builder().set_item(Some(convert::item(item)));
            request.put_request(put.build().map_err(fault)?)
        }
        Action::Delete(key) => {
            let delete = DeleteRequest::builder().set_key(Some(convert::key(spec, key)));
            request.delete_request(delete.build().map_err(fault)?)
        }
        Action::Update(..) | Action::Check(_) => {
            return Err(Error::invalid("writes", "a batch takes puts and deletes"));
        }
    }
    .build())
}

fn calling(verb: Verb, table: &str) -> Call<'_> {
    Call { verb, table, repeatable: true }
}

/// The common table; empty if there are several.
pub(super) fn only_table<'a>(tables: impl IntoIterator<Item = &'a Name>) -> &'a str {
    let mut tables = tables.into_iter();
    match tables.next() {
        Some(first) if tables.all(|table| table == first) => first,
        _ => "",
    }
}

/// Bounds the retries of unprocessed parts of a batch.
struct UnprocessedRetries<'a> {
    dynamo: &'a Dynamo,
    deadline: Instant,
    left: usize,
    without_progress: u32,
}

impl<'a> UnprocessedRetries<'a> {
    fn new(dynamo: &'a Dynamo) -> UnprocessedRetries<'a> {
        UnprocessedRetries {
            dynamo,
            deadline: dynamo.retries.deadline(),
            left: usize::MAX,
            without_progress: 0,
        }
    }

    /// Waits if `left` requests are unprocessed. After progress it waits only a little, because the response was just full.
    async fn wait(&mut self, call: Call<'_>, left: usize) -> Result<()> {
        if left == 0 {
            return Ok(());
        }
        let progress = left < self.left && self.left != usize::MAX;
        self.without_progress = if progress { 1 } else { self.without_progress + 1 };
        self.left = left;
        let meter = &self.dynamo.meter;
        meter.throttled(call.verb, call.table);
        let retries = &self.dynamo.retries;
        if self.without_progress >= retries.attempts_max()
            || !retries.wait(self.without_progress, self.deadline).await
        {
            return Err(Error::Throttled);
        }
        meter.retried(call.verb, call.table);
        Ok(())
    }
}

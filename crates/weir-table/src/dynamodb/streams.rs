//! The change feed: DynamoDB Streams.
//!
//! A stream has shards; each is read with an iterator, which every read replaces. A position is the sequence number of the
//! last change that was read. The iterator that follows it is cached, so that a quiet shard needs no new one for each read.
//!
//! `Latest` has no sequence number until something changes. There the iterator itself is the position, marked by
//! [`ITERATOR_MARK`], so changes between two reads are not lost, even if another instance makes the second one. AWS drops
//! an iterator after 15 minutes; such a position is then trimmed.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodbstreams::operation::get_records::{GetRecordsError, GetRecordsOutput};
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};
use tokio::time::Instant;

use super::meter::Verb;
use super::retry::{Call, Failed};
use super::{Dynamo, convert, tables};
use crate::error::{Error, Result};
use crate::feed::{Change, FeedPage, FeedShard, Image, Position};
use crate::spec::TableSpec;
use crate::value::Name;

/// Prefix of a position that is an iterator; sequence numbers are digits.
const ITERATOR_MARK: char = '@';
/// How long an iterator is cached; AWS drops it after 15 minutes.
const ITERATOR_AGE_MAX: Duration = Duration::from_secs(5 * 60);
/// Cached iterators.
const ITERATORS_MAX: usize = 1024;
/// Pages of shards that are listed, of up to 100 each.
const SHARD_PAGES_MAX: usize = 100;
/// The principal that removes expired items.
const EXPIRY_PRINCIPAL: &str = "dynamodb.amazonaws.com";

/// State that is cached between reads.
#[derive(Debug, Default)]
pub(super) struct Readers {
    streams: HashMap<String, String>,
    iterators: HashMap<(String, String, String), (String, Instant)>,
}

impl Readers {
    /// Drops what is cached of a table's stream.
    pub(super) fn forget(&mut self, table: &str) {
        self.streams.remove(table);
        self.iterators.retain(|(of, _, _), _| of != table);
    }

    fn take(&mut self, place: &(String, String, String)) -> Option<String> {
        let (iterator, since) = self.iterators.remove(place)?;
        (since.elapsed() < ITERATOR_AGE_MAX).then_some(iterator)
    }

    fn keep(&mut self, place: (String, String, String), iterator: String) {
        if self.iterators.len() >= ITERATORS_MAX {
            self.iterators.retain(|_, (_, since)| since.elapsed() < ITERATOR_AGE_MAX);
        }
        if self.iterators.len() >= ITERATORS_MAX {
            self.iterators.clear();
        }
        self.iterators.insert(place, (iterator, Instant::now()));
    }
}

fn call(table: &str) -> Call<'_> {
    Call { verb: Verb::Feed, table, repeatable: true }
}

/// The shards of a table's stream.
pub(super) async fn shards(dynamo: &Dynamo, table: &str) -> Result<Vec<FeedShard>> {
    let stream = tables::stream(dynamo, table).await?;
    dynamo.readers.lock().streams.insert(table.to_owned(), stream.clone());
    let mut shards = Vec::new();
    let mut after = None;
    for _ in 0..SHARD_PAGES_MAX {
        let request = dynamo
            .streams
            .describe_stream()
            .stream_arn(&stream)
            .set_exclusive_start_shard_id(after.take());
        let page = dynamo
            .retries
            .run(&dynamo.meter, call(table), || request.clone().send())
            .await
            .map_err(|failed| failed.into_error("listing the shards of a feed", table))?
            .value
            .stream_description;
        let Some(page) = page else { break };
        shards.extend(page.shards.unwrap_or_default().into_iter().map(|shard| FeedShard {
            id: shard.shard_id.unwrap_or_default(),
            parent: shard.parent_shard_id,
        }));
        after = page.last_evaluated_shard_id;
        if after.is_none() {
            break;
        }
    }
    Ok(shards)
}

/// Reads changes of one shard.
pub(super) async fn read(
    dynamo: &Dynamo,
    table: &str,
    shard: &str,
    from: &Position,
    limit: usize,
) -> Result<FeedPage> {
    let spec = tables::spec(dynamo, table).await?;
    let known = remembered(dynamo, table, shard, from);
    let answer = match known {
        Some(iterator) => match records(dynamo, table, &iterator, limit).await {
            Err(Error::Trimmed) if !is_iterator(from) => {
                read_afresh(dynamo, table, shard, from, limit).await?
            }
            answer => answer?,
        },
        None => read_afresh(dynamo, table, shard, from, limit).await?,
    };
    let changes = answer
        .records
        .unwrap_or_default()
        .into_iter()
        .map(|record| change(&spec, record))
        .collect::<Result<Vec<_>>>()?;
    let next = match (changes.last(), from, &answer.next_shard_iterator) {
        (Some(last), _, _) => Position::After(last.position.to_string()),
        (None, Position::Latest, Some(iterator)) => iterator_position(iterator),
        (None, _, Some(iterator)) if is_iterator(from) => iterator_position(iterator),
        (None, from, _) => from.clone(),
    };
    let ended = answer.next_shard_iterator.is_none();
    if let Some(iterator) = answer.next_shard_iterator
        && !is_iterator(&next)
        && next != Position::Latest
    {
        let place = place(table, shard, &next);
        dynamo.readers.lock().keep(place, iterator);
    }
    Ok(FeedPage::new(changes, next, ended))
}

fn iterator_position(iterator: &str) -> Position {
    Position::After(format!("{ITERATOR_MARK}{iterator}"))
}

fn is_iterator(position: &Position) -> bool {
    matches!(position, Position::After(text) if text.starts_with(ITERATOR_MARK))
}

fn place(table: &str, shard: &str, position: &Position) -> (String, String, String) {
    let position = match position {
        Position::Oldest => String::new(),
        Position::Latest => "latest".into(),
        Position::After(text) => text.clone(),
    };
    (table.to_owned(), shard.to_owned(), position)
}

/// The iterator of a position, if it is one or is cached.
fn remembered(dynamo: &Dynamo, table: &str, shard: &str, from: &Position) -> Option<String> {
    match from {
        Position::After(text) if text.starts_with(ITERATOR_MARK) => {
            Some(text.trim_start_matches(ITERATOR_MARK).to_owned())
        }
        _ => dynamo.readers.lock().take(&place(table, shard, from)),
    }
}

async fn read_afresh(
    dynamo: &Dynamo,
    table: &str,
    shard: &str,
    from: &Position,
    limit: usize,
) -> Result<GetRecordsOutput> {
    let known = dynamo.readers.lock().streams.get(table).cloned();
    let stream = match known {
        Some(stream) => stream,
        None => {
            let stream = tables::stream(dynamo, table).await?;
            let mut readers = dynamo.readers.lock();
            readers.streams.insert(table.to_owned(), stream.clone());
            stream
        }
    };
    let (kind, sequence) = match from {
        Position::Oldest => (ShardIteratorType::TrimHorizon, None),
        Position::Latest => (ShardIteratorType::Latest, None),
        Position::After(sequence) => {
            (ShardIteratorType::AfterSequenceNumber, Some(sequence.clone()))
        }
    };
    let request = dynamo
        .streams
        .get_shard_iterator()
        .stream_arn(stream)
        .shard_id(shard)
        .shard_iterator_type(kind)
        .set_sequence_number(sequence);
    let answer = dynamo.retries.run(&dynamo.meter, call(table), || request.clone().send()).await;
    let iterator = match answer {
        Ok(answered) => answered.value.shard_iterator.unwrap_or_default(),
        Err(Failed::Answer(error)) if error.is_resource_not_found_exception() => {
            return Err(gone(dynamo, table).await);
        }
        Err(failed) => return Err(failed.into_error("finding a place in a feed", table)),
    };
    records(dynamo, table, &iterator, limit).await
}

/// A shard that is missing while its table exists was trimmed with all its changes.
async fn gone(dynamo: &Dynamo, table: &str) -> Error {
    dynamo.readers.lock().forget(table);
    match tables::stream(dynamo, table).await {
        Ok(_) => Error::Trimmed,
        Err(error) => error,
    }
}

async fn records(
    dynamo: &Dynamo,
    table: &str,
    iterator: &str,
    limit: usize,
) -> Result<GetRecordsOutput> {
    let request = dynamo
        .streams
        .get_records()
        .shard_iterator(iterator)
        .limit(i32::try_from(limit).unwrap_or(i32::MAX));
    let answer = dynamo.retries.run(&dynamo.meter, call(table), || request.clone().send()).await;
    match answer {
        Ok(answered) => Ok(answered.value),
        Err(Failed::Answer(
            GetRecordsError::ExpiredIteratorException(_)
            | GetRecordsError::TrimmedDataAccessException(_),
        )) => Err(Error::Trimmed),
        Err(Failed::Answer(error)) if error.is_resource_not_found_exception() => {
            Err(gone(dynamo, table).await)
        }
        Err(failed) => Err(failed.into_error("reading a feed", table)),
    }
}

fn change(spec: &TableSpec, record: Record) -> Result<Change> {
    let fault = |what: &str| Error::backend("reading a feed", format!("a record without {what}"));
    let removed_by = record.user_identity.and_then(|who| who.principal_id);
    let record = record.dynamodb.ok_or_else(|| fault("a change"))?;
    let keys = record.keys.ok_or_else(|| fault("a key"))?;
    let at = record.approximate_creation_date_time;
    let image = |wire| {
        let item = Option::map(wire, convert::read_stream_item).transpose()?;
        Ok::<_, Error>(item.map(Image::from))
    };
    Ok(Change {
        table: Name::from(spec.name.as_str()),
        key: spec.key_of(&convert::read_stream_item(keys)?)?,
        old: image(record.old_image)?,
        new: image(record.new_image)?,
        at_ms: at
            .and_then(|at| at.to_millis().ok())
            .and_then(|ms| u64::try_from(ms).ok())
            .unwrap_or(0),
        expired: removed_by.as_deref() == Some(EXPIRY_PRINCIPAL),
        position: record.sequence_number.ok_or_else(|| fault("a place"))?.into(),
        merged: None,
    })
}

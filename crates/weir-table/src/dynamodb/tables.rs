//! Creates, deletes and describes tables.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, GlobalSecondaryIndexDescription,
    IndexStatus, KeySchemaElement, KeyType, Projection as WireProjection, ProjectionType,
    ScalarAttributeType, StreamSpecification, StreamViewType, TableDescription, TableStatus,
    TimeToLiveSpecification, TimeToLiveStatus,
};
use tokio::time::Instant;

use super::Dynamo;
use super::meter::Verb;
use super::retry::{Call, Failed};
use crate::error::{Error, Result};
use crate::spec::{IndexSpec, Projection, TableSpec};
use crate::value::{Kind, Name};

/// The first wait between two polls of a table that is changing; it doubles.
const LOOK_WAIT_MIN: Duration = Duration::from_millis(20);
/// The longest wait between two polls.
const LOOK_WAIT_MAX: Duration = Duration::from_secs(2);
/// Pages of table names that are read, of 100 names each.
const NAME_PAGES_MAX: usize = 1000;

fn call(table: &str) -> Call<'_> {
    Call { verb: Verb::Tables, table, repeatable: true }
}

fn wire_fault(problem: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::backend("making a request to DynamoDB", problem)
}

/// Creates a table and waits until it and its indexes are active. An existing table stays as it is, except that a missing
/// expiry attribute is set, because another instance may be creating it.
pub(super) async fn create(dynamo: &Dynamo, spec: &TableSpec) -> Result<()> {
    let table = spec.name.as_str();
    let mut request = dynamo
        .tables
        .create_table()
        .table_name(dynamo.wire_name(table))
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(key_schema(&spec.partition, spec.sort.as_ref())?));
    for (name, kind) in &spec.attributes {
        request = request.attribute_definitions(
            AttributeDefinition::builder()
                .attribute_name(name.as_str())
                .attribute_type(ScalarAttributeType::from(kind.name()))
                .build()
                .map_err(wire_fault)?,
        );
    }
    for index in &spec.indexes {
        request = request.global_secondary_indexes(wire_index(index)?);
    }
    if spec.feed {
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::NewAndOldImages)
            .build()
            .map_err(wire_fault)?;
        request = request.stream_specification(stream);
    }
    let made = dynamo.retries.run(&dynamo.meter, call(table), || request.clone().send()).await;
    match made {
        Ok(_) => {}
        Err(Failed::Answer(error)) if error.is_resource_in_use_exception() => {}
        Err(failed) => return Err(failed.into_error("making a table", table)),
    }
    dynamo.specs.write().remove(table);
    wait_until_active(dynamo, table).await?;
    match &spec.ttl {
        Some(attribute) => expire_by(dynamo, table, attribute).await,
        None => Ok(()),
    }
}

fn key_schema(partition: &Name, sort: Option<&Name>) -> Result<Vec<KeySchemaElement>> {
    let element = |name: &Name, kind: KeyType| {
        KeySchemaElement::builder()
            .attribute_name(name.as_str())
            .key_type(kind)
            .build()
            .map_err(wire_fault)
    };
    let mut schema = vec![element(partition, KeyType::Hash)?];
    if let Some(sort) = sort {
        schema.push(element(sort, KeyType::Range)?);
    }
    Ok(schema)
}

fn wire_index(index: &IndexSpec) -> Result<GlobalSecondaryIndex> {
    let projection = match &index.projection {
        Projection::All => WireProjection::builder().projection_type(ProjectionType::All),
        Projection::KeysOnly => WireProjection::builder().projection_type(ProjectionType::KeysOnly),
        Projection::Include(names) => WireProjection::builder()
            .projection_type(ProjectionType::Include)
            .set_non_key_attributes(Some(names.iter().map(Name::to_string).collect())),
    };
    GlobalSecondaryIndex::builder()
        .index_name(&index.name)
        .set_key_schema(Some(key_schema(&index.partition, index.sort.as_ref())?))
        .projection(projection.build())
        .build()
        .map_err(wire_fault)
}

async fn wait_until_active(dynamo: &Dynamo, table: &str) -> Result<()> {
    wait(dynamo, table, "become ready", |found| {
        found.is_some_and(|found| {
            found.table_status() == Some(&TableStatus::Active)
                && found
                    .global_secondary_indexes()
                    .iter()
                    .all(|index| index.index_status() == Some(&IndexStatus::Active))
        })
    })
    .await
}

/// Polls the table until `done`, within the timeout for tables.
async fn wait(
    dynamo: &Dynamo,
    table: &str,
    to: &str,
    done: impl Fn(Option<&TableDescription>) -> bool,
) -> Result<()> {
    let deadline = Instant::now() + dynamo.retries.table_timeout();
    let mut pause = LOOK_WAIT_MIN;
    loop {
        let found = look(dynamo, table).await?;
        if done(found.as_ref()) {
            return Ok(());
        }
        if Instant::now() + pause > deadline {
            let waited = dynamo.retries.table_timeout();
            let problem = format!("table {table:?} did not {to} within {waited:?}");
            return Err(Error::Unavailable(problem));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOK_WAIT_MAX);
    }
}

async fn look(dynamo: &Dynamo, table: &str) -> Result<Option<TableDescription>> {
    let request = dynamo.tables.describe_table().table_name(dynamo.wire_name(table));
    let answer = dynamo.retries.run(&dynamo.meter, call(table), || request.clone().send()).await;
    match answer {
        Ok(answered) => Ok(answered.value.table),
        Err(Failed::Answer(error)) if error.is_resource_not_found_exception() => Ok(None),
        Err(failed) => Err(failed.into_error("describing a table", table)),
    }
}

async fn expire_by(dynamo: &Dynamo, table: &str, attribute: &Name) -> Result<()> {
    if ttl(dynamo, table).await?.is_some() {
        return Ok(());
    }
    let wanted = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name(attribute.as_str())
        .build()
        .map_err(wire_fault)?;
    let request = dynamo
        .tables
        .update_time_to_live()
        .table_name(dynamo.wire_name(table))
        .time_to_live_specification(wanted);
    let answer = dynamo.retries.run(&dynamo.meter, call(table), || request.clone().send()).await;
    match answer {
        Ok(_) => Ok(()),
        // Another instance may have been faster.
        Err(failed) => match ttl(dynamo, table).await? {
            Some(_) => Ok(()),
            None => Err(failed.into_error("setting the expiry attribute", table)),
        },
    }
}

async fn ttl(dynamo: &Dynamo, table: &str) -> Result<Option<Name>> {
    let request = dynamo.tables.describe_time_to_live().table_name(dynamo.wire_name(table));
    let answer = dynamo
        .retries
        .run(&dynamo.meter, call(table), || request.clone().send())
        .await
        .map_err(|failed| failed.into_error("reading the expiry attribute", table))?;
    let found = answer.value.time_to_live_description;
    Ok(found
        .filter(|found| {
            matches!(
                found.time_to_live_status(),
                Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
            )
        })
        .and_then(|found| found.attribute_name)
        .map(Name::from))
}

/// Deletes a table and waits until it is gone.
pub(super) async fn delete(dynamo: &Dynamo, table: &str) -> Result<()> {
    dynamo.specs.write().remove(table);
    dynamo.readers.lock().forget(table);
    let request = dynamo.tables.delete_table().table_name(dynamo.wire_name(table));
    let answer = dynamo.retries.run(&dynamo.meter, call(table), || request.clone().send()).await;
    match answer {
        Ok(_) => {}
        Err(Failed::Answer(error)) if error.is_resource_in_use_exception() => {}
        Err(failed) => return Err(failed.into_error("removing a table", table)),
    }
    wait(dynamo, table, "vanish", |found| found.is_none()).await
}

/// The current schema of a table.
pub(super) async fn describe(dynamo: &Dynamo, table: &str) -> Result<Option<TableSpec>> {
    let Some(found) = look(dynamo, table).await? else {
        return Ok(None);
    };
    // A table that another instance is creating is not there yet: who needs it creates it too, and waits.
    if let Some(TableStatus::Creating | TableStatus::Deleting) = found.table_status() {
        return Ok(None);
    }
    let mut spec = shape(table, &found)?;
    spec.ttl = match ttl(dynamo, table).await {
        Err(Error::NoSuchTable(_)) => return Ok(None),
        found => found?,
    };
    let known = Arc::new(spec.clone());
    dynamo.specs.write().insert(table.to_owned(), known);
    Ok(Some(spec))
}

/// The schema of a table, cached.
pub(super) async fn spec(dynamo: &Dynamo, table: &str) -> Result<Arc<TableSpec>> {
    if let Some(spec) = dynamo.specs.read().get(table) {
        return Ok(Arc::clone(spec));
    }
    match describe(dynamo, table).await? {
        Some(spec) => Ok(Arc::new(spec)),
        None => Err(Error::NoSuchTable(table.to_owned())),
    }
}

/// The stream of a table, if it has one.
pub(super) async fn stream(dynamo: &Dynamo, table: &str) -> Result<String> {
    let found = look(dynamo, table).await?;
    let found = found.ok_or_else(|| Error::NoSuchTable(table.to_owned()))?;
    found
        .latest_stream_arn
        .filter(|_| is_fed(found.stream_specification.as_ref()))
        .ok_or_else(|| Error::invalid("table", format!("{table:?} has no change feed")))
}

fn is_fed(stream: Option<&StreamSpecification>) -> bool {
    stream.is_some_and(|stream| {
        stream.stream_enabled && stream.stream_view_type() == Some(&StreamViewType::NewAndOldImages)
    })
}

fn shape(table: &str, found: &TableDescription) -> Result<TableSpec> {
    let (partition, sort) = keys(table, found.key_schema())?;
    let attributes = found
        .attribute_definitions()
        .iter()
        .map(|attribute| {
            let kind = match attribute.attribute_type() {
                ScalarAttributeType::N => Kind::N,
                ScalarAttributeType::B => Kind::B,
                _ => Kind::S,
            };
            (Name::from(attribute.attribute_name()), kind)
        })
        .collect::<BTreeMap<_, _>>();
    let mut indexes = found
        .global_secondary_indexes()
        .iter()
        .map(|index| index_shape(table, index))
        .collect::<Result<Vec<_>>>()?;
    indexes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(TableSpec {
        name: table.to_owned(),
        attributes,
        partition,
        sort,
        indexes,
        ttl: None,
        feed: is_fed(found.stream_specification()),
    })
}

fn index_shape(table: &str, index: &GlobalSecondaryIndexDescription) -> Result<IndexSpec> {
    let (partition, sort) = keys(table, index.key_schema())?;
    let found = index.projection();
    let projection = match found.and_then(WireProjection::projection_type) {
        Some(ProjectionType::KeysOnly) => Projection::KeysOnly,
        Some(ProjectionType::Include) => Projection::Include(
            found
                .map(WireProjection::non_key_attributes)
                .unwrap_or_default()
                .iter()
                .map(|name| Name::from(name.as_str()))
                .collect(),
        ),
        _ => Projection::All,
    };
    Ok(IndexSpec {
        name: index.index_name().unwrap_or_default().to_owned(),
        partition,
        sort,
        projection,
    })
}

fn keys(table: &str, schema: &[KeySchemaElement]) -> Result<(Name, Option<Name>)> {
    let of_kind = |kind: &KeyType| {
        schema
            .iter()
            .find(|element| element.key_type() == kind)
            .map(|element| Name::from(element.attribute_name()))
    };
    let partition = of_kind(&KeyType::Hash).ok_or_else(|| {
        let problem = format!("table {table:?} has no partition key");
        Error::backend("describing a table", problem)
    })?;
    Ok((partition, of_kind(&KeyType::Range)))
}

/// The logical names of all tables under the prefix, sorted.
pub(super) async fn names(dynamo: &Dynamo) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut after = None;
    for _ in 0..NAME_PAGES_MAX {
        let request = dynamo.tables.list_tables().set_exclusive_start_table_name(after.take());
        let page = dynamo
            .retries
            .run(&dynamo.meter, call(""), || request.clone().send())
            .await
            .map_err(|failed| failed.into_error("listing tables", ""))?
            .value;
        names.extend(
            page.table_names
                .unwrap_or_default()
                .iter()
                .filter_map(|name| name.strip_prefix(&dynamo.prefix))
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
        );
        after = page.last_evaluated_table_name;
        if after.is_none() {
            break;
        }
    }
    names.sort();
    Ok(names)
}

//! Reading one item, and reading many page by page.

use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, Select};

use super::meter::Verb;
use super::render::Placeholders;
use super::retry::Call;
use super::{Dynamo, convert, tables};
use crate::error::Result;
use crate::item::Item;
use crate::request::{Consistency, Extent, Get, Query, RawPage};
use crate::spec::TableSpec;
use crate::value::Name;

/// Reads an item.
pub(super) async fn get(dynamo: &Dynamo, get: &Get) -> Result<Option<Item>> {
    let table = get.table.as_str();
    let spec = tables::spec(dynamo, table).await?;
    let mut placeholders = Placeholders::default();
    let projection = get.projection.as_ref().map(|paths| placeholders.projection(paths));
    let request = dynamo
        .tables
        .get_item()
        .table_name(dynamo.wire_name(table))
        .set_key(Some(convert::key(&spec, &get.key)))
        .consistent_read(get.consistency == Consistency::Strong)
        .set_projection_expression(projection)
        .set_expression_attribute_names(placeholders.names())
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let call = reading(Verb::Get, table);
    let answer = dynamo
        .retries
        .run(&dynamo.meter, call, || request.clone().send())
        .await
        .map_err(|failed| dynamo.error(failed, "reading an item", table))?
        .value;
    dynamo.meter.consumed(Verb::Get, &answer.consumed_capacity);
    convert::read_optional(answer.item)
}

fn reading(verb: Verb, table: &str) -> Call<'_> {
    Call { verb, table, repeatable: true }
}

/// Reads the page of `query` that follows `after`.
pub(super) async fn page(dynamo: &Dynamo, query: &Query, after: Option<&Item>) -> Result<RawPage> {
    let spec = tables::spec(dynamo, &query.table).await?;
    match &query.extent {
        Extent::Partition { .. } => partition_page(dynamo, &spec, query, after).await,
        Extent::Everything { .. } => scan_page(dynamo, query, after).await,
    }
}

/// The key attributes of what a query reads.
fn keys<'a>(spec: &'a TableSpec, query: &Query) -> Result<(&'a Name, Option<&'a Name>)> {
    Ok(match &query.index {
        Some(index) => {
            let index = spec.find_index(index)?;
            (&index.partition, index.sort.as_ref())
        }
        None => (&spec.partition, spec.sort.as_ref()),
    })
}

fn select(query: &Query) -> Option<Select> {
    query.count_only.then_some(Select::Count)
}

fn wire_limit(query: &Query) -> Option<i32> {
    query.limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX))
}

async fn partition_page(
    dynamo: &Dynamo,
    spec: &TableSpec,
    query: &Query,
    after: Option<&Item>,
) -> Result<RawPage> {
    let Extent::Partition { partition, sort, reverse } = &query.extent else {
        return Ok(RawPage::default());
    };
    let (partition_name, sort_name) = keys(spec, query)?;
    let mut placeholders = Placeholders::default();
    let narrowed =
        placeholders.key_condition((partition_name, &partition.to_value()), sort_name, sort);
    let (filter, projection) = expressions(&mut placeholders, query)?;
    let request = dynamo
        .tables
        .query()
        .table_name(dynamo.wire_name(&query.table))
        .set_index_name(query.index.clone())
        .key_condition_expression(narrowed)
        .scan_index_forward(!reverse)
        .set_filter_expression(filter)
        .set_projection_expression(projection)
        .set_select(select(query))
        .set_limit(wire_limit(query))
        .consistent_read(query.consistency == Consistency::Strong)
        .set_exclusive_start_key(after.map(convert::item))
        .set_expression_attribute_names(placeholders.names())
        .set_expression_attribute_values(placeholders.values())
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let answer = dynamo
        .retries
        .run(&dynamo.meter, reading(Verb::Query, &query.table), || request.clone().send())
        .await
        .map_err(|failed| dynamo.error(failed, "reading a partition", &query.table))?
        .value;
    dynamo.meter.consumed(Verb::Query, &answer.consumed_capacity);
    raw_page(answer.items, answer.count, answer.scanned_count, answer.last_evaluated_key)
}

async fn scan_page(dynamo: &Dynamo, query: &Query, after: Option<&Item>) -> Result<RawPage> {
    let segment = match &query.extent {
        Extent::Everything { segment } => *segment,
        Extent::Partition { .. } => None,
    };
    let wire = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let mut placeholders = Placeholders::default();
    let (filter, projection) = expressions(&mut placeholders, query)?;
    let request = dynamo
        .tables
        .scan()
        .table_name(dynamo.wire_name(&query.table))
        .set_index_name(query.index.clone())
        .set_segment(segment.map(|(number, _)| wire(number)))
        .set_total_segments(segment.map(|(_, of)| wire(of)))
        .set_filter_expression(filter)
        .set_projection_expression(projection)
        .set_select(select(query))
        .set_limit(wire_limit(query))
        .consistent_read(query.consistency == Consistency::Strong)
        .set_exclusive_start_key(after.map(convert::item))
        .set_expression_attribute_names(placeholders.names())
        .set_expression_attribute_values(placeholders.values())
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let answer = dynamo
        .retries
        .run(&dynamo.meter, reading(Verb::Scan, &query.table), || request.clone().send())
        .await
        .map_err(|failed| dynamo.error(failed, "scanning a table", &query.table))?
        .value;
    dynamo.meter.consumed(Verb::Scan, &answer.consumed_capacity);
    raw_page(answer.items, answer.count, answer.scanned_count, answer.last_evaluated_key)
}

fn expressions(
    placeholders: &mut Placeholders,
    query: &Query,
) -> Result<(Option<String>, Option<String>)> {
    let filter = match &query.filter {
        Some(filter) => Some(placeholders.condition("filter", filter)?),
        None => None,
    };
    let projection = query.projection.as_ref().map(|paths| placeholders.projection(paths));
    Ok((filter, projection))
}

fn raw_page(
    items: Option<Vec<convert::WireItem>>,
    count: i32,
    scanned: i32,
    last: Option<convert::WireItem>,
) -> Result<RawPage> {
    Ok(RawPage {
        items: items
            .unwrap_or_default()
            .into_iter()
            .map(convert::read_item)
            .collect::<Result<_>>()?,
        count: u64::try_from(count).unwrap_or(0),
        scanned: u64::try_from(scanned).unwrap_or(0),
        last: convert::read_optional(last.filter(|last| !last.is_empty()))?,
    })
}

//! Reads of one item, and of many items page by page.

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
    let response = dynamo
        .retries
        .run(&dynamo.meter, call, || request.clone().send())
        .await
        .map_err(|failed| dynamo.error(failed, "reading an item", table))?
        .value;
    dynamo.meter.consumed(Verb::Get, &response.consumed_capacity);
    convert::read_optional(response.item)
}

fn reading(verb: Verb, table: &str) -> Call<'_> {
    Call { verb, table, repeatable: true }
}

/// Sends a `Query` or a `Scan`. The SDK gives their common parameters to two types of request, so this cannot be a function.
macro_rules! send_page {
    ($request:expr, $verb:expr, $doing:literal, $dynamo:expr, $query:expr, $after:expr, $placeholders:expr) => {{
        let (filter, projection) = expressions(&mut $placeholders, $query)?;
        let request = $request
            .table_name($dynamo.wire_name(&$query.table))
            .set_index_name($query.index.clone())
            .set_filter_expression(filter)
            .set_projection_expression(projection)
            .set_select($query.count_only.then_some(Select::Count))
            .set_limit($query.limit.map(wire_number))
            .consistent_read($query.consistency == Consistency::Strong)
            .set_exclusive_start_key($after.map(convert::item))
            .set_expression_attribute_names($placeholders.names())
            .set_expression_attribute_values($placeholders.values())
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let response = $dynamo
            .retries
            .run(&$dynamo.meter, reading($verb, &$query.table), || request.clone().send())
            .await
            .map_err(|failed| $dynamo.error(failed, $doing, &$query.table))?
            .value;
        $dynamo.meter.consumed($verb, &response.consumed_capacity);
        let (count, scanned) = (response.count, response.scanned_count);
        raw_page(response.items, count, scanned, response.last_evaluated_key)
    }};
}

/// Reads the page of `query` that follows `after`.
pub(super) async fn page(dynamo: &Dynamo, query: &Query, after: Option<&Item>) -> Result<RawPage> {
    let spec = tables::spec(dynamo, &query.table).await?;
    let mut placeholders = Placeholders::default();
    match &query.extent {
        Extent::Partition { partition, sort, reverse } => {
            let (partition_name, sort_name) = keys(&spec, query)?;
            let partition = (partition_name, &partition.to_value());
            let keys = placeholders.key_condition(partition, sort_name, sort);
            let request = dynamo.tables.query().key_condition_expression(keys);
            let request = request.scan_index_forward(!reverse);
            let verb = Verb::Query;
            send_page!(request, verb, "reading a partition", dynamo, query, after, placeholders)
        }
        Extent::Everything { segment } => {
            let request = dynamo.tables.scan();
            let request = request
                .set_segment(segment.map(|(number, _)| wire_number(number)))
                .set_total_segments(segment.map(|(_, of)| wire_number(of)));
            let verb = Verb::Scan;
            send_page!(request, verb, "scanning a table", dynamo, query, after, placeholders)
        }
    }
}

/// The names of the key attributes of the table or index that a query reads.
fn keys<'a>(spec: &'a TableSpec, query: &Query) -> Result<(&'a Name, Option<&'a Name>)> {
    Ok(match &query.index {
        Some(index) => {
            let index = spec.find_index(index)?;
            (&index.partition, index.sort.as_ref())
        }
        None => (&spec.partition, spec.sort.as_ref()),
    })
}

fn wire_number(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
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

//! The cases on dynoxide-rs, in process on disk.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use dynoxide::Database;
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::update_item::UpdateItemRequest;
use dynoxide::types::AttributeValue;
use serde_json::json;
use weir_table::json::item_to_json;

use super::{KEYS, weir};
use crate::measure::{Figures, scatter, threads};

pub(super) struct Bench {
    database: Database,
}

fn text(value: &weir_table::KeyValue) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

fn key(number: u64) -> HashMap<String, AttributeValue> {
    let key = weir::key(number);
    let mut out = HashMap::from([("PK".to_owned(), text(&key.partition))]);
    if let Some(sort) = &key.sort {
        out.insert("SK".to_owned(), text(sort));
    }
    out
}

impl Bench {
    pub(super) fn open(path: &Path) -> Bench {
        let database = Database::new(path.to_str().expect("a path of text")).expect("a database");
        let attributes = ["PK", "SK", "GSI1PK", "GSI1SK"]
            .map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let table = json!({
            "TableName": "bench",
            "KeySchema": [
                {"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
            "AttributeDefinitions": attributes,
            "GlobalSecondaryIndexes": [{
                "IndexName": "GSI1",
                "KeySchema": [
                    {"AttributeName": "GSI1PK", "KeyType": "HASH"},
                    {"AttributeName": "GSI1SK", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"}}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            "BillingMode": "PAY_PER_REQUEST"});
        database.create_table(serde_json::from_value(table).expect("a request")).expect("a table");
        for first in (0..KEYS).step_by(25) {
            let puts: Vec<_> = (first..(first + 25).min(KEYS))
                .map(|number| json!({"PutRequest": {"Item": item_to_json(&weir::item(number))}}))
                .collect();
            let batch = json!({"RequestItems": {"bench": puts}});
            database
                .batch_write_item(serde_json::from_value(batch).expect("a request"))
                .expect("a batch of puts");
        }
        Bench { database }
    }

    pub(super) fn updates(&self, callers: usize, length: Duration, keys: u64) -> Figures {
        let number = |n: i64| AttributeValue::N(n.to_string());
        threads(callers, length, |caller, n| {
            let request = UpdateItemRequest {
                table_name: "bench".to_owned(),
                key: key(scatter(caller, n) % keys),
                update_expression: Some("ADD tk :one".to_owned()),
                condition_expression: Some("tk >= :zero".to_owned()),
                expression_attribute_values: Some(HashMap::from([
                    (":one".to_owned(), number(1)),
                    (":zero".to_owned(), number(0)),
                ])),
                return_values: Some("ALL_NEW".to_owned()),
                return_values_on_condition_check_failure: Some("ALL_OLD".to_owned()),
                ..Default::default()
            };
            self.database.update_item(request).expect("an update");
        })
    }

    pub(super) fn gets(&self, callers: usize, length: Duration) -> Figures {
        threads(callers, length, |caller, n| {
            let request = GetItemRequest {
                table_name: "bench".to_owned(),
                key: key(scatter(caller, n) % KEYS),
                consistent_read: Some(true),
                ..Default::default()
            };
            self.database.get_item(request).expect("a get");
        })
    }

    pub(super) fn queries(&self, callers: usize, length: Duration) -> Figures {
        threads(callers, length, |caller, n| {
            let partition = text(&weir::key(scatter(caller, n) % KEYS).partition);
            let request = QueryRequest {
                table_name: "bench".to_owned(),
                key_condition_expression: Some("PK = :pk".to_owned()),
                expression_attribute_values: Some(HashMap::from([(":pk".to_owned(), partition)])),
                limit: Some(20),
                consistent_read: Some(true),
                ..Default::default()
            };
            self.database.query(request).expect("a query");
        })
    }
}

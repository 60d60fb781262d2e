//! Texts and JSON are read back as they were stored, whatever they are.

use proptest::prelude::*;
use serde_json::Value as Json;
use weir_practice::bounds::TEXT_MAX;
use weir_practice::json;
use weir_practice::text::{StoredText, decode, encode};
use weir_table::Value;

/// Texts of every length that matters: repeated parts compress, random ones do not.
fn texts() -> impl Strategy<Value = String> {
    ("\\PC{0,300}", 0_usize..2_000).prop_map(|(part, times)| {
        let times = times.min(TEXT_MAX / part.len().max(1));
        part.repeat(times)
    })
}

fn documents() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e100..1e100).prop_map(Json::from),
        "\\PC{0,20}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::hash_map("\\PC{1,8}", inner, 0..6)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_text_is_read_back(text in texts()) {
        let value = encode(&text);
        prop_assert!(value.size() <= text.len());
        prop_assert_eq!(decode("sol", &value).unwrap(), StoredText::Here(text));
    }

    #[test]
    fn bytes_of_others_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let _ = decode("sol", &Value::B(bytes));
    }

    #[test]
    fn json_is_read_back(inner in documents()) {
        let document = serde_json::json!({ "a": inner });
        let stored = json::object_value("metadata", &document, usize::MAX).unwrap();
        prop_assert_eq!(numbers(&json::from_value(&stored)), numbers(&document));
    }
}

/// Numbers by value: `1.0` is stored as `1`, and `-0.0` as `0`.
fn numbers(json: &Json) -> Json {
    match json {
        Json::Number(number) => Json::String(format!("{:e}", number.as_f64().unwrap() + 0.0)),
        Json::Array(all) => all.iter().map(numbers).collect(),
        Json::Object(map) => {
            Json::Object(map.iter().map(|(name, one)| (name.clone(), numbers(one))).collect())
        }
        other => other.clone(),
    }
}

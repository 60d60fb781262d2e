//! The driver itself.

use serde_json::json;

use crate::original::Answer;
use crate::place::Place;

#[test]
fn it_tells_what_the_original_raised() {
    let mut original = Place::new().made();
    let take = json!({ "entity": "user", "resource": "model", "consume": { "rpm": 1 } });
    let nothing = original.ask("acquire", take);
    let Answer::Error(text) = nothing else { panic!("{nothing:?}") };
    assert!(text.contains("ValidationError") && text.contains("No limits configured"), "{text}");
}

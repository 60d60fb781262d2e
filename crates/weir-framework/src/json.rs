//! JSON written member by member, for answers that are given tens of thousands of times a second.
//!
//! Names of members are written as they stand, and so are texts that are known to be plain; serde would look each
//! through for what must be escaped. Tests compare what is written with what serde writes of the same.

use serde::Serialize;

use crate::time;

/// Appends `before`, such as `,"name":`, and a value.
pub fn put(to: &mut Vec<u8>, before: &str, value: &(impl Serialize + ?Sized)) {
    to.extend_from_slice(before.as_bytes());
    // Writing to memory does not fail.
    serde_json::to_writer(to, value).ok();
}

/// Appends `before` and a text that has nothing to escape.
pub fn put_plain(to: &mut Vec<u8>, before: &str, text: &str) {
    to.extend_from_slice(before.as_bytes());
    to.push(b'"');
    to.extend_from_slice(text.as_bytes());
    to.push(b'"');
}

/// Appends `before` and a time, given in milliseconds since 1970.
pub fn put_time(to: &mut Vec<u8>, before: &str, ms: u64) {
    to.extend_from_slice(before.as_bytes());
    to.push(b'"');
    time::write(to, ms);
    to.push(b'"');
}

/// Appends `before` and a list, each of it as `one` writes it.
pub fn put_list<T>(
    to: &mut Vec<u8>,
    before: &str,
    list: impl IntoIterator<Item = T>,
    one: impl Fn(&mut Vec<u8>, T),
) {
    to.extend_from_slice(before.as_bytes());
    to.push(b'[');
    for (place, item) in list.into_iter().enumerate() {
        if place > 0 {
            to.push(b',');
        }
        one(to, item);
    }
    to.push(b']');
}

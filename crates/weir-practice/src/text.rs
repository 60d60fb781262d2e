//! Large texts in an item: plain, compressed when that makes them smaller, or in an object when the item is too large.
//!
//! The kind of the value says which: S is the text itself, B is the text compressed (zlib), and M names an object with the
//! text as UTF-8. Short texts are always plain, so that other programs can read them.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use weir_table::Value;

use crate::bounds::{COMPRESS_MIN, TEXT_MAX};
use crate::error::{Error, Result};

const OBJECT: &str = "obj";
const LENGTH: &str = "len";

/// A text as an item has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredText {
    /// The text.
    Here(String),
    /// The text is in an object.
    Object {
        /// Name of the object.
        name: String,
        /// Length of the text, in bytes.
        length: u64,
    },
}

/// The value of a text that stays in its item.
#[must_use]
pub fn encode(text: &str) -> Value {
    if text.len() < COMPRESS_MIN {
        return text.into();
    }
    match compress(text) {
        Some(bytes) if bytes.len() < text.len() => Value::B(bytes),
        _ => text.into(),
    }
}

/// The value of a text that is in an object.
#[must_use]
pub fn encode_object(name: &str, length: usize) -> Value {
    Value::map([(OBJECT, Value::from(name)), (LENGTH, (length as u64).into())])
}

/// Reads the value of a text.
///
/// # Errors
/// The value is no text, or the text is larger than [`TEXT_MAX`].
pub fn decode(field: &str, value: &Value) -> Result<StoredText> {
    let wrong = || Error::damaged(format!("the text {field}"), "its form is invalid");
    match value {
        Value::S(text) => Ok(StoredText::Here(text.clone())),
        Value::B(bytes) => decompress(bytes).map(StoredText::Here).ok_or_else(wrong),
        Value::M(map) => {
            let name = map.get(OBJECT).and_then(Value::as_s).ok_or_else(wrong)?;
            let length = map.get(LENGTH).and_then(Value::as_i64).ok_or_else(wrong)?;
            let length = u64::try_from(length).map_err(|_| wrong())?;
            Ok(StoredText::Object { name: name.to_owned(), length })
        }
        _ => Err(wrong()),
    }
}

fn compress(text: &str) -> Option<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).ok()?;
    encoder.finish().ok()
}

fn decompress(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut decoder = ZlibDecoder::new(bytes).take(TEXT_MAX as u64 + 1);
    decoder.read_to_string(&mut text).ok()?;
    (text.len() <= TEXT_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_compressed_only_when_that_makes_it_smaller() {
        let long = "for i in range(n): ".repeat(1_000);
        let noise: String = (0..8_192_u32)
            .map(|n| char::from_u32(0x4e00 + n.wrapping_mul(2_654_435_761) % 20_000).unwrap())
            .collect();
        for (text, is_compressed) in
            [("", false), ("print(1)", false), (long.as_str(), true), (noise.as_str(), true)]
        {
            let value = encode(text);
            assert_eq!(matches!(value, Value::B(_)), is_compressed, "{} bytes", text.len());
            assert!(value.size() <= text.len());
            assert_eq!(decode("sol", &value).unwrap(), StoredText::Here(text.to_owned()));
        }
    }

    #[test]
    fn an_object_is_named() {
        let value = encode_object("problems/baekjoon/1000/sol-1", 7);
        let name = "problems/baekjoon/1000/sol-1".to_owned();
        assert_eq!(decode("sol", &value).unwrap(), StoredText::Object { name, length: 7 });
    }

    #[test]
    fn a_bomb_and_noise_are_refused() {
        let bomb = Value::B(compress(&"x".repeat(TEXT_MAX + 1)).unwrap());
        for bad in [bomb, Value::B(vec![1, 2, 3]), Value::Null, Value::map([("obj", "a")])] {
            assert!(decode("sol", &bad).is_err());
        }
    }
}

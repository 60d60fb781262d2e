//! The item with the files that a review lists.

use weir_table::{Item, Value};

use super::{Fields, ItemContext};
use crate::error::Result;
use crate::keys;

const FILES: &str = "files";

/// The item of the files.
pub(crate) fn encode_files(context: &ItemContext, files: &[String]) -> Item {
    let item = context.item(keys::files(&context.review), "FILES");
    item.with(FILES, Value::list(files.iter().map(String::as_str)))
}

/// Decodes the files.
pub(crate) fn decode_files(item: &Item) -> Result<Vec<String>> {
    Fields(item).parse_list(FILES)
}

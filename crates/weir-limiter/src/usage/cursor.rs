//! Where a list of snapshots goes on. It holds nothing but a place in the same list of the same namespace, so it need not be
//! sealed; one of another list is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::{Filter, Window};
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};

#[derive(Debug, Serialize, Deserialize)]
struct Cursor {
    entity: Option<EntityId>,
    resource: Option<Resource>,
    window: Window,
    after: String,
}

/// A cursor of this list, after a place in it.
pub(super) fn seal(filter: &Filter, after: &str) -> Option<String> {
    let cursor = Cursor {
        entity: filter.entity.clone(),
        resource: filter.resource.clone(),
        window: filter.window,
        after: after.to_owned(),
    };
    Some(URL_SAFE_NO_PAD.encode(serde_json::to_vec(&cursor).ok()?))
}

/// The place in this list that a filter's cursor names.
///
/// # Errors
/// The cursor is not of this list.
pub(super) fn open(filter: &Filter) -> Result<Option<String>> {
    let Some(text) = &filter.cursor else { return Ok(None) };
    let wrong = || Error::invalid("cursor", "is not one of this list");
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
    let cursor: Cursor = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    let is_ours = cursor.entity == filter.entity
        && cursor.resource == filter.resource
        && cursor.window == filter.window;
    if is_ours { Ok(Some(cursor.after)) } else { Err(wrong()) }
}

//! Cursors of snapshot lists. A cursor contains only a position in the same list of the same namespace, so it need not be
//! signed; one of another list is refused.

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

/// The cursor of this list after a position.
pub(super) fn encode(filter: &Filter, after: &str) -> Option<String> {
    let cursor = Cursor {
        entity: filter.entity.clone(),
        resource: filter.resource.clone(),
        window: filter.window,
        after: after.to_owned(),
    };
    Some(URL_SAFE_NO_PAD.encode(serde_json::to_vec(&cursor).ok()?))
}

/// The position in this list that a filter's cursor contains.
///
/// # Errors
/// The cursor belongs to another list.
pub(super) fn decode(filter: &Filter) -> Result<Option<String>> {
    let Some(text) = &filter.cursor else { return Ok(None) };
    let invalid = || Error::invalid("cursor", "does not belong to this list");
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid())?;
    let cursor: Cursor = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
    let matches = cursor.entity == filter.entity
        && cursor.resource == filter.resource
        && cursor.window == filter.window;
    if matches { Ok(Some(cursor.after)) } else { Err(invalid()) }
}

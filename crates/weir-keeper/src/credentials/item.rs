//! The stored form of credentials: attributes of the org's or app's item, and retrieval tokens in a table of their own.

use weir_table::expr::{Condition, Update, attr, set};
use weir_table::{Item, Value};

use crate::config::DELETED_AT;
use crate::error::{Error, Result};
use crate::ids::{RetrievalTokenHash, Scope};
use crate::item_diff::unchanged_since;
use crate::table::TTL;

pub(super) const CLIENT_ID: &str = "client_id";
const HASH: &str = "client_secret_hash";
const ID: &str = "client_secret_id";
const CREATED: &str = "client_secret_created_at_epoch";
const PREVIOUS_HASH: &str = "previous_client_secret_hash";
const PREVIOUS_ID: &str = "previous_client_secret_id";
/// Hash of the one retrieval token that can be redeemed; a rotation replaces it, and a cancellation removes it.
pub(crate) const PENDING_TOKEN: &str = "pending_retrieval_token_hash";
const GRACE_UNTIL: &str = "client_secret_rotation_grace_expires_at_epoch";

/// The attributes of a client that verifying a secret reads.
pub(super) const VERIFY_ATTRIBUTES: [&str; 7] =
    [CLIENT_ID, HASH, ID, PREVIOUS_HASH, PREVIOUS_ID, GRACE_UNTIL, DELETED_AT];
/// Every attribute of the credentials: a purged client keeps none of them.
pub(crate) const CREDENTIALS: [&str; 7] =
    [HASH, ID, CREATED, PREVIOUS_HASH, PREVIOUS_ID, GRACE_UNTIL, PENDING_TOKEN];

const ORG_ID: &str = "org_id";
const APP_ID: &str = "app_id";
const SECRET_TYPE: &str = "secret_type";
const TOKEN_CREATED: &str = "created_at_epoch";
const USED: &str = "used";
const USED_AT: &str = "used_at_epoch";
const GRACE_HOURS: &str = "grace_period_hours";

/// The hash to compare a secret of this id with: the current one, or the previous one within its grace period. A deleted
/// client has none.
pub(super) fn hash_for<'a>(item: &'a Item, id: Option<&str>, now_ms: i64) -> Option<&'a str> {
    if item.get(DELETED_AT).is_some() {
        return None;
    }
    let current = item.s(HASH).filter(|_| item.s(ID) == id);
    let is_grace = item.i64(GRACE_UNTIL).is_some_and(|until| now_ms.div_euclid(1000) < until);
    let previous = item.s(PREVIOUS_HASH).filter(|_| is_grace && item.s(PREVIOUS_ID) == id);
    current.or(previous)
}

/// The hash of a new secret.
pub(super) struct NewHash<'a> {
    pub(super) hash: &'a str,
    pub(super) id: Option<&'a str>,
    pub(super) grace_hours: u32,
}

/// Makes the current secret of `old` the previous one, and `new` the current one. No token can be redeemed then.
pub(super) fn replace(old: &Item, new: &NewHash<'_>, now_ms: i64) -> Update {
    let now = now_ms.div_euclid(1000);
    let update = set(HASH, new.hash).set(CREATED, now);
    let update = put(update, ID, new.id.map(Value::from));
    let has_old = old.s(HASH).is_some();
    let until = now.saturating_add(i64::from(new.grace_hours) * 3_600);
    let update = put(update, GRACE_UNTIL, has_old.then(|| Value::from(until)));
    let update = put(update, PREVIOUS_HASH, old.get(HASH).cloned()).remove(PENDING_TOKEN);
    put(update, PREVIOUS_ID, old.get(ID).cloned())
}

fn put(update: Update, name: &'static str, value: Option<Value>) -> Update {
    match value {
        Some(value) => update.set(name, value),
        None => update.remove(name),
    }
}

/// The client is not deleted, its secret is still that of `old`, and this token is still the one to redeem.
pub(super) fn is_unchanged(old: &Item, token: &RetrievalTokenHash) -> Condition {
    let is_pending = attr(PENDING_TOKEN).eq(token.as_str());
    is_active().and(unchanged_since(old, HASH)).and(is_pending)
}

/// The client exists and is not deleted.
pub(super) fn is_active() -> Condition {
    attr(CLIENT_ID).exists().and(attr(DELETED_AT).absent())
}

/// Whether the client has a secret.
pub(super) fn has_secret(client: &Item) -> bool {
    client.get(HASH).is_some()
}

/// Whether this token is the one to redeem.
pub(super) fn is_pending(client: &Item, token: &RetrievalTokenHash) -> bool {
    client.s(PENDING_TOKEN) == Some(token.as_str())
}

/// A one-time retrieval token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredToken {
    pub(super) expires_at_epoch: i64,
    pub(super) is_used: bool,
    pub(super) grace_hours: u32,
}

impl StoredToken {
    /// Encodes the token of a scope into an item that has its key.
    pub(super) fn encode(&self, key: Item, scope: &Scope, now_ms: i64) -> Item {
        let item = key
            .with(ORG_ID, scope.org().as_str())
            .with(SECRET_TYPE, if scope.app().is_some() { "app" } else { "org" })
            .with(CLIENT_ID, scope.client_id())
            .with(TOKEN_CREATED, now_ms.div_euclid(1000))
            .with(TTL, self.expires_at_epoch)
            .with(USED, self.is_used)
            .with(GRACE_HOURS, self.grace_hours);
        match scope.app() {
            Some(app) => item.with(APP_ID, app.as_str()),
            None => item,
        }
    }

    /// Decodes an item; `None` when the token is of another client.
    ///
    /// # Errors
    /// An attribute is missing or invalid.
    pub(super) fn decode(item: &Item, scope: &Scope) -> Result<Option<StoredToken>> {
        let is_ours = item.s(ORG_ID) == Some(scope.org().as_str())
            && item.s(APP_ID) == scope.app().map(AsRef::as_ref);
        if !is_ours {
            return Ok(None);
        }
        let wrong = |name| Error::damaged("a one-time token", format!("{name} is missing"));
        Ok(Some(StoredToken {
            expires_at_epoch: item.i64(TTL).ok_or_else(|| wrong(TTL))?,
            is_used: item.get(USED).and_then(Value::as_bool).ok_or_else(|| wrong(USED))?,
            grace_hours: item.i64(GRACE_HOURS).map_or(0, |hours| hours.try_into().unwrap_or(0)),
        }))
    }
}

/// Marks the token as used.
pub(super) fn mark_used(now_ms: i64) -> Update {
    set(USED, true).set(USED_AT, now_ms.div_euclid(1000))
}

/// The token is unused and unexpired.
pub(super) fn is_redeemable(now_ms: i64) -> Condition {
    attr(USED).eq(false).and(attr(TTL).gt(now_ms.div_euclid(1000)))
}

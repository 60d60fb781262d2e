//! Records of operators' tokens and of the console's sessions, so that they can be listed, and revoked by id.
//!
//! A record expires together with its token. It does not contain the token.

use weir_table::expr::{attr, set};
use weir_table::retry::Listed;
use weir_table::{Backend, Error, Get, Item, Query, Result, Store, Write};

use super::claims::{Claims, JTI_MAX, TokenType};
use super::{keys, session};

/// Maximum number of records per page.
pub const PAGE_MAX: u32 = 100;

const NAME: &str = "name";
const SCOPE: &str = "scope";
const CREATED: &str = "created_at_epoch";
const REVOKED_AT: &str = "revoked_at_epoch";
/// Subject of a session of the console; absent on other tokens.
const SESSION_OF: &str = "session_of";
/// Pages that marking the sessions of a subject reads, at most; further ones are only not marked.
const MARK_PAGES_MAX: u32 = 100;
/// Prefix of the subject of operators' tokens. No client id has it.
const SUBJECT_PREFIX: &str = "operator:";

/// A token that was issued to an operator. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedToken {
    /// Id of the token.
    pub jti: String,
    /// Name of the token.
    pub name: String,
    /// Scope.
    pub scope: String,
    /// Time of issue.
    pub created: u64,
    /// Time of expiry.
    pub expires: u64,
    /// Time of revocation.
    pub revoked: Option<u64>,
    /// Subject of a session of the console; none for other tokens.
    pub session_of: Option<String>,
}

impl IssuedToken {
    /// The subject of the token's claims.
    #[must_use]
    pub fn subject(&self) -> String {
        self.session_of.clone().unwrap_or_else(|| subject(&self.name))
    }

    /// The type of the token.
    #[must_use]
    pub fn token_type(&self) -> TokenType {
        if self.session_of.is_some() { TokenType::Session } else { TokenType::Access }
    }

    fn from_item(item: &Item) -> Option<IssuedToken> {
        let text = |name| item.s(name).map(str::to_owned);
        let secs = |name| item.i64(name).and_then(|secs| u64::try_from(secs).ok());
        Some(IssuedToken {
            jti: text(keys::SK)?,
            name: text(NAME)?,
            scope: text(SCOPE)?,
            created: secs(CREATED)?,
            expires: secs(keys::EXPIRES)?,
            revoked: secs(REVOKED_AT),
            session_of: text(SESSION_OF),
        })
    }
}

/// The subject of the token of an operator called `name`.
#[must_use]
pub fn subject(name: &str) -> String {
    format!("{SUBJECT_PREFIX}{name}")
}

/// Whether `subject` is an operator.
#[must_use]
pub fn is_operator(subject: &str) -> bool {
    subject.starts_with(SUBJECT_PREFIX)
}

fn item(name: &str, claims: &Claims) -> Item {
    keys::edge_item(&keys::issued(&claims.jti))
        .with(NAME, name)
        .with(SCOPE, claims.scope.as_str())
        .with(CREATED, claims.iat)
        .with(keys::EXPIRES, claims.exp)
}

/// The records of operators' tokens.
#[derive(Debug)]
pub struct Issued<B> {
    store: Store<B>,
}

impl<B: Backend> Issued<B> {
    /// The records in `store`.
    #[must_use]
    pub fn new(store: Store<B>) -> Issued<B> {
        Issued { store }
    }

    /// Records a token under `name`.
    ///
    /// # Errors
    /// The store fails.
    pub async fn record(&self, name: &str, claims: &Claims) -> Result<()> {
        self.store.write(Write::put(keys::EDGE, item(name, claims))).await?;
        Ok(())
    }

    /// Records a session of the console under the name of its subject.
    ///
    /// # Errors
    /// The store fails.
    pub async fn record_session(&self, claims: &Claims) -> Result<()> {
        let name = session::display_name(&claims.sub);
        let item = item(name, claims).with(SESSION_OF, claims.sub.as_str());
        // Who frees a nearly full disk signs in first.
        self.store.write(Write::put(keys::EDGE, item).essential()).await?;
        Ok(())
    }

    /// Records the revocation of the sessions of subjects that `is_ended` names.
    ///
    /// # Errors
    /// The store fails.
    pub async fn mark_sessions_revoked(
        &self,
        now_ms: u64,
        is_ended: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let mut cursor = None;
        for _ in 0..MARK_PAGES_MAX {
            let page = self.list(PAGE_MAX, cursor.as_deref(), now_ms).await?;
            for token in page.items {
                if token.revoked.is_none() && token.session_of.as_deref().is_some_and(&is_ended) {
                    self.mark_revoked(&token.jti, now_ms).await?;
                }
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// The token with this id, if it was issued and has not expired.
    ///
    /// # Errors
    /// The id is malformed, or the store fails.
    pub async fn find(&self, jti: &str, now_ms: u64) -> Result<Option<IssuedToken>> {
        if !(1..=JTI_MAX).contains(&jti.len()) {
            let problem = format!("has 1 to {JTI_MAX} bytes");
            return Err(Error::invalid("id", problem));
        }
        let get = Get::new(keys::EDGE, keys::issued(jti));
        let item = self.store.get(&get).await?;
        let token = item.as_ref().and_then(IssuedToken::from_item);
        Ok(token.filter(|token| token.expires > now_ms / 1000))
    }

    /// Up to `limit` of the tokens that have not expired, from `cursor` on, the newest first. A page may have fewer.
    ///
    /// # Errors
    /// The limit is out of bounds, the cursor is not one of this list, or the store fails.
    pub async fn list(
        &self,
        limit: u32,
        cursor: Option<&str>,
        now_ms: u64,
    ) -> Result<Listed<IssuedToken>> {
        if !(1..=PAGE_MAX).contains(&limit) {
            let problem = format!("is {limit}; 1 to {PAGE_MAX} are allowed");
            return Err(Error::invalid("limit", problem));
        }
        let mut query = Query::partition(keys::EDGE, keys::ISSUED);
        query = query.reverse().limit(limit);
        if let Some(cursor) = cursor {
            query = query.after(cursor);
        }
        let page = self.store.query(&query).await?;
        // Not a filter of the query, because a cursor is bound to its query and the time changes.
        let tokens = page.items.iter().filter_map(IssuedToken::from_item);
        let alive = tokens.filter(|token| token.expires > now_ms / 1000);
        Ok(Listed { items: alive.collect(), cursor: page.cursor })
    }

    /// Records the revocation of a token; [`super::revocation`] performs it.
    ///
    /// # Errors
    /// The store fails.
    pub async fn mark_revoked(&self, jti: &str, now_ms: u64) -> Result<()> {
        let still_there = attr(keys::PK).exists().and(attr(REVOKED_AT).absent());
        let update = set(REVOKED_AT, now_ms / 1000);
        let write = Write::update(keys::EDGE, keys::issued(jti), update).when(still_there);
        self.store.write(write.essential()).await?;
        Ok(())
    }
}

//! Audit trails: which actor changed what, and when. A domain has events of its own, written in the transactions of its
//! changes under its own keys, with ids of [`event_ids`]. Their actions, actors, expiry and lists are the same everywhere.

use crate::backend::Backend;
use crate::error::Result;
use crate::event_ids;
use crate::id::shown;
use crate::item::Item;
use crate::request::Query;
use crate::retry::{Listed, PAGE_MAX};
use crate::store::Store;

/// Longest name of an actor, in characters.
pub const ACTOR_MAX: usize = 256;
/// Most reads for one page of events, of which a filter can drop nearly all.
const READS_MAX: u32 = 16;
const DAY_SECS: i64 = 86_400;

/// Declares the audited actions of a domain, each with its stored text.
#[macro_export]
macro_rules! audit_actions {
    ($name:ident: $($(#[$doc:meta])* $action:ident = $text:literal,)*) => {
        /// An audited action.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {$($(#[$doc])* $action,)*}

        impl $name {
            /// The stored text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($name::$action => $text,)* }
            }

            fn parse(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$action),)* _ => None }
            }
        }
    };
}

/// Which of the events of a trail to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRange {
    /// Start of the time range, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// End of the time range, exclusive, in milliseconds since 1970.
    pub to_ms: Option<i64>,
    /// Largest number of events.
    pub limit: u32,
    /// Cursor of the page.
    pub cursor: Option<String>,
}

impl Default for EventRange {
    /// The newest page of events.
    fn default() -> EventRange {
        EventRange { from_ms: None, to_ms: None, limit: PAGE_MAX, cursor: None }
    }
}

/// The name of an actor, for an event.
///
/// # Errors
/// The problem, if the name is empty, too long or has control characters.
pub fn checked_actor(actor: &str) -> Result<&str, String> {
    let length = actor.chars().take(ACTOR_MAX + 1).count();
    if !(1..=ACTOR_MAX).contains(&length) || actor.contains(char::is_control) {
        let rule = format!("must have 1 to {ACTOR_MAX} characters and no control characters");
        return Err(format!("{} {rule}", shown(actor)));
    }
    Ok(actor)
}

/// When an event of `now_ms` expires, in seconds since 1970.
#[must_use]
pub fn expiry(now_ms: i64, retention_days: u32) -> i64 {
    now_ms.div_euclid(1000).saturating_add(i64::from(retention_days) * DAY_SECS)
}

impl<B: Backend> Store<B> {
    /// Events of the partition and filter of `query`, the newest first. `sort` makes the sort key of an id. Events that have
    /// expired at `now_ms` or that `decode` does not know are left out. A page may be short or even empty while there are more,
    /// because events are filtered after reading.
    ///
    /// # Errors
    /// As [`Store::page`].
    pub async fn events<T>(
        &self,
        query: Query,
        sort: fn(&str) -> String,
        range: &EventRange,
        now_ms: i64,
        decode: fn(&Item) -> Option<T>,
    ) -> Result<Listed<T>> {
        let Some((first, last)) = event_ids::bounds(range.from_ms, range.to_ms) else {
            return Ok(Listed { items: Vec::new(), cursor: None });
        };
        let query = query.between(sort(&first), sort(&last)).reverse();
        let spec = self.spec(&query.table).await?;
        let is_alive = |item: &&Item| {
            let until = spec.ttl.as_deref().and_then(|ttl| item.i64(ttl));
            until.is_none_or(|until| until > now_ms.div_euclid(1000))
        };
        let limit = range.limit.clamp(1, PAGE_MAX);
        let mut found = Listed { items: Vec::new(), cursor: range.cursor.clone() };
        for _ in 0..READS_MAX {
            let had = u32::try_from(found.items.len()).unwrap_or(limit);
            let page = self.page(query.clone(), limit - had, found.cursor.take()).await?;
            found.items.extend(page.items.iter().filter(is_alive).filter_map(decode));
            found.cursor = page.cursor;
            if found.cursor.is_none() || found.items.len() >= limit as usize {
                break;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_has_a_name_that_can_be_shown() {
        assert_eq!(checked_actor("ann"), Ok("ann"));
        for bad in ["", "a\nb", &"x".repeat(ACTOR_MAX + 1)] {
            assert!(checked_actor(bad).is_err(), "{bad:?}");
        }
    }
}

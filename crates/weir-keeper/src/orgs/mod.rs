//! Orgs: put, get, list.
//!
//! An org is its configuration, an entry in the list of orgs, and, as long as nobody has fetched it, the promise of a
//! secret. All three are written in one transaction. A change writes the attributes that differ and nothing else, because
//! credentials are in the same item and may change at the same time.

mod list;
mod put;

pub(crate) use self::put::app_of;

use crate::config::Effective;
use crate::credentials::Retrieval;

/// What became of a put.
#[derive(Debug, Clone)]
pub struct Put {
    /// Whether it was not there before.
    pub created: bool,
    /// What holds now.
    pub effective: Effective,
    /// Where to get the first secret, when it was created.
    pub retrieval: Option<Retrieval>,
}

/// How often an app was given a chain or quotas of its own. Whoever makes all apps share one has looked at the apps, and
/// writes only if none got its own since.
pub(crate) const OWN_CHAINS: &str = "own_chains";

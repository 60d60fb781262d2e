//! Orgs: put, get, list.
//!
//! An org is its configuration, an entry in the list of orgs and, until its first secret is retrieved, a retrieval
//! token. One transaction writes all three. A change updates only the attributes that differ, because the credentials
//! are in the same item and may change concurrently.

mod list;
mod put;

pub(crate) use self::put::decode_app;

use crate::config::EffectiveConfig;
use crate::credentials::Retrieval;

/// The outcome of a put.
#[derive(Debug, Clone)]
pub struct PutOutcome {
    /// Whether it was created.
    pub created: bool,
    /// The configuration in force now.
    pub effective: EffectiveConfig,
    /// The retrieval of the first secret, when it was created.
    pub retrieval: Option<Retrieval>,
}

/// Attribute that counts how often an app got a chain or quotas of its own. Switching an org to a shared chain checks
/// all apps first, and is conditioned on this count.
pub(crate) const OWN_CHAINS: &str = "own_chains";

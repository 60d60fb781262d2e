//! Distinguishes secrets that may be right from guesses, before any hash is computed.

use weir_table::{Backend, Get};

use super::item;
use super::secret::id_of;
use crate::error::Result;
use crate::ids::Scope;
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// Whether a secret has the id of one that the client may use. A stranger does not know the id, so rate limits can count
    /// guesses apart. The response must not depend on it: an id is no proof.
    ///
    /// # Errors
    /// The store fails.
    pub async fn has_known_secret_id(&self, client_id: &str, client_secret: &str) -> Result<bool> {
        let Ok(scope) = Scope::parse_client_id(client_id) else { return Ok(false) };
        let get = Get::new(self.tables().config.clone(), keys::config(&scope));
        let client = self.store().get(&get.project(item::VERIFY_ATTRIBUTES)).await?;
        let id = id_of(client_secret);
        let hash = client.as_ref().and_then(|client| item::hash_for(client, id, self.now_ms()));
        Ok(id.is_some() && hash.is_some())
    }
}

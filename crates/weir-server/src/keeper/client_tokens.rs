//! The tokens of the keeper's clients, which end in its transactions.

use weir_framework::app::App;
use weir_keeper::Result;
use weir_keeper::credentials::TokenRevocation;
use weir_table::Write;

/// Ends tokens of the running server.
pub(super) struct ClientTokens<'a>(pub(super) &'a App);

impl TokenRevocation for ClientTokens<'_> {
    async fn end_tokens(&self, client_id: &str) -> Result<Write> {
        Ok(self.0.auth().revoke_all_write(client_id).await?)
    }

    fn ended(&self, client_id: &str) {
        self.0.auth().forget_subject(client_id);
    }
}

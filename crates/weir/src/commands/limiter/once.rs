//! The key of a call that counts once, however often it is sent: `--idempotency-key`.

use clap::Args;
use weir_framework::once::OnceKey;

#[derive(Debug, Args)]
pub(super) struct OnceArgs {
    /// Count it once, however often it is sent with this key
    #[arg(long, value_name = "KEY", value_parser = key)]
    idempotency_key: Option<OnceKey>,
}

impl OnceArgs {
    pub(super) fn key(&self) -> Option<&OnceKey> {
        self.idempotency_key.as_ref()
    }
}

fn key(text: &str) -> Result<OnceKey, String> {
    text.parse().map_err(|error| format!("it {error}"))
}

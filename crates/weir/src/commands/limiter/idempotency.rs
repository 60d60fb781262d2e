//! `--idempotency-key`: the key under which a request takes effect once.

use clap::Args;
use weir_framework::once::OnceKey;

#[derive(Debug, Args)]
pub(super) struct IdempotencyArgs {
    /// Key under which the request takes effect once, however often it is sent, for example job-17
    #[arg(long, value_name = "KEY", value_parser = key)]
    idempotency_key: Option<OnceKey>,
}

impl IdempotencyArgs {
    pub(super) fn key(&self) -> Option<&OnceKey> {
        self.idempotency_key.as_ref()
    }
}

fn key(text: &str) -> Result<OnceKey, String> {
    text.parse().map_err(|error| format!("the key {error}"))
}

//! Ends the access and refresh tokens of a client in the transaction of another change, so that there is no time between.

use std::future::Future;

use weir_table::Write;

use crate::error::Result;

/// Ends tokens. The server that issues them implements it.
pub trait TokenRevocation: Sync {
    /// The write that ends every token issued to `client_id` so far. It may be conditional; when it is refused, it is requested
    /// again.
    fn end_tokens(&self, client_id: &str) -> impl Future<Output = Result<Write>> + Send;

    /// The transaction of such a write was sent: what is cached of the client's tokens may be outdated.
    fn ended(&self, client_id: &str);
}

//! Retries of transient failures, in addition to those of the back-end, because a copy may run for hours.

use std::time::Duration;

use weir_table::Result;

const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Calls `act` until it succeeds or fails permanently, with growing pauses.
pub(crate) async fn transient<T, F: Future<Output = Result<T>>>(act: impl Fn() -> F) -> Result<T> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        match act().await {
            Err(error) if error.is_transient() => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            ended => return ended,
        }
    }
    act().await
}

//! Trying again what may work the next time. A back-end tries for itself first; a copy that runs
//! for hours has more patience.

use std::time::Duration;

use weir_table::Result;

const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Calls `act` until it succeeds or fails for good, with longer and longer pauses.
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

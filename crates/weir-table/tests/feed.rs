//! Consumers of the change feed, on both back-ends, and on one whose shards split.
#![cfg(all(feature = "dynamodb", feature = "embedded"))]

/// Makes one test per back-end of each scenario.
#[cfg(test)]
macro_rules! on_both {
    ($($scenario:ident),* $(,)?) => {
        mod embedded_store {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(crate::setup::on_embedded().await).await;
            })*
        }
        mod dynamodb_local {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(crate::setup::on_dynamodb().await).await;
            })*
        }
    };
}

#[cfg(test)]
#[path = "feed/consumers.rs"]
mod consumers;
#[cfg(test)]
#[path = "feed/merging.rs"]
mod merging;
#[cfg(test)]
#[path = "feed/scripted.rs"]
mod scripted;
#[cfg(test)]
#[path = "feed/setup.rs"]
mod setup;
#[cfg(test)]
#[path = "feed/splitting.rs"]
mod splitting;
#[cfg(test)]
#[path = "feed/windows.rs"]
mod windows;

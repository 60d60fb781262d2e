//! Consumers of the change feed, on both back-ends, and on one whose shards split.
#![cfg(all(feature = "dynamodb", feature = "embedded"))]

/// Tells each of these stories on both back-ends.
#[cfg(test)]
macro_rules! on_both {
    ($($story:ident),* $(,)?) => {
        mod embedded_store {
            $(#[tokio::test]
            async fn $story() {
                super::$story(crate::places::on_embedded().await).await;
            })*
        }
        mod dynamodb_local {
            $(#[tokio::test]
            async fn $story() {
                super::$story(crate::places::on_dynamodb().await).await;
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
#[path = "feed/places.rs"]
mod places;
#[cfg(test)]
#[path = "feed/scripted.rs"]
mod scripted;
#[cfg(test)]
#[path = "feed/splitting.rs"]
mod splitting;
#[cfg(test)]
#[path = "feed/stretches.rs"]
mod stretches;

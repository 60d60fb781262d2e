//! Consumers of the change feed, on both back-ends, and on one whose shards split.
#![cfg(all(feature = "dynamodb", feature = "embedded"))]

#[cfg(test)]
#[path = "feed/consumers.rs"]
mod consumers;
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

//! Background jobs on real stores: periods, leases of several instances, feeds under kills, drains.
#![cfg(feature = "embedded")]

#[cfg(test)]
#[path = "jobs/counts.rs"]
mod counts;
#[cfg(test)]
#[path = "jobs/draining.rs"]
mod draining;
#[cfg(test)]
#[path = "jobs/feeds.rs"]
mod feeds;
#[cfg(test)]
#[path = "jobs/leases.rs"]
mod leases;
#[cfg(test)]
#[path = "jobs/passes.rs"]
mod passes;
#[cfg(test)]
#[path = "jobs/periods.rs"]
mod periods;
#[cfg(test)]
#[path = "jobs/places.rs"]
mod places;
#[cfg(test)]
#[path = "jobs/scripts.rs"]
mod scripts;

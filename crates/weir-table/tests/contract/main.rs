//! The contract of a back-end: what every store does, whatever it stands on.
//!
//! A scenario is written once, as a function of a [`fixture::Fixture`], in the file of its theme.
//! The `contract!` list at the top of the file makes one test of it per back-end, named
//! `theme::backend::scenario`, so `cargo nextest run -E 'test(::embedded::)'` runs one back-end.
//!
//! - Each test has a store, or a table prefix, of its own; tests run side by side.
//! - Indexes and feeds may lag: scenarios ask them with [`fixture::eventually`].
//! - What an emulator is known to get wrong stands in [`skips`], with the reason.
//! - [`backends`] says which environment variables name a server or a real account.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test says what went wrong by panicking and what was skipped by printing"
)]

use std::collections::BTreeSet;

/// Makes one test per back-end of each scenario named, and lists their names.
macro_rules! contract {
    ($($scenario:ident),* $(,)?) => {
        pub(crate) const SCENARIOS: &[&str] = &[$(stringify!($scenario)),*];

        contract!(@on embedded $($scenario)*);
        contract!(@on embedded_tiny_cache $($scenario)*);
        contract!(@on embedded_delayed_index $($scenario)*);
        contract!(@on dynamodb_local $($scenario)*);
        contract!(@on moto $($scenario)*);
        contract!(@on dynoxide $($scenario)*);
        contract!(@on aws $($scenario)*);
    };
    (@on $backend:ident $($scenario:ident)*) => {
        mod $backend {
            $(
                #[test]
                fn $scenario() {
                    crate::backends::$backend(stringify!($scenario), |t| Box::pin(super::$scenario(t)));
                }
            )*
        }
    };
}

mod backends;
mod fixture;
mod follower;
mod skips;

mod additions;
mod bad_conditions;
mod bad_items;
mod bad_queries;
mod bad_updates;
mod batches;
mod comparisons;
mod concurrency;
mod condition_functions;
mod conditions;
mod counts_filters_projections;
mod feed;
mod feed_consumer;
mod index_projections;
mod indexes;
mod limits;
mod nested_paths;
mod put_get;
mod queries;
mod query_pages_cursors;
mod scans_segments;
mod sort_orders;
mod tables;
mod tokens;
mod transactions;
mod ttl;
mod updates_numbers;
mod updates_sets_lists;

/// Every theme with its scenarios.
const THEMES: &[(&str, &[&str])] = &[
    ("additions", additions::SCENARIOS),
    ("bad_conditions", bad_conditions::SCENARIOS),
    ("bad_items", bad_items::SCENARIOS),
    ("bad_queries", bad_queries::SCENARIOS),
    ("bad_updates", bad_updates::SCENARIOS),
    ("batches", batches::SCENARIOS),
    ("comparisons", comparisons::SCENARIOS),
    ("concurrency", concurrency::SCENARIOS),
    ("condition_functions", condition_functions::SCENARIOS),
    ("conditions", conditions::SCENARIOS),
    ("counts_filters_projections", counts_filters_projections::SCENARIOS),
    ("feed", feed::SCENARIOS),
    ("feed_consumer", feed_consumer::SCENARIOS),
    ("index_projections", index_projections::SCENARIOS),
    ("indexes", indexes::SCENARIOS),
    ("limits", limits::SCENARIOS),
    ("nested_paths", nested_paths::SCENARIOS),
    ("put_get", put_get::SCENARIOS),
    ("queries", queries::SCENARIOS),
    ("query_pages_cursors", query_pages_cursors::SCENARIOS),
    ("scans_segments", scans_segments::SCENARIOS),
    ("sort_orders", sort_orders::SCENARIOS),
    ("tables", tables::SCENARIOS),
    ("tokens", tokens::SCENARIOS),
    ("transactions", transactions::SCENARIOS),
    ("ttl", ttl::SCENARIOS),
    ("updates_numbers", updates_numbers::SCENARIOS),
    ("updates_sets_lists", updates_sets_lists::SCENARIOS),
];

#[test]
fn skips_are_counted() {
    let names: Vec<&str> = THEMES.iter().flat_map(|(_, names)| *names).copied().collect();
    let known: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(known.len(), names.len(), "two scenarios have one name");
    assert!(names.len() >= 150, "there are {} scenarios", names.len());
    println!("{} scenarios in {} themes", names.len(), THEMES.len());
    for backend in backends::NAMES {
        let skips: Vec<_> = skips::SKIPS.iter().filter(|skip| skip.backend == *backend).collect();
        let skipped: usize = skips.iter().map(|skip| skip.scenarios.len()).sum();
        println!("{backend}: {} run, {skipped} skipped", names.len() - skipped);
        for skip in skips {
            for scenario in skip.scenarios {
                println!("  skipped: {scenario} because {}", skip.reason);
            }
        }
    }
    if !backends::aws_is_named() {
        println!("aws: in fact all skipped because {} is not 1", backends::AWS_VAR);
    }
    for skip in skips::SKIPS {
        assert!(backends::NAMES.contains(&skip.backend), "no back-end {}", skip.backend);
        for scenario in skip.scenarios {
            assert!(known.contains(scenario), "no scenario {scenario}");
        }
    }
}

//! Reviews recorded, replaced and deleted by many writers while servers are killed: no reader meets half of one.
//!
//! Writers go on until each of their requests is answered, and send every attempt with its parts in another order. So in the
//! end it is known of each review whether it is there, and in which version. Observers look at reviews all the while. At
//! the end the lists, the raw outputs and the comparison of models are computed once more from the reviews.

mod books;
mod brute_force;
mod client;
mod load;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::json;
use weir_api::reviews::{Comparison, VerifyRollupsResponse};

use self::books::Books;
use self::client::{Seen, Writer, observe};
use self::load::{Load, OWNER, REPOS};
use crate::ground::Ground;
use crate::patient::Client;

const WRITERS: usize = 8;
const OBSERVERS: usize = 2;
/// How often a server is killed at most. Starts take longer the more there is to read back, so more kills would leave no time
/// to write.
const KILLS_MAX: u64 = 20;
/// Reviews for each kill.
const REVIEWS_PER_KILL: u64 = 5;
const PROGRESS_EVERY: Duration = Duration::from_millis(5);
/// How often rollups are looked at until they are up to date.
const LOOKS_MAX: u32 = 300;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// As many reviews as are asked for at full length, and `usual` otherwise.
fn count(whole: u64, usual: u64) -> u64 {
    let all = std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1");
    if all { whole } else { usual }
}

fn record(ground: &mut Ground, count: u64, has_raws: bool) {
    let started = Instant::now();
    let load = Arc::new(Load::new(count, has_raws));
    let (seen, is_over) = (Arc::new(Mutex::new(Seen::default())), Arc::new(AtomicBool::new(false)));
    let finished = Arc::new(AtomicU64::new(0));
    let address_files = ground.address_files();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let client = Client::new(&address_files, writer);
            let of = Writer { client, load: Arc::clone(&load), finished: Arc::clone(&finished) };
            ground.runtime.spawn(of.run(writer as u64, WRITERS as u64))
        })
        .collect();
    let observers: Vec<_> = (0..OBSERVERS)
        .map(|observer| {
            let client = Client::new(&address_files, observer);
            let (load, seen, is_over) = (load.clone(), seen.clone(), is_over.clone());
            ground.runtime.spawn(observe(client, load, seen, is_over))
        })
        .collect();
    // Kills are spread over the work, however fast it is.
    let kills = (count / REVIEWS_PER_KILL).min(KILLS_MAX);
    for kill in 1..=kills {
        let after = kill * count / (kills + 1);
        while finished.load(Ordering::SeqCst) < after {
            let is_stuck = writers.iter().all(tokio::task::JoinHandle::is_finished);
            assert!(!is_stuck, "the writers ended before their work was done");
            std::thread::sleep(PROGRESS_EVERY);
        }
        ground.restart(fastrand::usize(..ground.servers()));
    }
    let retries = ground.runtime.block_on(async {
        let mut retries = 0;
        for writer in writers {
            retries += writer.await.unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
        for observer in observers {
            observer.await.unwrap();
        }
        retries
    });
    let recorded_in = started.elapsed();
    let entries = check(ground, &load, &seen);
    let seen = seen.lock().unwrap();
    eprintln!(
        "{count} reviews recorded in {recorded_in:.1?} and checked in {:.1?}: {kills} kills, {retries} requests sent again; \
         observers saw {} completed reviews whole, {} others and {} listed; {entries} entries of lists agree",
        started.elapsed() - recorded_in,
        seen.completed,
        seen.others,
        seen.listed,
    );
    assert_eq!(seen.problems, [""; 0]);
    assert!(kills > 0 && retries > 0, "{kills} kills, {retries} retries");
    assert!(seen.completed > 0, "nothing was observed");
}

/// Checks what is there in the end. Returns the number of entries of all lists.
fn check(ground: &Ground, load: &Arc<Load>, seen: &Mutex<Seen>) -> usize {
    let mut client = Client::new(&ground.address_files(), 0);
    let (books, entries) = ground.runtime.block_on(async {
        let books = Books::read(&mut client, load, seen).await;
        let entries = books.check_lists(&mut client).await;
        Books::record_again(&mut client, load).await;
        assert!(
            books == Books::read(&mut client, load, seen).await,
            "recording again changed them"
        );
        (books, entries)
    });
    if let Some(data) = ground.data() {
        check_raws(&data.join("reviews-raw"), &books);
    }
    compare(ground, &books);
    entries
}

/// Checks that there are the raw outputs that reviews name, and no others.
fn check_raws(folder: &Path, books: &Books) {
    let (mut found, mut folders) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let key = path.strip_prefix(folder).unwrap().to_str().unwrap();
                found.insert(key.to_owned());
            }
        }
    }
    // A kill leaves the file that an object is written to before it gets its name.
    let (unfinished, found): (Vec<String>, _) =
        found.into_iter().partition(|key| !key.ends_with(".json"));
    eprintln!("{} raw outputs, and {} that a kill left unfinished", found.len(), unfinished.len());
    assert_eq!(found, books.raw_keys().into_iter().collect::<Vec<_>>());
}

/// Checks that the comparisons of all and of each repository are those of the reviews, once the job has rolled up.
fn compare(ground: &Ground, books: &Books) {
    let days: BTreeSet<&str> =
        books.reviews.iter().map(|review| &review.created_at[..10]).collect();
    let (from, last) = (days.first().unwrap(), days.last().unwrap());
    let to = weir_calendar::rfc3339(
        i64::try_from(weir_table::clock::Clock::System.now_ms()).unwrap() + 86_400_000,
    );
    let to = &to[..10];
    assert!(last < &to);
    let body = json!({"from": from, "to": to});
    for look in 0..=LOOKS_MAX {
        let found = ground.call(Method::POST, "/v1/reviews/rollups/verify", Some(&body));
        let found: VerifyRollupsResponse = serde_json::from_value(found).unwrap();
        assert_eq!(found.failures, [""; 0]);
        if !found.is_pending {
            assert_eq!(found.differing, 0, "{found:?}");
            break;
        }
        assert!(look < LOOKS_MAX, "the job does not finish");
        std::thread::sleep(LOOK_EVERY);
    }
    let path = format!("/v1/reviews/compare?from={from}&to={to}");
    let all: Comparison = serde_json::from_value(ground.call(Method::GET, &path, None)).unwrap();
    brute_force::assert_equals(&all, &books.reviews);
    for repo in REPOS {
        let path = format!("{path}&repo={OWNER}/{repo}");
        let found = serde_json::from_value(ground.call(Method::GET, &path, None)).unwrap();
        let own: Vec<_> = books.reviews.iter().filter(|one| one.repo == repo).cloned().collect();
        brute_force::assert_equals(&found, &own);
    }
}

#[test]
fn completed_reviews_are_whole_through_kills_embedded() {
    record(&mut Ground::embedded(), count(1_000, 30), true);
}

#[test]
fn completed_reviews_are_whole_through_kills_dynamodb_local() {
    record(&mut Ground::dynamodb_local_with(2, ""), count(60, 10), false);
}

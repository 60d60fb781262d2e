//! Real servers for tests: DynamoDB endpoints, and PostgreSQL.
//!
//! | endpoint | function | what it is |
//! |---|---|---|
//! | DynamoDB Local | [`dynamo_local_endpoint`] | Amazon's own emulator, the reference |
//! | moto | [`moto_endpoint`] | an independent emulator in Python; serves S3 on the same address |
//! | dynoxide | [`dynoxide_endpoint`] | an independent emulator in Rust, inside the test process |
//! | PostgreSQL | [`postgres_database`] | a database of its own for each test |
//!
//! All but dynoxide are child processes that take seconds to start, so a whole test run shares
//! them: the `with-servers` program starts them, names them in [`DYNAMO_LOCAL_VAR`], [`MOTO_VAR`]
//! and [`POSTGRES_VAR`], and runs the test runner. A test started alone, with no variable set, gets
//! an instance of its own process. A variable may also name any other address that speaks
//! DynamoDB, or PostgreSQL.
//!
//! [`watched`] is a back-end for tests that counts what it is asked, and fails where a test says so. [`ledger`],
//! [`prices`] and [`page`] hold what operations cost against `docs/cost.md`. [`stage`] is where the scenes of a domain play, on every
//! back-end.
//!
//! [`FaultyDisk`] and [`SmallDisk`] fail and fill up on request.
//! [`eventually`] waits for state that lags behind a write, and [`skip()`] records a test that cannot run on this machine.
//! [`cpu_time()`] measures a computation whatever else the machine does.
//!
//! Because servers are shared, every test puts [`unique_prefix`] before its table names.
//!
//! No server checks signatures, but each wants to see one: sign with any region and any access
//! key made of letters and digits (DynamoDB Local refuses other characters).
//!
//! The servers are installed by `make setup`, like other programs of tests, which [`installed`] finds.

mod cpu_time;
mod dynoxide;
mod faulty_disk;
pub mod ledger;
pub mod page;
mod postgres;
pub mod practice_rows;
pub mod prices;
mod probe;
mod process;
mod s3;
pub mod scales;
mod skip;
mod small_disk;
pub mod stage;
mod tools;
mod wait;
pub mod watched;

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

pub use cpu_time::cpu_time;
pub use dynoxide::Dynoxide;
pub use faulty_disk::FaultyDisk;
pub use postgres::{Database, Postgres};
pub use process::{DynamoLocal, Moto};
pub use s3::make_bucket;
pub use skip::skip;
pub use small_disk::SmallDisk;
pub use tools::installed;
pub use wait::{eventually, eventually_eq};

/// The environment variable that names a running DynamoDB Local, as `http://HOST:PORT`.
pub const DYNAMO_LOCAL_VAR: &str = "WEIR_TEST_DYNAMODB_LOCAL";

/// The environment variable that names a running moto, as `http://HOST:PORT`.
pub const MOTO_VAR: &str = "WEIR_TEST_MOTO";

/// The environment variable that names a running PostgreSQL, as `postgres://USER@HOST:PORT`; the user may create databases.
pub const POSTGRES_VAR: &str = "WEIR_TEST_POSTGRES";

/// The access key that the DynamoDB back-end uses on this machine. DynamoDB Local has a database for each key, too.
const ACCESS_KEY: &str = "local";

/// Why a test server could not be started, or a program of tests not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is not where `make setup` puts it.
    #[error("{path} is missing: run `make setup`")]
    NotInstalled {
        /// The file that was looked for.
        path: String,
    },
    /// The operating system refused something that starting needs.
    #[error("cannot {doing} for {server}")]
    Io {
        /// The action that failed.
        doing: &'static str,
        /// The server being started.
        server: &'static str,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The server ended, or never answered; what it printed is included.
    #[error("{server} {what}; it printed:\n{output}")]
    NotReady {
        /// The server being started.
        server: &'static str,
        /// The problem with the server.
        what: String,
        /// The end of what it wrote to standard output and standard error.
        output: String,
    },
    /// dynoxide could not open its in-memory database.
    #[error("cannot open dynoxide's database: {0}")]
    Dynoxide(String),
}

/// The address of DynamoDB Local: the shared one, or else one for this process.
///
/// # Errors
/// When the server has to be started and is not installed or does not come up.
pub fn dynamo_local_endpoint() -> Result<&'static str, &'static Error> {
    static SHARED: OnceLock<Option<String>> = OnceLock::new();
    static OWN: OnceLock<Result<DynamoLocal, Error>> = OnceLock::new();
    match SHARED.get_or_init(|| env::var(DYNAMO_LOCAL_VAR).ok()) {
        Some(url) => Ok(url),
        None => OWN.get_or_init(DynamoLocal::start).as_ref().map(DynamoLocal::endpoint),
    }
}

/// The region of the tests of this process. DynamoDB Local has a database for each region, so no test waits for another one
/// or searches through its changes. A region that the environment names is used as it is.
#[must_use]
pub fn dynamo_local_region() -> &'static str {
    static REGION: OnceLock<String> = OnceLock::new();
    REGION.get_or_init(|| {
        let own = || unique_prefix("test").trim_end_matches('-').to_owned();
        env::var("AWS_REGION").unwrap_or_else(|_| own())
    })
}

/// Environment variables with which another program sees the tables of this process.
#[must_use]
pub fn dynamo_local_environment() -> [(&'static str, &'static str); 5] {
    let region = dynamo_local_region();
    [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", ACCESS_KEY),
        ("AWS_REGION", region),
        ("AWS_DEFAULT_REGION", region),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ]
}

/// The address of moto: the shared one, or else one for this process.
///
/// # Errors
/// When the server has to be started and is not installed or does not come up.
pub fn moto_endpoint() -> Result<&'static str, &'static Error> {
    static SHARED: OnceLock<Option<String>> = OnceLock::new();
    static OWN: OnceLock<Result<Moto, Error>> = OnceLock::new();
    match SHARED.get_or_init(|| env::var(MOTO_VAR).ok()) {
        Some(url) => Ok(url),
        None => OWN.get_or_init(Moto::start).as_ref().map(Moto::endpoint),
    }
}

/// The address of PostgreSQL: the shared one, or else one for this process.
///
/// # Errors
/// When the server has to be started and is not installed or does not come up.
pub fn postgres_url() -> Result<&'static str, &'static Error> {
    static SHARED: OnceLock<Option<String>> = OnceLock::new();
    static OWN: OnceLock<Result<Postgres, Error>> = OnceLock::new();
    match SHARED.get_or_init(|| env::var(POSTGRES_VAR).ok()) {
        Some(url) => Ok(url),
        None => OWN.get_or_init(Postgres::start).as_ref().map(Postgres::url),
    }
}

/// A database of a test's own on that server.
///
/// # Errors
/// When the server has to be started and does not come up, or refuses.
pub fn postgres_database(name: &str) -> Result<Database, Error> {
    let url = postgres_url().map_err(|error| Error::NotReady {
        server: "PostgreSQL",
        what: error.to_string(),
        output: String::new(),
    })?;
    Database::create(url, name)
}

/// The address of a dynoxide that runs inside this process.
///
/// # Errors
/// When it cannot open a socket or its in-memory database.
pub fn dynoxide_endpoint() -> Result<&'static str, &'static Error> {
    static OWN: OnceLock<Result<Dynoxide, Error>> = OnceLock::new();
    OWN.get_or_init(Dynoxide::start).as_ref().map(Dynoxide::endpoint)
}

/// A table-name prefix that no other test uses, such as `orders-1f00ba4c5d6e7a89-`.
#[must_use]
pub fn unique_prefix(name: &str) -> String {
    // Each `RandomState` has its own random keys, in this process and in others.
    format!("{name}-{:016x}-", RandomState::new().hash_one(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(endpoint: &str) -> bool {
        probe::answers(endpoint.strip_prefix("http://").unwrap().parse().unwrap())
    }

    #[test]
    fn dynamo_local_answers() {
        assert!(answers(dynamo_local_endpoint().unwrap()));
    }

    #[test]
    fn moto_answers() {
        assert!(answers(moto_endpoint().unwrap()));
    }

    #[test]
    fn dynoxide_answers() {
        assert!(answers(dynoxide_endpoint().unwrap()));
    }

    #[test]
    fn a_dropped_dynoxide_is_gone_and_others_stay() {
        let (first, second) = (Dynoxide::start().unwrap(), Dynoxide::start().unwrap());
        let address = first.endpoint().to_owned();
        drop(first);
        assert!(!answers(&address));
        assert!(answers(second.endpoint()));
    }

    #[test]
    fn a_dropped_moto_is_gone() {
        let moto = Moto::start().unwrap();
        let address = moto.endpoint().to_owned();
        assert!(answers(&address));
        drop(moto);
        assert!(!answers(&address));
    }

    #[test]
    fn prefixes_are_unique_and_fit_in_a_table_name() {
        let (first, second) = (unique_prefix("orders"), unique_prefix("orders"));
        assert_ne!(first, second);
        assert!(first.starts_with("orders-"));
        assert_eq!(first.len(), "orders-".len() + 17);
    }
}

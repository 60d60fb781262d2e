//! Validates a configuration, beyond the types of its values. Each problem names the key and the layer that set it; none
//! quotes a secret.

use std::ops::RangeInclusive;

use super::load::Loaded;
use super::secret::Secret;
use super::{Config, Kind, listen, log};
use crate::failure::Failure;
use weir_framework::auth::CACHE_MAX_SECS;
use weir_framework::auth::claims::ID_MAX;

const DAY_S: u64 = 86_400;
const MIB: u64 = 1 << 20;
/// Minimum length of the admin key in characters.
const ADMIN_KEY_MIN: usize = 16;
/// Minimum length of an HS256 key in bytes, by RFC 7518.
const SIGNING_KEY_MIN: usize = 32;
/// Length of the cursor key in bytes.
const CURSOR_KEY: usize = 32;

/// The failure of a command whose configuration has problems, if it has any.
pub(crate) fn failure(problems: &[String]) -> Option<Failure> {
    let failure = match problems {
        [] => return None,
        [one] => Failure::usage(one.as_str()),
        several => {
            let message = format!("the configuration has {} mistakes", several.len());
            several.iter().fold(Failure::usage(message), Failure::because)
        }
    };
    Some(
        failure.help(
            "`weir config` shows the values in effect, `weir config default` lists every key",
        ),
    )
}

/// Problems of single values.
pub(super) fn values(loaded: &Loaded) -> Vec<String> {
    let config = &loaded.config;
    let mut problems = ranges(loaded);
    problems.extend(secrets(loaded));
    let is_url = |text: &&String| text.starts_with("http://") || text.starts_with("https://");
    let endpoint = config.store.dynamodb_endpoint.as_ref();
    if let Some(endpoint) = endpoint.filter(|text| !is_url(text)) {
        let problem =
            format!("{endpoint:?} is not an endpoint; it must start with http:// or https://");
        problems.push(loaded.wrong("store.dynamodb_endpoint", problem));
    }
    if config.auth.issuer.len() > ID_MAX {
        let problem = format!("is longer than {ID_MAX} bytes");
        problems.push(loaded.wrong("auth.issuer", problem));
    }
    if let Some(problem) = listen::problem(&config.server.listen) {
        problems.push(loaded.wrong("server.listen", problem));
    }
    if let Some(problem) = log::level_problem(&config.log.level) {
        problems.push(loaded.wrong("log.level", problem));
    }
    let found = config.services().problems();
    problems.extend(found.into_iter().map(|(key, problem)| loaded.wrong(&key, problem)));
    problems
}

/// Problems of combinations of values. Call it only if all single values are valid, because an invalid value is
/// missing.
pub(super) fn together(loaded: &Loaded) -> Vec<String> {
    let auth = &loaded.config.auth;
    let mut problems = Vec::new();
    problems.extend(dynamodb_keys_of_embedded(loaded));
    problems.extend(impatient_feed(loaded));
    problems.extend(half_of_tls(loaded));
    problems.extend(no_room_to_fold(loaded));
    let prefix = loaded.config.store.table_prefix.as_deref().unwrap_or_default();
    let found = loaded.config.services().table_problems(prefix);
    problems.extend(found.into_iter().map(|(key, problem)| loaded.wrong(&key, problem)));
    if auth.refresh_token_secs < auth.access_token_secs {
        let problem =
            "is less than auth.access_token_secs; a refresh token outlives what it refreshes";
        problems.push(loaded.wrong("auth.refresh_token_secs", problem));
    }
    problems.extend(keys(loaded));
    problems
}

fn keys(loaded: &Loaded) -> Vec<String> {
    let auth = &loaded.config.auth;
    let mut problems = Vec::new();
    let (key, file) = (&auth.signing_key, &auth.signing_key_file);
    let (old_key, old_file) = (&auth.previous_signing_key, &auth.previous_signing_key_file);
    let twice = [
        ("auth.admin_key", auth.admin_key.is_some() && auth.admin_key_file.is_some()),
        ("auth.signing_key", key.is_some() && file.is_some()),
        ("auth.previous_signing_key", old_key.is_some() && old_file.is_some()),
        ("auth.cursor_key", auth.cursor_key.is_some() && auth.cursor_key_file.is_some()),
    ];
    let has_old = old_key.is_some() || old_file.is_some();
    if has_old && key.is_none() && file.is_none() {
        let old = match old_key {
            Some(_) => "auth.previous_signing_key",
            None => "auth.previous_signing_key_file",
        };
        let problem = "is set without auth.signing_key or auth.signing_key_file, the current one";
        problems.push(loaded.wrong(old, problem));
    }
    for (key, _) in twice.iter().filter(|(_, twice)| *twice) {
        let other = format!("{key}_file");
        let by = loaded.origin(&other);
        let problem = format!("and {other} are both set, the latter by {by}; set only one");
        problems.push(loaded.wrong(key, problem));
    }
    problems
}

fn dynamodb_keys_of_embedded(loaded: &Loaded) -> Option<String> {
    let store = &loaded.config.store;
    let of_dynamodb = [
        ("store.dynamodb_endpoint", &store.dynamodb_endpoint),
        ("store.region", &store.region),
        ("store.table_prefix", &store.table_prefix),
    ];
    let set: Vec<_> = of_dynamodb
        .iter()
        .filter(|(_, value)| value.is_some())
        .map(|(key, _)| format!("{key} is set by {}", loaded.origin(key)))
        .collect();
    (store.kind == Kind::Embedded && !set.is_empty()).then(|| {
        format!(
            "--dynamodb-endpoint, --region and --table-prefix are for DynamoDB, and the store is \
             embedded ({}); add --store dynamodb, or leave them out",
            set.join(", ")
        )
    })
}

/// A job that pauses for longer than the feed waits would find the changes trimmed at every run.
fn impatient_feed(loaded: &Loaded) -> Option<String> {
    let (jobs, practice) = (&loaded.config.jobs, &loaded.config.practice);
    let longest = jobs.aggregate_interval_secs.max(practice.rollup_interval_secs.unwrap_or(0));
    (loaded.config.store.feed_idle_secs <= longest).then(|| {
        let problem = format!("must be longer than the longest interval of jobs, {longest} s");
        loaded.wrong("store.feed_idle_secs", problem)
    })
}

/// Below the bound, recent commits still have to be folded: a third of their memory, written twice.
fn no_room_to_fold(loaded: &Loaded) -> Option<String> {
    let store = &loaded.config.store;
    let (bound, dirty) = (store.free_bytes_min, store.dirty_bytes_max);
    (store.kind == Kind::Embedded && bound > 0 && bound < dirty).then(|| {
        let by = loaded.origin("store.dirty_bytes_max");
        let problem = format!(
            "is less than store.dirty_bytes_max, {dirty}, set by {by}: a nearly full disk could not \
             take recent commits; 0 turns the bound off"
        );
        loaded.wrong("store.free_bytes_min", problem)
    })
}

fn half_of_tls(loaded: &Loaded) -> Option<String> {
    let server = &loaded.config.server;
    let (alone, missing) = match (&server.tls_cert, &server.tls_key) {
        (Some(_), None) => ("server.tls_cert", "server.tls_key"),
        (None, Some(_)) => ("server.tls_key", "server.tls_cert"),
        _ => return None,
    };
    Some(loaded.wrong(alone, format!("is set without {missing}; HTTPS needs both")))
}

fn ranges(loaded: &Loaded) -> Vec<String> {
    let (server, auth) = (&loaded.config.server, &loaded.config.auth);
    let store = &loaded.config.store;
    let interval = loaded.config.jobs.aggregate_interval_secs;
    let per_address_max = server.connections_per_address_max as u64;
    let in_flight_max = server.body_bytes_in_flight_max as u64;
    let numbers: [(&str, u64, RangeInclusive<u64>); 18] = [
        ("store.cache_bytes", store.cache_bytes, 0..=1 << 40),
        ("store.dirty_bytes_max", store.dirty_bytes_max, 3 * MIB..=1 << 36),
        ("store.feed_bytes_max", store.feed_bytes_max, MIB..=1 << 50),
        ("store.feed_idle_secs", store.feed_idle_secs, 60..=366 * DAY_S),
        ("store.free_bytes_min", store.free_bytes_min, 0..=1 << 50),
        ("server.body_bytes_max", server.body_bytes_max as u64, 1..=1 << 30),
        ("server.header_timeout_secs", server.header_timeout_secs, 1..=3600),
        ("server.request_timeout_secs", server.request_timeout_secs, 1..=3600),
        ("server.connections_max", server.connections_max as u64, 1..=1_000_000),
        ("server.requests_max", server.requests_max as u64, 1..=1_000_000),
        ("server.connections_per_address_max", per_address_max, 1..=1_000_000),
        ("server.body_bytes_in_flight_max", in_flight_max, 1..=1 << 40),
        ("server.drain_delay_secs", server.drain_delay_secs, 0..=3600),
        ("server.drain_timeout_secs", server.drain_timeout_secs, 1..=3600),
        ("auth.access_token_secs", auth.access_token_secs, 60..=DAY_S),
        ("auth.refresh_token_secs", auth.refresh_token_secs, 60..=366 * DAY_S),
        ("auth.revocation_cache_secs", auth.revocation_cache_secs, 1..=CACHE_MAX_SECS),
        ("jobs.aggregate_interval_secs", interval, 1..=3600),
    ];
    numbers
        .iter()
        .filter(|(_, value, range)| !range.contains(value))
        .map(|(key, value, range)| {
            let (least, most) = (range.start(), range.end());
            loaded.wrong(key, format!("is {value}; it must be from {least} to {most}"))
        })
        .collect()
}

/// Returns the problem of a secret, if it has one.
type Check = fn(&Secret) -> Option<String>;

fn secrets(loaded: &Loaded) -> Vec<String> {
    let auth = &loaded.config.auth;
    let checks: [(&str, &Option<Secret>, Check); 4] = [
        ("auth.admin_key", &auth.admin_key, admin),
        ("auth.signing_key", &auth.signing_key, signing),
        ("auth.previous_signing_key", &auth.previous_signing_key, signing),
        ("auth.cursor_key", &auth.cursor_key, cursor),
    ];
    checks
        .iter()
        .filter_map(|(key, secret, check)| {
            let problem = secret.as_ref().and_then(check)?;
            Some(loaded.wrong(key, problem))
        })
        .collect()
}

pub(crate) fn admin(key: &Secret) -> Option<String> {
    let is_short = key.expose().chars().count() < ADMIN_KEY_MIN;
    is_short.then(|| format!("has fewer than {ADMIN_KEY_MIN} characters"))
}

pub(crate) fn cursor(key: &Secret) -> Option<String> {
    let is_wrong = key.key_bytes().is_none_or(|bytes| bytes.len() != CURSOR_KEY);
    is_wrong.then(|| {
        format!("is not base64 of {CURSOR_KEY} bytes; `openssl rand -base64 32` generates one")
    })
}

pub(crate) fn signing(key: &Secret) -> Option<String> {
    match key.key_bytes() {
        None => Some("is not base64".to_owned()),
        Some(bytes) if bytes.len() < SIGNING_KEY_MIN => Some(format!(
            "has {} bytes and needs at least {SIGNING_KEY_MIN}; `openssl rand -base64 32` generates one",
            bytes.len()
        )),
        Some(_) => None,
    }
}

/// Checks that the keys which instances share are configured.
///
/// # Errors
/// The store is shared, and a key that every instance must know is not configured.
pub(crate) fn check_shared_keys(loaded: &Loaded) -> Result<(), Failure> {
    let missing = missing_shared_keys(&loaded.config);
    if missing.is_empty() {
        return Ok(());
    }
    let message = "instances on DynamoDB share keys, so they must be configured";
    let failure = missing.iter().fold(Failure::usage(message), Failure::because);
    Err(failure.help("`openssl rand -base64 32` generates one; give every instance the same"))
}

/// The keys that the instances of a server share and that are not configured.
pub(crate) fn missing_shared_keys(config: &Config) -> Vec<&'static str> {
    let (store, auth) = (&config.store, &config.auth);
    let mut missing = Vec::new();
    if store.kind == Kind::Embedded {
        return missing;
    }
    if auth.signing_key.is_none() && auth.signing_key_file.is_none() {
        missing.push("auth.signing_key (WEIR_SIGNING_KEY) or auth.signing_key_file signs tokens");
    }
    if auth.cursor_key.is_none() && auth.cursor_key_file.is_none() {
        missing.push(
            "auth.cursor_key (WEIR_CURSOR_KEY) or auth.cursor_key_file signs pagination cursors",
        );
    }
    missing
}

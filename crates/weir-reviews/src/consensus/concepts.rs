//! Words that different models use for one issue: `concurrent` and `race`, `unencrypted` and `plaintext`.
//!
//! An entry is the words of a concept. A word may belong to several concepts. Common words of any text do not belong here:
//! they would make unrelated findings alike. Nor do words that only the findings of one pull request use.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::stem::stem;

/// The concepts of a stemmed word, as positions in the list of concepts.
pub(super) fn concepts(stem: &str) -> &'static [usize] {
    static BY_STEM: LazyLock<HashMap<String, Vec<usize>>> = LazyLock::new(by_stem);
    BY_STEM.get(stem).map_or(&[], Vec::as_slice)
}

fn by_stem() -> HashMap<String, Vec<usize>> {
    let mut by_stem: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, words) in CONCEPTS.iter().enumerate() {
        for word in words.split_ascii_whitespace() {
            let concepts = by_stem.entry(stem(word)).or_default();
            if concepts.last() != Some(&at) {
                concepts.push(at);
            }
        }
    }
    by_stem
}

#[rustfmt::skip]
const CONCEPTS: &[&str] = &[
    "race racy concurrent concurrency simultaneous parallel atomic atomicity nonatomic toctou \
     synchronised unsynchronised interleave mutex lock guard shared",
    "goroutine thread worker coroutine task",
    "deadlock livelock lock mutex guard blocking await",
    "blocking synchronous sync async await",
    "null nil none npe undefined nullable optional nullpointerexception dereference",
    "panic crash abort throw raise exception unwrap fatal die typeerror keyerror valueerror \
     indexerror",
    "injection inject interpolated concatenated unsanitised unescaped escape encode \
     parameterised placeholder binding quoted",
    "sql query statement database table row record",
    "xss innerhtml html script markup",
    "shell command exec subprocess popen execute",
    "traversal path directory filename folder",
    "url host ssrf metadata remote network upstream",
    "deserialise deserialisation unserialise pickle unpickle unmarshal yaml",
    "auth authentication authenticated authorize authorization permission ownership owner idor \
     privilege role access anyone anybody everybody everyone identity login protected \
     unprotected acl impersonate bypass",
    "public exposed internet everyone anyone writable",
    "root privileged runasnonroot uid administrator admin",
    "secret credential password passphrase apikey hardcoded confidential",
    "plaintext cleartext unencrypted encryption encrypted tls ssl https certificate",
    "integrity checksum signature signed tamper verification verify",
    "md5 sha1 hash digest salt unsalted bcrypt argon2 scrypt weak",
    "random predictable guess guessable entropy seed prng",
    "constant timing compare comparison equal",
    "csrf forgery samesite cookie httponly cors",
    "pii personal sensitive gdpr privacy exposure expose confidential disclose private",
    "log logging logger print stdout output console",
    "validate validation unvalidated verify untrusted trust sanitise schema arbitrary",
    "throttle limiter brute flood abuse dos denial debounce",
    "regex regexp backtracking redos catastrophic",
    "timeout deadline hang forever indefinitely stall stuck wait never endless infinite",
    "retry backoff attempt",
    "shutdown stop cancel cancellation graceful terminate abrupt kill sigkill sigterm",
    "health healthcheck probe liveness readiness",
    "unbounded limit unlimited bounded maximum cap grow eviction evict expire exhaust lru",
    "memory ram buffer heap oom materialise load whole entire",
    "leak close closed unclosed release dispose descriptor socket connection pool resource \
     free",
    "loop roundtrip batch bulk",
    "index scan sequential lookup slow",
    "quadratic nested linear complexity",
    "copy clone allocate allocation",
    "swallow silent ignore discard drop hide suppress unchecked unhandled bare lost",
    "error failure fail failed exception",
    "off boundary inclusive exclusive skip range bound index",
    "division divide zero empty",
    "overflow wrap truncate narrow underflow cast",
    "float floating double precision rounding decimal numeric accuracy inexact",
    "price cost amount bill charge payment money currency cents",
    "timezone zone utc naive dst datetime timestamp clock local",
    "cache stale invalidation memo reuse outdated closure capture",
    "transaction commit rollback transactional isolation",
    "partial inconsistent orphan",
    "duplicate twice double repeated repeat idempotent idempotency",
    "backup snapshot restore recover recovery versioning",
    "delete remove drop cleanup destroy purge wipe",
    "default fallback implicit",
    "encoding utf8 unicode charset bytes",
    "temporary temp tmp tempfile",
    "pin pinned latest tag version unpinned",
    "rerender render usememo usecallback effect dependency",
    "order sort unsorted unordered deterministic nondeterministic",
    "page pagination offset cursor",
    "accessibility aria alt label screen keyboard focus",
    "unused dead unreachable unnecessary redundant leftover obsolete",
    "naming rename misleading unclear readability readable confusing",
    "magic constant literal hardcoded",
    "test untested coverage assertion assert",
    "docstring documentation comment documented undocumented",
    "complex complexity nested refactor extract duplication",
    "user customer client caller attacker",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_one_issue_share_a_concept() {
        let share = |a: &str, b: &str| {
            let of_b = concepts(&stem(b));
            concepts(&stem(a)).iter().any(|concept| of_b.contains(concept))
        };
        assert!(share("concurrently", "race"));
        assert!(share("logged", "prints"));
        assert!(share("unencrypted", "plaintext"));
        assert!(!share("race", "plaintext"));
        assert!(!share("something", "something"));
    }
}

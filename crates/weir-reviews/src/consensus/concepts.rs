//! Words that different models use for one issue: `concurrent` and `race`, `unencrypted` and `plaintext`.
//!
//! A line is a concept and its words. A word may belong to several concepts. Common words of any text do not belong here:
//! they would make unrelated findings alike.

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

const CONCEPTS: &[&str] = &[
    "race racy concurrent concurrency simultaneous parallel atomic atomicity nonatomic toctou synchronised unsynchronised interleave mutex lock guard shared separate",
    "goroutine thread worker coroutine task",
    "deadlock livelock lock mutex guard blocking await",
    "null nil none npe undefined nullable optional missing absent nullpointerexception",
    "panic crash abort throw raise exception unwrap fatal die typeerror keyerror valueerror indexerror",
    "injection inject interpolated concatenated unsanitised unescaped escape parameterised placeholder binding quoted pasted crafted",
    "sql query statement database table row record",
    "auth authentication authenticated authorize authorization permission ownership owner idor privilege role access anyone anybody everybody everyone identity login protected unprotected acl",
    "secret credential password passphrase apikey hardcoded",
    "plaintext cleartext unencrypted encryption encrypted tls ssl https certificate",
    "md5 sha1 hash digest salt unsalted bcrypt argon2 scrypt weak",
    "random predictable guess guessable entropy seed prng",
    "pii personal sensitive gdpr privacy exposure expose leak contact confidential disclose reveal",
    "log logging logger print stdout output console verbatim",
    "timeout deadline hang forever indefinitely stall stuck wait never endless infinite",
    "retry backoff attempt again",
    "unbounded limit unlimited bounded maximum cap ceiling grow eviction evict expire exhaust lru huge",
    "memory ram buffer heap oom materialise load whole entire complete",
    "leak close closed unclosed release dispose descriptor socket connection resource open",
    "loop n+1 roundtrip batch bulk per each individually",
    "index scan sequential lookup slow",
    "swallow silent ignore discard drop hide suppress conceal unchecked unhandled bare disappear lost unnoticed",
    "error failure fail failed exception problem wrong",
    "validate validation unvalidated verify untrusted trust sanitise schema arbitrary",
    "off boundary inclusive exclusive skip range bound index",
    "overflow wrap truncate narrow underflow cast",
    "float floating double precision rounding decimal numeric accuracy inexact",
    "price cost amount bill charge payment money currency cents",
    "timezone zone utc naive dst datetime timestamp clock local",
    "cache stale invalidation memo reuse outdated old",
    "transaction commit rollback transactional isolation step",
    "duplicate twice double repeated repeat idempotent idempotency again",
    "backup snapshot restore recover recovery copies versioning",
    "public open exposed internet world everyone anyone",
    "pin pinned latest tag version unpinned",
    "root privileged runasnonroot uid administrator admin",
    "unused dead unreachable unnecessary redundant leftover obsolete",
    "naming rename misleading unclear readability readable confusing",
    "magic constant literal hardcoded",
    "test untested coverage assertion assert",
    "docstring documentation comment documented undocumented",
    "complex complexity nested refactor extract duplication",
    "throttle limiter brute flood abuse dos denial",
    "regex regexp backtracking redos catastrophic",
    "deserialise deserialisation unserialise pickle unpickle unmarshal yaml",
    "csrf forgery samesite cookie httponly cors",
    "constant timing compare comparison equal",
    "rerender render usememo usecallback effect dependency",
    "order sort unsorted unordered deterministic nondeterministic",
    "page pagination offset cursor",
    "shutdown stop cancel cancellation graceful terminate abrupt kill sigkill sigterm",
    "blocking synchronous sync async await",
    "delete remove drop cleanup destroy purge",
    "traversal path directory filename folder",
    "url host ssrf metadata remote network upstream",
    "shell command exec subprocess popen execute",
    "xss innerhtml html script markup",
    "user visitor customer client caller attacker people person",
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

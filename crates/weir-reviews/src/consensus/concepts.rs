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
    "race racy concurrent concurrency concurrently simultaneous simultaneously parallel atomic \
     atomicity nonatomic toctou synchronised unsynchronised synchronization interleave mutex \
     lock locking guard shared threadsafe unsafe",
    "goroutine thread worker coroutine task background helper dispatcher",
    "deadlock livelock lock mutex guard blocking await held hold",
    "blocking block synchronous sync async await asynchronous unawaited promise future",
    "null nil none npe undefined nullable optional nullpointerexception dereference absent \
     missing unknown nonexistent",
    "panic crash abort throw raise exception unwrap fatal die trap typeerror keyerror \
     valueerror indexerror segfault",
    "terminate exit end kill stop down ends break breaks collapse",
    "injection inject interpolated interpolation concatenated concatenation concatenate \
     unsanitised sanitise unescaped escape encode parameterised parameter placeholder binding \
     bind bound prepared quoted unquoted formatted interpreted raw",
    "sql query statement database table row record",
    "xss innerhtml html script markup dangerouslysetinnerhtml dom sanitise",
    "shell command exec subprocess popen execute execution interpreter order run carried",
    "eval code arbitrary rce execute remote loadstring",
    "traversal path directory filename folder disk file location escape outside",
    "url host ssrf metadata remote network upstream address link site redirect phishing",
    "deserialise deserialisation deserialization unserialise unserialize pickle unpickle \
     unmarshal yaml object",
    "auth authentication authenticated authenticate unauthenticated authorize authorization \
     authorisation permission ownership owner owns idor privilege role access anyone anybody \
     everybody everyone identity login logged signing protected unprotected acl impersonate \
     bypass session principal admission belong belongs",
    "attacker stranger outsider foreign intruder malicious anybody anyone everybody everyone \
     whoever untrusted forged forge visitor",
    "public exposed internet everyone anyone everybody writable readable visible open world \
     anonymous reachable",
    "root privileged runasnonroot uid administrator admin superuser rights escalation",
    "secret credential password passphrase apikey key token hardcoded confidential vault \
     committed login",
    "plaintext plain cleartext clear unencrypted encryption encrypted encrypt tls ssl https \
     http insecure wire overheard intercept interception",
    "certificate tls ssl verify verification identity middle",
    "integrity checksum signature signed sign seal tamper verification verify verified \
     unverified forged",
    "md5 sha1 sha hash digest salt unsalted bcrypt argon2 scrypt weak",
    "random predictable guess guessable entropy seed prng enumerate computed",
    "constant timing compare comparison equal equality",
    "csrf forgery samesite cookie httponly cors origin",
    "pii personal sensitive gdpr privacy exposure expose exposed confidential disclose private \
     leak telephone address",
    "log logging logger print stdout output console journal protocol written debug trace",
    "validate validation unvalidated verify untrusted trust sanitise schema arbitrary check \
     checked unchecked inspect range reject accept accepted",
    "throttle limiter brute flood abuse dos denial debounce keystroke letter",
    "regex regexp backtracking redos catastrophic",
    "timeout deadline hang hanging forever indefinitely stall stuck wait waiting never endless \
     infinite silent unresponsive answer",
    "retry backoff attempt again repeat",
    "shutdown stop cancel cancellation graceful terminate abrupt kill sigkill sigterm signal",
    "health healthcheck probe liveness readiness",
    "unbounded limit unlimited bounded maximum cap ceiling grow grows evict eviction expire \
     exhaust exhaustion lru accumulate pile fill huge endless",
    "memory ram buffer heap oom materialise load whole entire complete everything fetched",
    "leak close closed unclosed release released dispose disposed descriptor handle socket \
     connection pool resource free freed returned give borrowed",
    "cleanup clear unsubscribe unmount unmounted listener interval timer remove",
    "loop roundtrip batch bulk each iteration",
    "index scan sequential lookup slow",
    "quadratic nested linear complexity slow inefficient",
    "copy clone allocate allocation clones",
    "swallow swallowed silent silently ignore ignored discard discarded drop dropped hide hides \
     hidden suppress unchecked unhandled bare lost notice noticed unnoticed disappear result \
     outcome",
    "error failure fail failed fails exception problem trouble wrong",
    "off boundary inclusive exclusive skip range bound bounds index last past end border final \
     length out",
    "negative below minus positive sign",
    "division divide divided zero empty",
    "overflow wrap wraps truncate truncated narrow underflow cast integer",
    "overflow buffer bounds length memcpy strcpy size overrun",
    "float floating double precision rounding rounded decimal numeric accuracy inexact fraction \
     binary",
    "price cost amount bill charge payment pay money currency cents sum fee balance fund",
    "timezone zone utc naive dst datetime timestamp clock local hour calendar",
    "date day year month calendar week",
    "cache stale invalidation invalidated memo reuse outdated former old renewed",
    "closure capture captured stale state",
    "transaction commit rollback transactional isolation undo undone half unit",
    "partial partially inconsistent orphan incomplete half",
    "duplicate twice double repeated repeat repeatedly idempotent idempotency again several \
     second more",
    "backup snapshot restore recover recovery versioning retention accident",
    "delete deletion remove removal drop cleanup destroy purge wipe erase erased vanish thrown \
     disappear",
    "default fallback implicit",
    "encoding utf8 unicode charset bytes ascii umlaut character",
    "temporary temp tmp tempfile",
    "pin pinned latest tag version unpinned mutable reproducible",
    "rerender render usememo usecallback effect dependency dependencies",
    "mutate mutation mutated mutates altered alter modified modify change",
    "order sort sorted unsorted unordered deterministic nondeterministic ascending descending \
     reverse sequence rank",
    "page pagination offset cursor",
    "accessibility aria alt label screen keyboard focus",
    "unused dead unreachable unnecessary redundant leftover obsolete superfluous",
    "naming rename misleading unclear readability readable confusing",
    "magic constant literal hardcoded configurable",
    "test untested coverage assertion assert tested",
    "docstring documentation comment documented undocumented",
    "complex complexity nested refactor extract duplication long split",
    "user customer client caller visitor shopper",
    "browser client frontend page website",
    "uninitialised uninitialized initialise initialised undefined indeterminate garbage",
    "dangling reference pointer lifetime destroyed local freed outlive",
    "reset cleared counter tally increment count",
    "expiry expire expires expired expiration validity forever",
    "deprecated outdated eol obsolete old",
    "wildcard star permissive overly excessive least policy",
    "inverted opposite wrong reverse inverse",
    "incoming input body parameter request argument",
    "reply response answer status",
    "save store stored persist write keep kept retain",
    "main ui display foreground",
    "unlocked exclusive row select update lost overwrite overwritten",
    "double booking reserve reservation seat place taken occupied",
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

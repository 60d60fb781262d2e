//! Tests that cannot run on a machine say so here, so that no skip is silent.
//!
//! A build server (`CI` is set) runs every test: there a skip is a failure, unless its reason is in [`ALLOWED_IN_CI`].

#![expect(clippy::panic, clippy::print_stderr, reason = "a skip is printed, or is a failed test")]

/// Reasons that count on a build server too, each with why that is right.
const ALLOWED_IN_CI: &[(&str, &str)] = &[
    (
        "no AWS account is named",
        "the contract runs on emulators; an account costs money and holds secrets",
    ),
    (
        "no small disk can be mounted",
        "mounting needs a privileged container; the fault-injecting disk covers the same code",
    ),
];

/// Records that a test does not run here. The caller returns afterwards.
///
/// `reason` is a constant text, `details` says what was found on this machine.
///
/// # Panics
/// On a build server, unless the reason is allowed there.
#[track_caller]
pub fn skip(reason: &str, details: &str) {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if is_ci && !is_allowed(reason) {
        panic!("skipped on a build server: {reason} ({details})");
    }
    eprintln!("skipped: {reason} ({details})");
}

fn is_allowed(reason: &str) -> bool {
    ALLOWED_IN_CI.iter().any(|(allowed, _)| *allowed == reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_reasons_are_allowed_on_a_build_server() {
        assert!(is_allowed("no AWS account is named"));
        assert!(!is_allowed("it is Friday"));
    }
}

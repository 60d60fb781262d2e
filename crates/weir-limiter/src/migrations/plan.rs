//! Decides which step is next, or why there is none.

use crate::error::{Error, Result};

/// The decision on the schema of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// Nothing: the schema is supported.
    Supported,
    /// Run this step.
    Step(usize),
}

/// The next step for a table of schema `found` to be used as `wanted`. `steps` are the schemas before and after each step.
///
/// # Errors
/// The schema is not supported; the error says what to do.
pub(super) fn plan<'a>(
    found: &str,
    wanted: &str,
    mut steps: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Plan> {
    if found == wanted {
        return Ok(Plan::Supported);
    }
    if let Some(step) = steps.position(|(from, _)| from == found) {
        return Ok(Plan::Step(step));
    }
    let (Some(at), Some(supported)) = (parse(found), parse(wanted)) else {
        return Err(Error::Version(format!(
            "the table's schema version {found:?} is invalid; is this a table of the limiter?"
        )));
    };
    // Within a major version, older programs can use newer schemas.
    if at.0 == supported.0 && at > supported {
        return Ok(Plan::Supported);
    }
    Err(Error::Version(if at > supported {
        format!(
            "the table has schema {found}, and this version of weir works with {wanted}: use a newer weir"
        )
    } else if at.0 == 0 {
        format!(
            "the table has schema {found} of zae-limiter: set compat to \"zae\" to share a table of zae-limiter 0.10, or choose another table and copy this one into it with `weir limiter import-zae`"
        )
    } else {
        format!(
            "the table has schema {found}, which cannot be migrated to {wanted}: use an older weir first"
        )
    }))
}

/// The error for another schema while `strict_version` is set.
pub(super) fn strict_version_error(found: &str, wanted: &str) -> Error {
    Error::Version(format!(
        "the table has schema {found}, this version of weir has {wanted}, and strict_version is on: use the weir of that schema, or turn strict_version off"
    ))
}

fn parse(text: &str) -> Option<(u64, u64, u64)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [(&str, &str); 2] = [("1.0.0", "1.1.0"), ("1.1.0", "2.0.0")];

    #[test]
    fn steps_are_taken_in_order() {
        let next = |found| plan(found, "2.0.0", STEPS.into_iter()).unwrap();
        assert_eq!(next("1.0.0"), Plan::Step(0));
        assert_eq!(next("1.1.0"), Plan::Step(1));
        assert_eq!(next("2.0.0"), Plan::Supported);
        assert_eq!(next("2.7.1"), Plan::Supported, "newer, but of the same major version");
    }

    #[test]
    fn an_unsupported_schema_says_what_to_do() {
        for (found, advice) in [
            ("3.0.0", "use a newer weir"),
            ("1.5.0", "use an older weir first"),
            ("0.9.0", "set compat"),
            ("0.10.0", "weir limiter import-zae"),
            ("new", "is this a table of the limiter"),
            ("1.2.3.4", "is this a table of the limiter"),
        ] {
            let error = plan(found, "2.0.0", STEPS.into_iter()).unwrap_err();
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}

//! Every id that is part of a key, and its valid form.
//!
//! Keys join their parts with `#` and object names with `/`, so an id that contained one could address another item. Ids of
//! the source are numbers as text (`12345`), ids that Weir makes are ULIDs; both are valid wherever the other is.

use weir_table::Name;
use weir_table::event_ids::EventIds;
use weir_table::id::{as_is, shaped, shown};

use crate::bounds::{
    EMAIL_MAX, EXTERNAL_ID_MAX, GOOGLE_ID_MAX, ID_MAX, IDEMPOTENCY_KEY_MAX, PLAN_ID_MAX,
    PLATFORM_MAX, TAG_MAX,
};
use crate::error::{Error, Result};

weir_table::ids! {
    /// User id: a number of the source, or a ULID.
    UserId, "user_id", |text| word(text, ID_MAX),
        "a user id: 1 to 64 letters, digits, `_`, `.` and `-`";
    /// Platform that publishes problems, like `baekjoon`.
    Platform, "platform", |text| word(text, PLATFORM_MAX),
        "a platform: 1 to 32 letters, digits, `_`, `.` and `-`";
    /// Problem id, unique within its platform, like `1000` or `1520E`.
    ProblemId, "problem_id", |text| word(text, EXTERNAL_ID_MAX),
        "a problem id: 1 to 128 letters, digits, `_`, `.` and `-`";
    /// Test case id, unique within its problem: a number of the source, or a ULID.
    TestCaseId, "testcase_id", |text| word(text, ID_MAX),
        "a test case id: 1 to 64 letters, digits, `_`, `.` and `-`";
    /// Id of a recorded run: a number of the source, or a ULID, which sorts by time.
    HistoryId, "history_id", |text| word(text, ID_MAX),
        "a history id: 1 to 64 letters, digits, `_`, `.` and `-`";
    /// Job id, unique within its type: a number of the source, or a ULID.
    JobId, "job_id", |text| word(text, ID_MAX),
        "a job id: 1 to 64 letters, digits, `_`, `.` and `-`";
    /// Id of a task of the task queue, which makes it.
    TaskId, "task_id", |text| word(text, EXTERNAL_ID_MAX),
        "a task id: 1 to 128 letters, digits, `_`, `.` and `-`";
    /// Worker that claims jobs, like `celery@host-1`.
    WorkerId, "worker_id", |text| as_is(text, |text| is_printable(text, EXTERNAL_ID_MAX)),
        "a worker id: 1 to 128 printable ASCII characters without blanks and `#`";
    /// Google account id. It has no `@`, so it is never the email address of another user in the index of sign-ins.
    GoogleId, "google_id", |text| as_is(text, |text| {
        is_printable(text, GOOGLE_ID_MAX) && !text.contains(['@', '/'])
    }), "a Google id: 1 to 255 printable ASCII characters without blanks, `#`, `/` and `@`";
    /// Tag of a problem, without blanks around it.
    Tag, "tags", |text| as_is(text.trim(), is_tag),
        "a tag: 1 to 100 bytes without `#` and control characters";
    /// Key with which a client repeats a request safely.
    IdempotencyKey, "idempotency_key", |text| as_is(text, |text| {
        (1..=IDEMPOTENCY_KEY_MAX).contains(&text.len()) && !text.contains(char::is_control)
    }), "an idempotency key: 1 to 255 bytes without control characters";
    /// ULID of an event: a log item, a progress step, an audit event, an object.
    EventId, "event_id", |text| shaped(text, 26, is_ulid_byte, is_ulid_byte)
        .filter(|text| text.len() == 26),
        "an event id: a ULID";
}

/// Ids that Weir makes.
macro_rules! made_by_weir {
    ($($name:ident),*) => {$(
        impl $name {
            /// A new id: a ULID of this time.
            #[must_use]
            pub fn next(ids: &EventIds, now_ms: i64) -> $name {
                $name(ids.next(now_ms).into())
            }
        }
    )*};
}
made_by_weir!(UserId, TestCaseId, HistoryId, JobId, EventId);

/// Names a problem: its platform, and its id there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProblemRef {
    /// The platform.
    pub platform: Platform,
    /// The id of the problem on the platform.
    pub id: ProblemId,
}

impl std::fmt::Display for ProblemRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.platform, self.id)
    }
}

/// Plan id: a positive number, as in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct PlanId(u64);

impl PlanId {
    /// The seeded plan Free.
    pub const FREE: PlanId = PlanId(1);
    /// The seeded plan Pro.
    pub const PRO: PlanId = PlanId(2);
    /// The seeded plan Admin.
    pub const ADMIN: PlanId = PlanId(3);

    /// Checks a number.
    ///
    /// # Errors
    /// The number is zero or too large.
    pub fn new(number: u64) -> Result<PlanId> {
        if (1..=PLAN_ID_MAX).contains(&number) {
            return Ok(PlanId(number));
        }
        Err(Error::invalid("plan_id", format!("{number} is not a plan id: 1 to {PLAN_ID_MAX}")))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl std::fmt::Display for PlanId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::str::FromStr for PlanId {
    type Err = Error;

    /// Reads a number without sign and leading zeros, so that each plan has one text.
    fn from_str(text: &str) -> Result<PlanId> {
        let number = text.parse::<u64>().ok().filter(|number| number.to_string() == text);
        let problem = || format!("{} is not a plan id: a positive number", shown(text));
        number.ok_or_else(|| Error::invalid("plan_id", problem())).and_then(PlanId::new)
    }
}

/// Email address: as given, and in the form that is unique among users.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Email {
    given: String,
    normalised: String,
}

impl Email {
    /// Checks an address: blanks around it are dropped, and it has one `@` between two parts.
    ///
    /// # Errors
    /// The text is not an email address.
    pub fn new(text: &str) -> Result<Email> {
        let given = text.trim();
        let is_bad = |c: char| c.is_whitespace() || c.is_control() || c == '#';
        let has_parts = given.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.is_empty() && !domain.contains('@')
        });
        if !has_parts || given.len() > EMAIL_MAX || given.contains(is_bad) {
            let rule = "an email address: at most 254 bytes, one `@`, no blanks and no `#`";
            return Err(Error::invalid("email", format!("{} is not {rule}", shown(text))));
        }
        Ok(Email { given: given.to_owned(), normalised: given.to_lowercase() })
    }

    /// The address as given, which the source compares and looks up byte by byte.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// The address in lower case: two users never have the same.
    #[must_use]
    pub fn normalised(&self) -> &str {
        &self.normalised
    }
}

fn word(text: &str, max: usize) -> Option<Name> {
    fn is_good(b: u8) -> bool {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')
    }
    // A part of a path in the object storage.
    let is_relative = text == "." || text == "..";
    shaped(text, max, is_good, is_good).filter(|_| !is_relative)
}

fn is_printable(text: &str, max: usize) -> bool {
    let good = |b: u8| b.is_ascii_graphic() && b != b'#';
    (1..=max).contains(&text.len()) && text.bytes().all(good)
}

fn is_tag(text: &str) -> bool {
    let is_bad = |c: char| c == '#' || c.is_control();
    (1..=TAG_MAX).contains(&text.len()) && !text.contains(is_bad)
}

fn is_ulid_byte(b: u8) -> bool {
    b.is_ascii_digit() || (b.is_ascii_uppercase() && !matches!(b, b'I' | b'L' | b'O' | b'U'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_address_another_item_are_refused() {
        for good in ["12345", "01JAB3XK5N8Q2R7T9V0W1Y4Z6C", "a-b_c.d", "0"] {
            UserId::new(good).unwrap();
            HistoryId::new(good).unwrap();
            ProblemId::new(good).unwrap();
        }
        for bad in ["", "1#META", "a/b", "a b", "a:b", ".", "..", "ä", &"x".repeat(129)] {
            UserId::new(bad).unwrap_err();
            Platform::new(bad).unwrap_err();
            ProblemId::new(bad).unwrap_err();
            TestCaseId::new(bad).unwrap_err();
            JobId::new(bad).unwrap_err();
            TaskId::new(bad).unwrap_err();
        }
        WorkerId::new("celery@host-1").unwrap();
        for bad in ["", "a b", "a#b", "ä"] {
            WorkerId::new(bad).unwrap_err();
        }
        GoogleId::new("104721934502938475610").unwrap();
        for bad in ["", "ann@example.com", "1#2", "1/2"] {
            GoogleId::new(bad).unwrap_err();
        }
    }

    #[test]
    fn tags_may_be_in_any_language() {
        assert_eq!(Tag::new(" dynamic programming ").unwrap().as_str(), "dynamic programming");
        Tag::new("다이나믹 프로그래밍").unwrap();
        for bad in ["", "  ", "a#b", "a\nb", &"x".repeat(101)] {
            Tag::new(bad).unwrap_err();
        }
    }

    #[test]
    fn a_plan_has_one_text() {
        assert_eq!("1".parse::<PlanId>().unwrap(), PlanId::FREE);
        for bad in ["", "0", "01", "+1", "-1", "1.0", "free", "9007199254740992"] {
            bad.parse::<PlanId>().unwrap_err();
        }
    }

    #[test]
    fn emails_differ_by_more_than_their_case() {
        let email = Email::new("  Ann.Lee@Example.COM ").unwrap();
        assert_eq!(email.as_str(), "Ann.Lee@Example.COM");
        assert_eq!(email.normalised(), "ann.lee@example.com");
        let long = format!("{}@x", "a".repeat(253));
        for bad in ["", "ann", "@x", "ann@", "a@b@c", "a b@c", "a#b@c", "a\n@b", &long] {
            Email::new(bad).unwrap_err();
        }
    }

    #[test]
    fn ids_that_weir_makes_are_valid_and_sort_by_time() {
        let ids = EventIds::default();
        let (first, second) = (HistoryId::next(&ids, 5), HistoryId::next(&ids, 5));
        assert!(first < second);
        assert_eq!(HistoryId::new(first.as_str()).unwrap(), first);
        let event = EventId::next(&ids, 5);
        assert_eq!(EventId::new(event.as_str()).unwrap(), event);
        for bad in ["", "01J", "01JAB3XK5N8Q2R7T9V0W1Y4Z6I", "01jab3xk5n8q2r7t9v0w1y4z6c"] {
            EventId::new(bad).unwrap_err();
        }
    }
}

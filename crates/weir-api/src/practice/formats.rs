//! Formats of ids and texts, and the ids that paths name. The domain checks them.

use utoipa::IntoParams;

use crate::texts;

texts! {
    /// A platform that publishes problems; not `.` or `..`.
    PlatformName = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,29}$", 32, "baekjoon";
    /// A tag without `#` and control characters, up to 100 bytes.
    ProblemTag = r"^[^\s#\x00-\x1f\x7f-\x9f]+$", 100, "math";
    /// The title of a problem, which is not blank.
    ProblemTitle = r"\S", 500, "A+B";
    /// Parts of a problem that a response includes.
    ProblemParts = r"^testcases$", 9, "testcases";
    /// The id of a test case; not `.` or `..`.
    TestCaseNumber = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,61}$", 64, "1";
    /// The id of a run; not `.` or `..`.
    RunId = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,61}$", 64, "12345";
    /// The id of a job; not `.` or `..`, nor `claim-next`.
    PracticeJobId = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,61}$", 64, "77";
    /// A worker: printable ASCII without blanks and `#`.
    WorkerName = r"^[!-\x22$-~]+$", 128, "celery@host-1";
    /// A text of one line, which is not blank and has no control characters.
    JobLine = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$", 128, "1000";
    /// An error message, which is not blank; up to 64 KiB.
    JobErrorText = r"\S", 65_536, "the page has no examples";
    /// An email address, unique in any case.
    EmailAddress = r"^\s*[^@#\s\x00-\x1f\x7f-\x9f]+@[^@#\s\x00-\x1f\x7f-\x9f]+\s*$", 254, "ann@example.com";
    /// A line of text: not blank, without control characters.
    Line = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$", 200, "Ann Lee";
    /// An address on the web.
    WebUrl = r"^https?://[^\s\x00-\x1f\x7f-\x9f]*$", 2_048, "https://example.com/ann.png";
    /// A Google account id: printable ASCII without blanks, `#`, `/` and `@`.
    GoogleId = r"^[!-\x22$-.0-?A-~]{1,255}$", 255, "104721934502938475610";
    /// The id of a user; not `.` or `..`.
    PracticeUserId = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,61}$", 64, "12345";
    /// The id of a problem on its platform; not `.` or `..`.
    PracticeProblemId = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,125}$", 128, "1000";
    /// The id of a task; not `.` or `..`.
    TaskId = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,125}$", 128, "9f1c3c0e";
    /// The state of a task, like those of Celery.
    TaskStatus = r"^[A-Z_]{1,32}$", 32, "SUCCESS";
    /// A key with which a client repeats a request safely, without control characters.
    IdempotencyKey = r"^[^\x00-\x1f\x7f-\x9f]{1,255}$", 255, "b1946ac9";
    /// What an audit event is about.
    PracticeAuditSubject = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$", 200, "user 12345";
    /// A calendar date.
    PracticeDate = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$", 10, "2026-01-15";
}

/// The user that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PracticeUserParam {
    /// Id of the user.
    #[param(value_type = PracticeUserId, inline)]
    pub id: String,
}

/// The plan that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PlanParam {
    /// Id of the plan.
    #[param(minimum = 1, maximum = 9_007_199_254_740_991u64, example = 1)]
    pub id: u64,
}

/// The task that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TaskParam {
    /// Id of the task.
    #[param(value_type = TaskId, inline)]
    pub id: String,
}

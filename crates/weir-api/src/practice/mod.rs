//! Requests and responses of practice: one file per resource.
//!
//! `-1` as a limit of a plan means unlimited.

mod audit;
pub mod formats;
mod history;
mod plans;
mod problems;
mod queue;
mod stats;
mod tasks;
mod test_cases;
mod usage;
mod users;

pub use self::audit::{PracticeAuditEvent, PracticeAuditParams};
pub use self::formats::{PlanParam, PracticeUserParam, TaskParam};
pub use self::history::{NewHints, NewRun, PracticeRun, RunParam, RunPatch};
pub use self::plans::{
    CounterRecount, Plan, PlanRequest, RecountCountersRequest, RecountCountersResponse,
};
pub use self::problems::{
    DeleteProblemParams, NewProblem, PracticeProblem, ProblemIncludeParams, ProblemParam,
    ProblemPatch, ProblemReviewRequest, ProblemStatus, ProblemsParams,
};
pub use self::queue::{
    ClaimRequest, ClaimedJob, CompleteJobRequest, ExtractedProblem, FailJobRequest,
    HeartbeatRequest, JobLease, JobParam, JobTypeParam, JobsParams, NewPracticeJob,
    NewProgressStep, PracticeJob, PracticeJobStatus, PracticeJobType, ProgressEnd, ProgressStep,
    StepStatus,
};
pub use self::stats::{
    ClockResponse, DayStats, DayTopUser, DayTopUsers, DayTopUsersParams, StatsParams, TopUser,
    UsageCounts, UsageRollupDifference, UsageStats, VerifyStatsRequest, VerifyStatsResponse,
};
pub use self::tasks::{TaskResult, TaskResultRequest};
pub use self::test_cases::{
    JSON_LINES, NewTestCase, TestCase, TestCaseParam, UploadParams, UploadResponse, ZIP,
};
pub use self::usage::{
    ActionUsage, CountDifference, RecountRequest, RecountResponse, ResetDayResponse,
    TakeUsageRequest, TakeUsageResponse, UsageAction, UsageDateParams, UsageLogEntry, UserUsage,
};
pub use self::users::{MoveUserRequest, NewUser, User, UserListParams, UserPatch};

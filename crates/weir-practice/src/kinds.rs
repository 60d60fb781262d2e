//! The closed sets of words that are stored: actions, statuses, types.

/// Declares enums whose variants have a stored text.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident, $field:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {$($(#[$variant_doc])* $variant,)+}

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// The stored text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::error::Error;

            fn from_str(text: &str) -> Result<$name, crate::error::Error> {
                match text {
                    $($text => Ok($name::$variant),)+
                    _ => {
                        let all = $name::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>();
                        let shown = weir_table::id::shown(text);
                        let problem = format!("{shown} is not one of {}", all.join(", "));
                        Err(crate::error::Error::invalid($field, problem))
                    }
                }
            }
        }
    )*};
}

kinds! {
    /// An action that plans limit by day.
    Action, "action" {
        /// A hint was given.
        Hint = "hint",
        /// Code was executed.
        Execution = "execution",
    }

    /// A list of problems that a problem can be in. A problem can be in several: published and in need of a review.
    ProblemStatus, "status" {
        /// Not published.
        Draft = "draft",
        /// Published: `is_completed` of the source.
        Published = "published",
        /// Marked for review.
        NeedsReview = "needs_review",
        /// Verified by an administrator.
        Verified = "verified",
        /// Soft-deleted, and in no other list.
        Deleted = "deleted",
    }

    /// Type of a job.
    JobType, "type" {
        /// Generates a script that makes test cases.
        ScriptGeneration = "script-generation",
        /// Extracts a problem from its page.
        ProblemExtraction = "problem-extraction",
    }

    /// State of a job.
    JobStatus, "status" {
        /// Waits for a worker.
        Pending = "PENDING",
        /// A worker holds its lease.
        Processing = "PROCESSING",
        /// Ended well.
        Completed = "COMPLETED",
        /// Ended with an error; it can be retried.
        Failed = "FAILED",
        /// Cancelled before its end.
        Cancelled = "CANCELLED",
    }

    /// State of a progress step of a job.
    StepStatus, "status" {
        /// The step has started.
        Started = "started",
        /// The step goes on.
        InProgress = "in_progress",
        /// The step ended well.
        Completed = "completed",
        /// The step ended with an error.
        Failed = "failed",
    }

    /// Type of a stored item, in its attribute `tp`. Scans of other programs select by the types of the source.
    EntityType, "tp" {
        /// User.
        User = "usr",
        /// Plan.
        Plan = "plan",
        /// Problem.
        Problem = "prob",
        /// Test case.
        TestCase = "tc",
        /// Recorded run.
        History = "hist",
        /// Usage log.
        UsageLog = "ulog",
        /// Script generation job.
        ScriptGenerationJob = "sgj",
        /// Problem extraction job.
        ProblemExtractionJob = "pej",
        /// Progress step of a job.
        JobProgress = "jph",
        /// Task result.
        TaskResult = "tres",
        /// Rollup of a day's usage.
        UsageRollup = "ulog_agg",
        /// Copy of a user, found by the id of a sign-in provider.
        Login = "login",
        /// Reservation of an email address or a Google id.
        Unique = "uniq",
        /// Entry of an item in a list.
        ListEntry = "idx",
        /// Counter: of an action on a day, of the users of a plan, of the problems of a user.
        Counter = "cnt",
        /// Latest day on which a user was counted.
        LatestDay = "uday",
        /// Record of a request with an idempotency key.
        Idempotency = "idem",
        /// Usage of one user in the rollup of a day.
        UserRollup = "ulog_agg_usr",
        /// Audit event.
        Audit = "audit",
        /// Deletion of a user that is not finished.
        Erasure = "erase",
        /// Object that may have no item.
        ObjectMark = "obj",
        /// Progress of a background job.
        Checkpoint = "chk",
    }
}

impl JobType {
    /// The type of its items.
    #[must_use]
    pub const fn entity(self) -> EntityType {
        match self {
            JobType::ScriptGeneration => EntityType::ScriptGenerationJob,
            JobType::ProblemExtraction => EntityType::ProblemExtractionJob,
        }
    }
}

impl JobStatus {
    /// Whether a job in this state may become `next`.
    #[must_use]
    pub const fn may_become(self, next: JobStatus) -> bool {
        use JobStatus::{Cancelled, Completed, Failed, Pending, Processing};
        matches!(
            (self, next),
            (Pending, Processing | Cancelled)
                | (Processing, Completed | Failed | Cancelled)
                | (Failed, Pending)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn texts_are_read_back() {
        for kind in EntityType::ALL {
            assert_eq!(kind.as_str().parse::<EntityType>().unwrap(), *kind);
        }
        let texts: BTreeSet<_> = EntityType::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(texts.len(), EntityType::ALL.len());
        let error = "run".parse::<Action>().unwrap_err();
        assert_eq!(error.to_string(), "action: \"run\" is not one of hint, execution");
    }

    #[test]
    fn a_job_moves_only_along_its_states() {
        use JobStatus::{Cancelled, Completed, Failed, Pending, Processing};
        let allowed: Vec<_> = JobStatus::ALL
            .iter()
            .flat_map(|from| JobStatus::ALL.iter().map(move |to| (*from, *to)))
            .filter(|(from, to)| from.may_become(*to))
            .collect();
        assert_eq!(
            allowed,
            [
                (Pending, Processing),
                (Pending, Cancelled),
                (Processing, Completed),
                (Processing, Failed),
                (Processing, Cancelled),
                (Failed, Pending),
            ]
        );
    }
}

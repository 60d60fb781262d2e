//! The tables of PostgreSQL that are migrated.

/// A kind of record, and its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Entity {
    /// Plans.
    Plans,
    /// Users.
    Users,
    /// Problems.
    Problems,
    /// Test cases of problems.
    TestCases,
    /// Recorded runs.
    History,
    /// Log of actions that plans limit.
    Usage,
}

impl Entity {
    /// All of them, those that others refer to first.
    pub const ALL: [Entity; 6] = [
        Entity::Plans,
        Entity::Users,
        Entity::Problems,
        Entity::TestCases,
        Entity::History,
        Entity::Usage,
    ];

    /// The name of its table.
    #[must_use]
    pub const fn table(self) -> &'static str {
        match self {
            Entity::Plans => "subscription_plans",
            Entity::Users => "users",
            Entity::Problems => "problems",
            Entity::TestCases => "test_cases",
            Entity::History => "search_history",
            Entity::Usage => "usage_logs",
        }
    }

    /// The kind of record in a table.
    #[must_use]
    pub fn of_table(table: &str) -> Option<Entity> {
        Entity::ALL.into_iter().find(|entity| entity.table() == table)
    }

    /// Rows that are read at once: fewer where rows have large texts.
    pub(super) const fn page_rows(self) -> i64 {
        match self {
            Entity::Plans => 100,
            Entity::Users => 500,
            Entity::Problems | Entity::TestCases => 100,
            Entity::History => 250,
            Entity::Usage => 1_000,
        }
    }
}

impl std::fmt::Display for Entity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.table())
    }
}

//! A table of a test's own, and who meets there.

use serde_json::{Value, json};

use crate::original::Original;
use crate::side::Someone;
use crate::weir::Weir;

/// What the limiter's table is called after the prefix.
const TABLE: &str = "weir-limiter";

/// Runs the stories with two originals too, when tests run at full length.
const ALL_VAR: &str = "WEIR_TEST_ALL";

/// A table name that no other test uses.
pub(crate) struct Place {
    endpoint: &'static str,
    prefix: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
        Place { endpoint, prefix: weir_testkit::unique_prefix("zae") }
    }

    /// A Weir; it makes the table if there is none.
    pub(crate) fn weir(&self) -> Weir {
        Weir::start(self.endpoint, &self.prefix, false)
    }

    /// A Weir that counts usage.
    pub(crate) fn counting_weir(&self) -> Weir {
        Weir::start(self.endpoint, &self.prefix, true)
    }

    /// An original with nothing open.
    pub(crate) fn original(&self) -> Original {
        Original::start("zae", self.endpoint, &self.table())
    }

    /// The newest release of zae-limiter, with nothing open.
    pub(crate) fn newest(&self) -> Original {
        Original::start("zae-new", self.endpoint, &self.table())
    }

    pub(crate) fn table(&self) -> String {
        format!("{}{TABLE}", self.prefix)
    }

    pub(crate) fn endpoint(&self) -> &str {
        self.endpoint
    }

    /// What a Weir says that does not start on the table.
    pub(crate) fn refusal(&self) -> String {
        crate::weir::refusal(self.endpoint, &self.prefix)
    }

    /// An original on a table that is there.
    pub(crate) fn opened(&self) -> Original {
        let mut original = self.original();
        original.open("default");
        original
    }

    /// An original that has made the table.
    pub(crate) fn made(&self) -> Original {
        let mut original = self.original();
        original.ok("create_table", json!({}));
        original.open("default");
        original
    }
}

/// Both on one table, in the namespace `default`.
pub(crate) fn both() -> (Original, Weir) {
    let place = Place::new();
    (place.made(), place.weir())
}

/// Tells a story of one and another with Weir on either side, each time in a namespace of its own.
///
/// At full length it is told with two originals first, which tells whether the story itself is
/// true of them.
pub(crate) fn in_all_directions(story: impl Fn(&mut Someone, &mut Someone)) {
    let place = Place::new();
    let mut original = place.made();
    if std::env::var_os(ALL_VAR).is_some() {
        let mut second = place.original();
        original.open("two-originals");
        second.open("two-originals");
        story(&mut original, &mut second);
    }
    let mut weir = place.weir();
    original.open("original-first");
    weir.open("original-first");
    story(&mut original, &mut weir);
    original.open("weir-first");
    weir.open("weir-first");
    story(&mut weir, &mut original);
}

/// A limit that does not refill while a test runs: one token a day.
pub(crate) fn slow(name: &str, capacity: u64) -> Value {
    json!({
        "name": name, "capacity": capacity,
        "refill_amount": 1, "refill_period_seconds": 86_400,
    })
}

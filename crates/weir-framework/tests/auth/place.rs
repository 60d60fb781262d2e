//! A store in a folder of its own, and instances of a server that share it.

use std::path::Path;

use tempfile::TempDir;
use weir_framework::auth::grant::Grants;
use weir_framework::auth::scope_kind::{Level, ScopeKind, ScopeKinds};
use weir_framework::auth::{Auth, AuthError, Holder, Pair, Settings, TokenError};
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::{Backend, Store};
use weir_testkit::watched::{Watch, Watched};

/// When the tests play: 2026-01-01.
pub(crate) const START_MS: u64 = 1_767_225_600_000;
pub(crate) const CLIENT: &str = "org-7";

pub(crate) static NS: ScopeKind = ScopeKind::new("ns", &[Level::exact("ns")]);
pub(crate) static ORG: ScopeKind =
    ScopeKind::new("org", &[Level::exact("org"), Level::exact("app")]).with_inner("app");

pub(crate) fn scope_kinds() -> ScopeKinds {
    ScopeKinds::new([&NS, &ORG])
}

pub(crate) fn grants(scope: &str) -> Grants {
    Grants::parse(scope, &scope_kinds()).unwrap()
}

pub(crate) type TestAuth = Auth<Watched<Embedded>>;

pub(crate) struct Place {
    dir: TempDir,
    pub(crate) clock: Clock,
    pub(crate) watch: Watch,
    pub(crate) store: Store<Watched<Embedded>>,
}

impl Place {
    pub(crate) fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual(START_MS);
        let mut options = Options::new(dir.path());
        options.sweep_interval = None;
        options.clock = clock.clone();
        let inner = Embedded::open(options).unwrap();
        let cursors = inner.cursor_key();
        let watch = Watch::default();
        let watched = Watched { inner, watch: watch.clone() };
        Place { dir, clock, watch, store: Store::new(watched, cursors) }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// One more instance.
    pub(crate) async fn open(&self) -> TestAuth {
        self.open_with(&Settings::default()).await.unwrap()
    }

    pub(crate) async fn open_with(&self, settings: &Settings) -> weir_table::Result<TestAuth> {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        Auth::open(store, clock, settings, Some(self.dir.path()), scope_kinds()).await
    }

    pub(crate) fn later_secs(&self, secs: u64) {
        self.clock.advance_ms(secs * 1000);
    }
}

pub(crate) async fn pair<B: Backend>(auth: &Auth<B>, subject: &str) -> Pair {
    let holder = Holder { subject, org_id: Some("7"), app_id: None, grants: &grants("org:7") };
    auth.issue_pair(holder).await.unwrap()
}

/// Why an access token is refused; none when it is not.
pub(crate) async fn refusal<B: Backend>(auth: &Auth<B>, token: &str) -> Option<TokenError> {
    match auth.authenticate_bearer(token).await {
        Ok(_) => None,
        Err(AuthError::Token(error)) => Some(error),
        Err(other) => panic!("{other}"),
    }
}

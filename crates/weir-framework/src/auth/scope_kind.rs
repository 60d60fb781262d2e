//! The kinds of scopes. A service declares the kinds that its routes require, so that the framework knows no tenant by
//! name.

use std::borrow::Cow;

/// The action that every kind has: to read.
pub(crate) const READ: &str = "read";

/// The levels of a kind, at most.
pub(crate) const LEVELS_MAX: usize = 2;

/// A kind of scope, such as `ns:{ns}` or `org:{org} app:{app}`.
#[derive(Debug)]
pub struct ScopeKind {
    /// The first word of the scope. It is unique among all services.
    pub name: &'static str,
    /// What names a tenant, outermost first; at most two. The scope of an outer level includes the inner levels.
    pub levels: &'static [Level],
    /// Whether a scope without a tenant exists; it includes every tenant.
    pub without_tenant: bool,
    /// The word that begins the inner level, where it is a part of its own (`org:1 app:x`). Without it, slashes separate
    /// levels (`reviews:owner/repo`).
    pub inner: Option<&'static str>,
    /// The actions to which a scope can be restricted, besides `read`. Each of them includes `read`.
    pub actions: &'static [&'static str],
    /// Advice for a caller whose scope names a tenant, on a route for all tenants.
    pub advice: Option<&'static str>,
    /// The kind whose scopes without a tenant include every scope of this one: `notes` includes `notes:author:1`.
    pub parent: Option<&'static ScopeKind>,
}

/// One level of the tenants of a kind.
#[derive(Debug)]
pub struct Level {
    /// The path parameter that holds the id.
    pub parameter: &'static str,
    /// Returns the spelling of an id in which it is compared.
    pub canonical: fn(&str) -> Cow<'_, str>,
}

impl Level {
    /// A level whose ids have one spelling.
    #[must_use]
    pub const fn exact(parameter: &'static str) -> Level {
        Level { parameter, canonical: |id| Cow::Borrowed(id) }
    }
}

impl ScopeKind {
    /// A kind whose scopes name a tenant with these levels.
    #[must_use]
    pub const fn new(name: &'static str, levels: &'static [Level]) -> ScopeKind {
        ScopeKind {
            name,
            levels,
            without_tenant: false,
            inner: None,
            actions: &[],
            advice: None,
            parent: None,
        }
    }

    /// The same kind, whose scopes may also leave the tenant out.
    #[must_use]
    pub const fn or_without_tenant(self) -> ScopeKind {
        ScopeKind { without_tenant: true, ..self }
    }

    /// The same kind, whose inner level is a part of its own that begins with `word`.
    #[must_use]
    pub const fn with_inner(self, word: &'static str) -> ScopeKind {
        ScopeKind { inner: Some(word), ..self }
    }

    /// The same kind with these actions besides `read`.
    #[must_use]
    pub const fn with_actions(self, actions: &'static [&'static str]) -> ScopeKind {
        ScopeKind { actions, ..self }
    }

    /// The same kind with advice for a caller whose scope names a tenant, on a route for all tenants.
    #[must_use]
    pub const fn with_advice(self, advice: &'static str) -> ScopeKind {
        ScopeKind { advice: Some(advice), ..self }
    }

    /// The same kind, whose scopes those of `parent` include. Its name begins with that of `parent` and a colon.
    #[must_use]
    pub const fn within(self, parent: &'static ScopeKind) -> ScopeKind {
        ScopeKind { parent: Some(parent), ..self }
    }

    /// The action called `text`, if the kind has it.
    pub(crate) fn action(&self, text: &str) -> Option<&'static str> {
        self.actions.iter().copied().chain([READ]).find(|action| *action == text)
    }
}

impl PartialEq for ScopeKind {
    fn eq(&self, other: &ScopeKind) -> bool {
        self.name == other.name
    }
}

impl Eq for ScopeKind {}

/// The scope of a scraper: it reads `/metrics` and nothing else.
pub static METRICS: ScopeKind = ScopeKind::new("metrics", &[]).or_without_tenant();

/// Every kind of scope of a server.
#[derive(Debug, Clone)]
pub struct ScopeKinds(Vec<&'static ScopeKind>);

impl ScopeKinds {
    /// The kinds of the services, and the framework's own.
    #[must_use]
    pub fn new(of_services: impl IntoIterator<Item = &'static ScopeKind>) -> ScopeKinds {
        ScopeKinds([&METRICS].into_iter().chain(of_services).collect())
    }

    /// The kind to which a part of a scope belongs, and the rest of the part after the kind's name. The name may have a
    /// colon of its own, so the longest counts.
    pub(crate) fn find<'t>(
        &self,
        part: &'t str,
        name_of: impl Fn(&ScopeKind) -> Option<&'static str>,
    ) -> Option<(&'static ScopeKind, &'t str)> {
        let rest = |kind: &ScopeKind| match part.strip_prefix(name_of(kind)?)? {
            "" => Some(""),
            rest => rest.strip_prefix(':'),
        };
        let found = self.0.iter().filter_map(|kind| Some((*kind, rest(kind)?)));
        found.min_by_key(|(_, rest)| rest.len())
    }

    /// The first words of all scopes, for an error message.
    pub(crate) fn names(&self) -> String {
        let words = self.0.iter().flat_map(|kind| [Some(kind.name), kind.inner]).flatten();
        std::iter::once("admin").chain(words).collect::<Vec<_>>().join(", ")
    }
}

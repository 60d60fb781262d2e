//! The lookup item of a review: where the review is, and who may write its items.
//!
//! It is the fence of every write below a review: each transaction requires that the lookup still has the revision and the
//! state that its writer has read. A writer that takes a review over, to replace or to delete it, sets a new revision; so a
//! slow writer of an older revision leaves nothing behind. Revisions are random, because an id may be recorded again after
//! its deletion.

use std::collections::{BTreeMap, BTreeSet};

use weir_table::expr::{Condition, Path, Update, attr, set, size};
use weir_table::{Item, Key, Name, Value, Write};

use super::claim::{Claim, decode_claims};
use super::{Fields, ItemContext, in_index};
use crate::consensus::Options;
use crate::error::Result;
use crate::ids::ModelId;
use crate::keys::{self, GSI2, ReviewRef};
use crate::table::TTL;

const STATE: &str = "status";
const REVISION: &str = "revision";
pub(super) const RAWS: &str = "raw_keys";
const RAWS_IN_FLIGHT: &str = "raws_in_flight";
const SHARED: &str = "is_shared";
pub(super) const VERSION: &str = "version";
const CONTENT_HASH: &str = "content_hash";
const HEAD_HASH: &str = "head_hash";
pub(super) const CLAIMS: &str = "claims";
pub(super) const FINDINGS: &str = "findings";
const CONSENSUS_OPTIONS: &str = "consensus_options";

/// The state of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The review is being recorded in one call.
    Recording,
    /// Responses are added one by one.
    InProgress,
    /// All responses are there; the consensus is being written.
    Completing,
    /// The review is complete.
    Completed,
    /// The review was given up.
    Failed,
    /// The review is being deleted.
    Deleting,
}

impl State {
    const ALL: [State; 6] = [
        State::Recording,
        State::InProgress,
        State::Completing,
        State::Completed,
        State::Failed,
        State::Deleting,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            State::Recording => "recording",
            State::InProgress => "in_progress",
            State::Completing => "completing",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Deleting => "deleting",
        }
    }
}

/// The lookup item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lookup {
    pub(crate) review: ReviewRef,
    pub(crate) created_at_ms: i64,
    pub(crate) state: State,
    pub(crate) revision: String,
    /// Number of changes within the revision.
    pub(crate) version: u64,
    /// Hash of everything that was sent; of a review in progress it is empty.
    pub(crate) content_hash: String,
    /// Hash of the review without its responses.
    pub(crate) head_hash: String,
    pub(crate) claims: BTreeMap<ModelId, Claim>,
    /// Findings of all claims.
    pub(crate) findings: u64,
    /// The raw outputs that may exist, as the sort keys of their expiry.
    pub(crate) raws: BTreeSet<String>,
    /// Whether a writer that was overtaken may still store raw outputs.
    pub(crate) raws_in_flight: bool,
    /// Whether several writers store the raw outputs of this revision: one may do so after another has ended it.
    pub(crate) is_shared: bool,
    /// The options of its consensus, since the consensus was first computed: whoever writes the rest of it uses the same.
    pub(crate) consensus_options: Option<Options>,
    /// When it expires, in seconds since 1970; a review that is being deleted does not.
    pub(crate) ttl: Option<i64>,
    /// When a recording in one call began that no reader has seen, by the clock of its writer.
    pub(crate) begun_at_ms: Option<i64>,
}

impl Lookup {
    /// The lookup of a new revision.
    pub(crate) fn new(context: &ItemContext, state: State, hashes: (String, String)) -> Lookup {
        let (content_hash, head_hash) = hashes;
        Lookup {
            review: context.review.clone(),
            created_at_ms: context.created_at_ms,
            state,
            revision: new_revision(),
            version: 0,
            content_hash,
            head_hash,
            claims: BTreeMap::new(),
            findings: 0,
            raws: BTreeSet::new(),
            raws_in_flight: false,
            is_shared: false,
            consensus_options: None,
            ttl: Some(context.review_ttl),
            begun_at_ms: None,
        }
    }

    pub(crate) fn encode(&self) -> Item {
        let created_at = crate::time::rfc3339(self.created_at_ms);
        let claims = self.claims.iter().map(|(model, claim)| (model.as_str(), claim.to_value()));
        let mut item = keys::item(keys::lookup(&self.review.id))
            .with("entity_type", "REVIEW_LOOKUP")
            .with("review_id", self.review.id.as_str())
            .with("owner", self.review.owner.as_str())
            .with("repo", self.review.repo.as_str())
            .with("pr_number", self.review.pr_number)
            .with("created_at", created_at)
            .with(STATE, self.state.as_str())
            .with(REVISION, self.revision.as_str())
            .with(VERSION, self.version)
            .with(CONTENT_HASH, self.content_hash.as_str())
            .with(HEAD_HASH, self.head_hash.as_str())
            .with(CLAIMS, Value::map(claims))
            .with(FINDINGS, self.findings)
            .with(RAWS_IN_FLIGHT, self.raws_in_flight)
            .with(SHARED, self.is_shared);
        if let Some(ttl) = self.ttl {
            item.set(TTL, ttl);
        }
        if let Some(options) = &self.consensus_options {
            item.set(CONSENSUS_OPTIONS, options.to_string());
        }
        // The store has no empty sets.
        if !self.raws.is_empty() {
            item.set(RAWS, Value::strings(self.raws.iter().map(String::as_str)));
        }
        if let Some(begun_at_ms) = self.begun_at_ms {
            let sort = keys::recording_gsi2_sort(begun_at_ms, &self.review.id);
            item = in_index(item, GSI2, keys::RECORDINGS.to_owned(), sort);
        }
        item
    }

    pub(crate) fn decode(item: &Item) -> Result<Lookup> {
        let fields = Fields(item);
        let state = State::ALL.into_iter().find(|state| item.s(STATE) == Some(state.as_str()));
        Ok(Lookup {
            review: ReviewRef {
                id: fields.parse("review_id")?,
                owner: fields.parse("owner")?,
                repo: fields.parse("repo")?,
                pr_number: fields.number("pr_number")?,
            },
            created_at_ms: fields.time("created_at")?,
            state: state.ok_or_else(|| fields.wrong(STATE))?,
            revision: fields.text(REVISION)?.to_owned(),
            version: fields.number(VERSION)?,
            content_hash: fields.text(CONTENT_HASH)?.to_owned(),
            head_hash: fields.text(HEAD_HASH)?.to_owned(),
            claims: decode_claims(fields)?,
            findings: fields.number(FINDINGS)?,
            raws: match item.get(RAWS) {
                Some(Value::Ss(keys)) => keys.iter().map(ToString::to_string).collect(),
                _ => BTreeSet::new(),
            },
            raws_in_flight: fields.is_true(RAWS_IN_FLIGHT),
            is_shared: fields.is_true(SHARED),
            consensus_options: fields.parse_optional(CONSENSUS_OPTIONS)?,
            ttl: item.i64(TTL),
            begun_at_ms: item.s("GSI2SK").and_then(keys::parse_recording_gsi2_sort),
        })
    }

    /// Whether readers see the review no longer.
    pub(crate) fn is_expired(&self, now_ms: i64) -> bool {
        self.ttl.is_some_and(|ttl| ttl <= now_ms.div_euclid(1000))
    }

    /// Whether a writer of this revision or of one before it may be about to store raw outputs.
    pub(crate) fn may_store_raws(&self) -> bool {
        let is_recording = self.state == State::Recording && !self.raws.is_empty();
        self.raws_in_flight || self.is_shared || is_recording || !self.has_whole_claims()
    }

    /// Whether all items of all claimed responses are written.
    pub(crate) fn has_whole_claims(&self) -> bool {
        self.claims.values().all(|claim| claim.is_whole)
    }

    /// Whether this is a recording that no reader has seen, and that began before a time.
    pub(crate) fn has_begun_before(&self, at_ms: i64) -> bool {
        self.begun_at_ms.is_some_and(|begun_at_ms| begun_at_ms < at_ms)
    }

    /// Whether the revision has ended.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.state, State::Completed | State::Failed)
    }

    /// The write that notes a further writer of the same raw outputs, and the lookup after it.
    pub(crate) fn shared(self, table: &Name) -> (Write, Lookup) {
        let note = self.exact_fence().update(table, set(SHARED, true).add(VERSION, 1));
        (note, Lookup { is_shared: true, version: self.version + 1, ..self })
    }

    /// The fence of writes for this revision in this state.
    pub(crate) fn fence(&self) -> Fence {
        let key = keys::lookup(&self.review.id);
        let condition =
            attr(REVISION).eq(self.revision.as_str()).and(attr(STATE).eq(self.state.as_str()));
        Fence { key, condition }
    }

    /// The fence of a writer that changes the lookup as a whole: nothing has changed since it was read.
    pub(crate) fn exact_fence(&self) -> Fence {
        let Fence { key, condition } = self.fence();
        Fence { key, condition: condition.and(attr(VERSION).eq(self.version)) }
    }
}

/// A new revision, unlike all others.
pub(crate) fn new_revision() -> String {
    // A simulation is to make the same revisions again.
    if cfg!(feature = "faults") {
        return format!("{:032x}", fastrand::u128(..));
    }
    uuid::Uuid::new_v4().simple().to_string()
}

/// The condition on a lookup for a write below its review.
#[derive(Debug, Clone)]
pub(crate) struct Fence {
    pub(crate) key: Key,
    pub(crate) condition: Condition,
}

impl Fence {
    /// Requires also that the claim of a model has this hash and is not whole: a second writer of the same response must not
    /// undo what people said of its findings since.
    pub(crate) fn with_open_claim(self, model: &ModelId, hash: &str) -> Fence {
        let claim = |field| attr(CLAIMS).field(model.as_str()).field(field);
        let is_open = claim("hash").eq(hash).and(claim("is_whole").eq(false));
        Fence { condition: self.condition.and(is_open), ..self }
    }

    /// Requires also that a model has no claim, and that there is room for it.
    pub(crate) fn without_claim(
        self,
        model: &ModelId,
        findings_max: u64,
        models_max: u64,
    ) -> Fence {
        let absent = attr(CLAIMS).field(model.as_str()).absent();
        let has_room = attr(FINDINGS).le(findings_max).and(size(Path::new(CLAIMS)).lt(models_max));
        Fence { condition: self.condition.and(absent).and(has_room), ..self }
    }

    /// The condition in a transaction that does not write the lookup.
    pub(crate) fn check(&self, table: &Name) -> Write {
        Write::check(table.clone(), self.key.clone(), self.condition.clone())
    }

    /// A new form of the lookup.
    pub(crate) fn put(&self, table: &Name, lookup: &Lookup) -> Write {
        Write::put(table.clone(), lookup.encode()).when(self.condition.clone())
    }

    /// A change of the lookup.
    pub(crate) fn update(&self, table: &Name, update: Update) -> Write {
        Write::update(table.clone(), self.key.clone(), update).when(self.condition.clone())
    }

    /// The end of the lookup.
    pub(crate) fn delete(&self, table: &Name) -> Write {
        Write::delete(table.clone(), self.key.clone()).when(self.condition.clone())
    }
}

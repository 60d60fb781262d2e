//! The claim of a model in the lookup of a review that is recorded step by step.

use std::collections::BTreeMap;

use weir_table::expr::{Path, Update, set};
use weir_table::{Name, Value};

use super::Fields;
use super::lookup::{CLAIMS, FINDINGS, RAWS, VERSION};
use crate::error::{Error, Result};
use crate::ids::ModelId;

/// The response of a model in a review that is recorded step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Hash of the response.
    pub(crate) hash: String,
    /// Whether all of its items are written.
    pub(crate) is_whole: bool,
}

impl Claim {
    /// The change of a lookup that adds the claim of a model.
    pub(crate) fn update(&self, model: &ModelId, findings: u64, raw: Option<String>) -> Update {
        let path = Path::new(CLAIMS).field(model.as_str());
        let update = set(path, self.to_value()).add(FINDINGS, findings).add(VERSION, 1);
        match raw {
            Some(sort) => update.add(RAWS, Value::strings([sort])),
            None => update,
        }
    }

    /// The change of a lookup after all items of a claimed response are written.
    pub(crate) fn is_whole_update(model: &ModelId) -> Update {
        let path = Path::new(CLAIMS).field(model.as_str()).field("is_whole");
        set(path, true).add(VERSION, 1)
    }

    pub(super) fn to_value(&self) -> Value {
        let hash = (Name::from("hash"), Value::from(self.hash.as_str()));
        Value::map([hash, ("is_whole".into(), self.is_whole.into())])
    }
}

pub(super) fn decode_claims(fields: Fields<'_>) -> Result<BTreeMap<ModelId, Claim>> {
    let wrong = || -> Error { fields.wrong(CLAIMS) };
    let Some(Value::M(claims)) = fields.0.get(CLAIMS) else { return Err(wrong()) };
    let decode = |(model, claim): (&Name, &Value)| {
        let Value::M(claim) = claim else { return None };
        let hash = claim.get("hash")?.as_s()?.to_owned();
        let is_whole = claim.get("is_whole")?.as_bool()?;
        Some((ModelId::new(model).ok()?, Claim { hash, is_whole }))
    };
    claims.iter().map(|entry| decode(entry).ok_or_else(wrong)).collect()
}

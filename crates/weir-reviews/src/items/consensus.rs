//! The item of a consensus.

use weir_table::{Item, Value};

use super::{Fields, ItemContext, in_index};
use crate::error::Result;
use crate::finding::Severity;
use crate::ids::{FindingId, ModelId};
use crate::keys::{self, GSI2, GSI3};
use crate::review::{Consensus, Member};

const MODELS: &str = "agreeing_models";
const FINDINGS: &str = "finding_ids";
const MEMBER_MODELS: &str = "finding_models";
const CATEGORY: &str = "category";

impl Consensus {
    /// The item of the consensus.
    pub(crate) fn encode(&self, context: &ItemContext) -> Item {
        let ItemContext { review, created_at_ms, .. } = context;
        let models = Value::list(self.agreeing_models.iter().map(ModelId::as_str));
        let findings = Value::list(self.members.iter().map(|member| member.finding.as_str()));
        let member_models = Value::list(self.members.iter().map(|member| member.model.as_str()));
        let mut item = context
            .item(keys::consensus(review, &self.id), "CONSENSUS")
            .with("consensus_id", self.id.as_str())
            .with(MODELS, models)
            .with("agreement_count", self.agreeing_models.len() as u64)
            .with("models_asked", self.models_asked)
            .with("confidence", self.confidence().as_str())
            .with("severity", self.severity.as_str())
            .with("file_path", self.file_path.as_str())
            .with("line_start", self.line_start)
            .with("line_end", self.line_end)
            .with("title", self.title.as_str())
            .with("merged_description", self.merged_description.as_str())
            .with(FINDINGS, findings)
            .with(MEMBER_MODELS, member_models);
        let category = self.category.as_ref();
        let sort = keys::consensus_gsi2_sort(*created_at_ms, self.severity, category);
        item = in_index(item, GSI2, keys::ALL_CONSENSUS.to_owned(), sort);
        if let Some(category) = category {
            item.set(CATEGORY, category.as_str());
            let sort = keys::consensus_gsi3_sort(*created_at_ms, self.severity);
            item = in_index(item, GSI3, keys::by_category(category), sort);
        }
        item
    }

    /// Decodes a consensus.
    pub(crate) fn decode(item: &Item) -> Result<Consensus> {
        let fields = Fields(item);
        let severity = Severity::parse(fields.text("severity")?);
        let models = fields.parse_list::<ModelId>(MEMBER_MODELS)?;
        let findings = fields.parse_list::<FindingId>(FINDINGS)?;
        let members = models.into_iter().zip(findings);
        Ok(Consensus {
            id: fields.parse("consensus_id")?,
            members: members.map(|(model, finding)| Member { model, finding }).collect(),
            agreeing_models: fields.parse_list(MODELS)?,
            models_asked: fields.number("models_asked")?,
            severity: severity.map_err(|_| fields.wrong("severity"))?,
            category: fields.parse_optional(CATEGORY)?,
            file_path: fields.text("file_path")?.to_owned(),
            line_start: fields.line("line_start")?,
            line_end: fields.line("line_end")?,
            title: fields.text("title")?.to_owned(),
            merged_description: fields.text("merged_description")?.to_owned(),
        })
    }
}

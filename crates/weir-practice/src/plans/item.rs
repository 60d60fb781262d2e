//! A plan as an item.

use weir_table::Item;

use super::{Plan, PlanFields, PlanLimit};
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::item::{Data, TYPE, UPDATED, VERSION, entity};
use crate::keys::{self, List};
use crate::kinds::EntityType;

impl Plan {
    /// The item of a plan; `version` grows with every change.
    pub(super) fn to_item(&self, version: i64) -> Item {
        let fields = &self.fields;
        let data = Data::new()
            .with("nm", fields.name.as_str())
            .with_or_null("dsc", fields.description.as_deref())
            .with("mh", fields.max_hints_per_day.to_number())
            .with("me", fields.max_executions_per_day.to_number())
            .with("mp", fields.max_problems.to_number())
            .with("cva", fields.can_view_all_problems)
            .with("crp", fields.can_register_problems)
            .with("act", fields.is_active);
        let item = entity(keys::plan(self.id), EntityType::Plan, data, self.created_s)
            .with(UPDATED, self.updated_s)
            .with(VERSION, version);
        List::Plans.plan(self.created_s, self.id).index.put_on(item)
    }

    /// Reads an item; `None` if it is no plan.
    pub(crate) fn from_item(item: &Item) -> Result<Option<Plan>> {
        if item.s(TYPE) != Some(EntityType::Plan.as_str()) {
            return Ok(None);
        }
        let fields = Fields::of(item)?;
        let limit = |name: &str| -> Result<PlanLimit> {
            PlanLimit::from_number(name, fields.number(name)?).map_err(|_| fields.wrong(name))
        };
        let id = item.s("PK").and_then(keys::parse_plan);
        Ok(Some(Plan {
            id: id.ok_or_else(|| Error::damaged("a plan", "its key is invalid"))?,
            fields: PlanFields {
                name: fields.text("nm")?.to_owned(),
                description: fields.optional_text("dsc").map(str::to_owned),
                max_hints_per_day: limit("mh")?,
                max_executions_per_day: limit("me")?,
                max_problems: limit("mp")?,
                can_view_all_problems: fields.flag("cva"),
                can_register_problems: fields.flag("crp"),
                is_active: fields.flag("act"),
            },
            created_s: fields.created_s()?,
            updated_s: fields.updated_s()?,
        }))
    }
}

//! `weir limiter audit`: the audit log.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::Value;
use weir_api::TimeRangeParams;
use weir_api::limiter::{LimiterAuditEvent, LimiterAuditParams};

use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// Entity whose changes to show, for example user-1 [default: everything in the namespace]
    #[arg(long, value_name = "ID")]
    entity: Option<String>,
    /// Show the changes of the system's limits
    #[arg(long, conflicts_with = "entity")]
    system: bool,
    /// Resource whose changes to show, for example gpt-4
    #[arg(long, value_name = "NAME", conflicts_with_all = ["entity", "system"])]
    resource: Option<String>,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: AuditArgs) -> Result<(), Failure> {
    let resource = args.resource.map(|resource| format!("$RESOURCE:{resource}"));
    let system = args.system.then(|| "$SYSTEM".to_owned());
    let params = LimiterAuditParams { entity: args.entity.or(resource).or(system) };
    let range = TimeRangeParams::from(args.range);
    let path = with_params(&with_params(&context.path(&["audit"]), &params)?, &range)?;
    context.list::<LimiterAuditEvent>(&path, &args.limit, table).await
}

fn table(events: &[LimiterAuditEvent]) -> std::io::Result<()> {
    rows(
        events,
        &[
            ("at", |event| event.at.clone()),
            ("action", |event| event.action.clone()),
            ("subject", |event| output::printable(&event.subject)),
            ("resource", |event| output::printable(event.resource.as_deref().unwrap_or_default())),
            ("actor", |event| output::printable(&event.principal)),
            ("change", |event| change(event.before.as_ref(), event.after.as_ref())),
        ],
    )
}

/// The fields that an event changed, or all fields of what it created or removed.
fn change(before: Option<&Value>, after: Option<&Value>) -> String {
    let changed = match (before, after) {
        (None, None) => String::new(),
        (None, Some(after)) => text(after, 0),
        (Some(before), None) => format!("{} → nothing", text(before, 0)),
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
            let side = |value: Option<&Value>| {
                let text = text(value.unwrap_or(&Value::Null), 1);
                if text.is_empty() { "nothing".to_owned() } else { text }
            };
            let changed = changed.map(|name| {
                format!("{name}: {} → {}", side(before.get(name)), side(after.get(name)))
            });
            changed.collect::<Vec<_>>().join(", ")
        }
        (Some(before), Some(after)) => format!("{} → {}", text(before, 0), text(after, 0)),
    };
    output::printable(&changed)
}

/// A value on one line that can wrap at spaces, without its empty fields.
fn text(value: &Value, depth: usize) -> String {
    let list = |parts: Vec<String>, open: &str, close: &str| match (parts.is_empty(), depth) {
        (true, _) => String::new(),
        (false, 0) => parts.join(", "),
        (false, _) => format!("{open}{}{close}", parts.join(", ")),
    };
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            list(values.iter().map(|value| text(value, depth + 1)).collect(), "[", "]")
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name, text(value, depth + 1)));
            let shown = fields.filter(|(_, text)| !text.is_empty());
            list(shown.map(|(name, text)| format!("{name}: {text}")).collect(), "{", "}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_name_the_fields_that_differ() {
        let before = json!({"cascade": true, "name": "a b", "parent_id": null, "metadata": {}});
        let after =
            json!({"cascade": true, "name": "a b", "parent_id": "team", "metadata": {"x": 1}});
        for (before, after, shown) in [
            (None, None, ""),
            (None, Some(&before), "cascade: true, name: a b"),
            (Some(&before), None, "cascade: true, name: a b → nothing"),
            (Some(&before), Some(&after), "metadata: nothing → {x: 1}, parent_id: nothing → team"),
        ] {
            assert_eq!(change(before, after), shown);
        }
        let limits = json!({"limits": [{"name": "rpm", "capacity": 60}]});
        assert_eq!(change(None, Some(&limits)), "limits: [{capacity: 60, name: rpm}]");
    }
}

//! One line of an export: the same counters always make the same text. Pure.

use serde::Serialize;

use crate::counters::Counters;
use crate::day::OrgDay;
use crate::ids::{Label, Scope};
use crate::totals::UsageTotals;

#[derive(Serialize)]
struct Line<'a> {
    org_id: &'a str,
    app_id: Option<&'a str>,
    model_label: &'a Label,
    org_day: OrgDay,
    #[serde(flatten)]
    sum: UsageTotals,
}

/// Appends the line of a model of a scope on a day.
pub(super) fn write(
    content: &mut String,
    scope: &Scope,
    label: &Label,
    day: OrgDay,
    counters: &Counters,
) {
    let line = Line {
        org_id: scope.org().as_str(),
        app_id: scope.app().map(AsRef::as_ref),
        model_label: label,
        org_day: day,
        sum: (*counters).into(),
    };
    // Strings and numbers always serialize.
    if let Ok(line) = serde_json::to_string(&line) {
        content.push_str(&line);
        content.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AppId, OrgId};
    use crate::money::{MicroUsd, TokenUse};

    #[test]
    fn the_text_of_a_line_is_stable() {
        let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
        let tokens = TokenUse { input: 1, output: 2, cached_read: 3, cached_write: 4 };
        let counters = Counters { cost: MicroUsd(5), tokens, requests: 6 };
        let mut content = String::new();
        let day = OrgDay::new(2026, 1, 23).unwrap();
        let app = Scope::App(org, AppId::new("a").unwrap());
        write(&mut content, &app, &Label::new("premium").unwrap(), day, &counters);
        assert_eq!(
            content,
            "{\"org_id\":\"550e8400-e29b-41d4-a716-446655440000\",\"app_id\":\"a\",\
             \"model_label\":\"premium\",\"org_day\":\"2026-01-23\",\"cost_usd_micros\":5,\
             \"input_tokens\":1,\"output_tokens\":2,\"cached_read_tokens\":3,\
             \"cached_write_tokens\":4,\"requests\":6}\n"
        );
    }
}

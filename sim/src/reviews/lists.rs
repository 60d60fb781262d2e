//! Compares the lists with the items of the table.

use std::collections::BTreeSet;

use weir_calendar::Day;
use weir_reviews::finding::Severity;
use weir_reviews::read::ListOptions;
use weir_reviews::time::parse_rfc3339;
use weir_table::Item;
use weir_table::retry::Listed;

use super::{Simulation, clients};
use crate::check::{Check, Violation};
use crate::task::at_once;

/// Entries of a list, as texts that name them.
type Entries = BTreeSet<String>;

/// All pages of a list, each entry as a text.
fn all_pages<T>(
    mut page: impl FnMut(&ListOptions) -> weir_reviews::Result<Listed<T>>,
    name: impl Fn(&T) -> String,
) -> Entries {
    let mut entries = Entries::new();
    let mut options = ListOptions::default();
    loop {
        let listed = page(&options).expect("a page");
        entries.extend(listed.items.iter().map(&name));
        options.cursor = listed.cursor;
        if options.cursor.is_none() {
            return entries;
        }
    }
}

/// The items of a type with these attributes, each as a text.
fn entries(items: &[Item], of_type: &str, attributes: &[(&str, &str)], name: &[&str]) -> Entries {
    let is_listed = |item: &&Item| {
        item.s("entity_type") == Some(of_type)
            && attributes.iter().all(|(name, value)| item.s(name) == Some(value))
    };
    let text = |item: &Item| {
        let parts: Vec<&str> = name.iter().map(|name| item.s(name).unwrap_or_default()).collect();
        parts.join("/")
    };
    items.iter().filter(is_listed).map(text).collect()
}

impl Simulation {
    /// Every list has what the table has.
    pub(super) fn check_lists(&mut self) -> Result<(), Violation> {
        self.run.trace.say(format_args!("all lists are read"));
        self.observe_at(self.run.clocks.true_ms());
        let items: Vec<Item> =
            self.run.store.items(&self.settings.table).into_iter().map(|(_, item)| item).collect();
        let mut violations = Vec::new();
        let mut compare = |list: String, listed: Entries, expected: Entries| {
            if listed != expected {
                let found = format!("{list}: {listed:?}, and the table has {expected:?}");
                violations.push(Violation::new(Check::Lists, found));
            }
        };
        self.compare_reviews(&items, &mut compare);
        self.compare_findings(&items, &mut compare);
        self.run.report(violations)
    }

    fn compare_reviews(&self, items: &[Item], compare: &mut impl FnMut(String, Entries, Entries)) {
        let reviews = &self.observer;
        let id = |of: &weir_reviews::review::Review| of.id.to_string();
        let expected =
            |attributes: &[(&str, &str)]| entries(items, "REVIEW", attributes, &["review_id"]);
        let listed = all_pages(|options| at_once(reviews.all(options)), id);
        compare("all reviews".to_owned(), listed, expected(&[]));
        let user = clients::user(clients::USERS[0]);
        let listed = all_pages(|options| at_once(reviews.by_user(&user, options)), id);
        compare("a user's".to_owned(), listed, expected(&[("requested_by", user.as_str())]));
        let created = |item: &Item| parse_rfc3339("created_at", item.s("created_at")?).ok();
        let is_review = |item: &&Item| item.s("entity_type") == Some("REVIEW");
        let of_days = items
            .iter()
            .filter(is_review)
            .filter_map(|item| Some((Day::utc(created(item)?), item.s("review_id")?.to_owned())));
        let of_days: BTreeSet<(Day, String)> = of_days.collect();
        for day in of_days.iter().map(|(day, _)| *day).collect::<BTreeSet<_>>() {
            let listed = all_pages(|options| at_once(reviews.by_date(day, options)), id);
            let of_day = of_days.iter().filter(|(of, _)| *of == day).map(|(_, id)| id.clone());
            compare(format!("reviews of {day}"), listed, of_day.collect());
        }
        for name in clients::MODELS {
            let model = clients::model(name);
            let listed = all_pages(
                |options| at_once(reviews.by_model(&model, options)),
                |of| of.review.id.to_string(),
            );
            let stored = entries(items, "MODEL_RESPONSE", &[("model_id", name)], &["review_id"]);
            compare(format!("responses of {name}"), listed, stored);
        }
    }

    fn compare_findings(&self, items: &[Item], compare: &mut impl FnMut(String, Entries, Entries)) {
        const NAME: [&str; 3] = ["review_id", "model_id", "finding_id"];
        let reviews = &self.observer;
        let name = |of: &weir_reviews::read::ListedFinding| {
            let finding = &of.finding.finding;
            format!("{}/{}/{}", of.review.id, finding.model, finding.id)
        };
        for severity in Severity::ALL {
            let list =
                |options: &ListOptions| at_once(reviews.findings_by_severity(severity, options));
            let of_severity = [("severity", severity.as_str())];
            let stored = entries(items, "FINDING", &of_severity, &NAME);
            compare(format!("{severity} findings"), all_pages(list, name), stored);
        }
        for category in clients::CATEGORIES {
            let of = clients::category(category);
            let list = |options: &ListOptions| at_once(reviews.findings_by_category(&of, options));
            let stored = entries(items, "FINDING", &[("category", category)], &NAME);
            compare(format!("{category} findings"), all_pages(list, name), stored);
        }
        let listed = all_pages(
            |options| at_once(reviews.all_consensus(options)),
            |of| format!("{}/{}", of.review.id, of.consensus.id),
        );
        let stored = entries(items, "CONSENSUS", &[], &["review_id", "consensus_id"]);
        compare("all consensus".to_owned(), listed, stored);
    }
}

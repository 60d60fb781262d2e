//! What holds of consensus whatever the models say.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap like the tests")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use weir_reviews::consensus::{Options, find};
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{Category, FindingId, ModelId};
use weir_reviews::review::{Consensus, Member};

/// Few words, places and models, so that findings are often alike.
const WORDS: &[&str] =
    &["race", "on", "`counter`", "lock", "missing", "user_id", "logged", "SQL", "timeout", "é"];
const MODELS: &[&str] = &["a", "b", "c", "d", "e"];
const FILES: &[&str] = &["x.rs", "y.rs"];

fn some_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 1..6).prop_map(|words| words.join(" "))
}

fn some_finding() -> impl Strategy<Value = Finding> {
    let category = prop::option::of(prop::sample::select(&["bug", "security"][..]));
    let place = (prop::sample::select(FILES), 1_u32..30, 0_u32..6);
    let model = prop::sample::select(MODELS);
    let severity = prop::sample::select(&Severity::ALL[..]);
    (model, severity, category, place, some_text(), some_text()).prop_map(
        |(model, severity, category, (file, line, more), title, description)| Finding {
            model: ModelId::new(model).unwrap(),
            id: FindingId::new("unset").unwrap(),
            severity,
            category: category.map(|text| Category::new(text).unwrap()),
            rule: None,
            file_path: file.to_owned(),
            line_start: line,
            line_end: line + more,
            title,
            description,
            suggestion: None,
        },
    )
}

fn some_findings() -> impl Strategy<Value = Vec<Finding>> {
    prop::collection::vec(some_finding(), 0..60).prop_map(|mut findings| {
        for (at, finding) in findings.iter_mut().enumerate() {
            finding.id = FindingId::new(format!("f{at}")).unwrap();
        }
        findings
    })
}

fn some_options() -> impl Strategy<Value = Options> {
    (0.0..0.6_f64, 0_u32..5).prop_map(|(threshold, line_slack)| Options {
        threshold,
        line_slack,
        ..Options::default()
    })
}

fn models() -> Vec<ModelId> {
    MODELS.iter().map(|model| ModelId::new(model).unwrap()).collect()
}

fn member<'a>(findings: &'a [Finding], member: &Member) -> &'a Finding {
    let is_it = |of: &&Finding| of.model == member.model && of.id == member.finding;
    findings.iter().find(is_it).unwrap()
}

fn may_match(a: &Finding, b: &Finding, options: &Options) -> bool {
    a.model != b.model
        && a.file_path == b.file_path
        && a.line_start <= b.line_end + options.line_slack
        && b.line_start <= a.line_end + options.line_slack
}

fn groups(consensus: &[Consensus], file: &str) -> Vec<Vec<Member>> {
    consensus.iter().filter(|of| of.file_path == file).map(|of| of.members.clone()).collect()
}

proptest! {
    #[test]
    fn the_order_of_findings_and_models_does_not_matter(
        (findings, shuffled) in some_findings().prop_flat_map(|findings| {
            let shuffled = Just(findings.clone()).prop_shuffle();
            (Just(findings), shuffled)
        }),
        options in some_options(),
    ) {
        let mut reversed = models();
        reversed.reverse();
        prop_assert_eq!(
            find(&findings, &models(), &options),
            find(&shuffled, &reversed, &options)
        );
    }

    #[test]
    fn all_pairs_of_a_group_may_match_and_are_of_two_models(
        findings in some_findings(),
        options in some_options(),
    ) {
        let mut taken = BTreeSet::new();
        for consensus in find(&findings, &models(), &options) {
            prop_assert!(consensus.agreeing_models.len() >= 2);
            prop_assert_eq!(consensus.agreeing_models.len(), consensus.members.len());
            let members: Vec<_> =
                consensus.members.iter().map(|of| member(&findings, of)).collect();
            for (at, a) in members.iter().enumerate() {
                prop_assert!(taken.insert((&a.model, &a.id)), "in two groups: {:?}", a);
                prop_assert!(consensus.line_start <= a.line_start);
                prop_assert!(consensus.line_end >= a.line_end);
                for b in &members[at + 1..] {
                    prop_assert!(may_match(a, b, &options), "{:?} {:?}", a, b);
                }
            }
        }
    }

    /// Another file changes only how rare tokens are. Without rarity, it changes nothing.
    #[test]
    fn another_file_does_not_change_groups_but_by_rarity(
        findings in some_findings(),
        options in some_options(),
    ) {
        let options = Options { rarity: 0.0, ..options };
        let is_here = |of: &&Finding| of.file_path == FILES[0];
        let here: Vec<_> = findings.iter().filter(is_here).cloned().collect();
        let alone = find(&here, &models(), &options);
        let both = find(&findings, &models(), &options);
        prop_assert_eq!(groups(&alone, FILES[0]), groups(&both, FILES[0]));
    }

    #[test]
    fn any_text_and_any_option_is_handled(
        texts in prop::collection::vec((".{0,40}", "[`._:>\\-a-zA-Z(é ]{0,60}"), 2..8),
        threshold in prop::num::f64::ANY,
    ) {
        let findings: Vec<_> = texts.into_iter().zip(models().into_iter().cycle()).enumerate()
            .map(|(at, ((title, description), model))| Finding {
                id: FindingId::new(format!("f{at}")).unwrap(),
                model,
                severity: Severity::Low,
                category: None,
                rule: None,
                file_path: "x".to_owned(),
                line_start: u32::MAX - 1,
                line_end: u32::MAX,
                title,
                description,
                suggestion: None,
            })
            .collect();
        let options = Options { threshold, line_slack: u32::MAX, ..Options::default() };
        for consensus in find(&findings, &models(), &options) {
            prop_assert!(consensus.members.len() > 1);
        }
    }
}

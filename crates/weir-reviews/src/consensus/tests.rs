use super::*;
use crate::finding::Severity;
use crate::ids::{Category, FindingId};
use crate::review::Confidence;

fn finding(model: &str, id: &str, lines: (u32, u32), title: &str) -> Finding {
    Finding {
        model: ModelId::new(model).unwrap(),
        id: FindingId::new(id).unwrap(),
        severity: Severity::High,
        category: Some(Category::new("security").unwrap()),
        rule: None,
        file_path: "src/auth/login.py".to_owned(),
        line_start: lines.0,
        line_end: lines.1,
        title: title.to_owned(),
        description: String::new(),
        suggestion: None,
    }
}

fn models(names: &[&str]) -> Vec<ModelId> {
    names.iter().map(|name| ModelId::new(name).unwrap()).collect()
}

fn found(findings: &[Finding]) -> Vec<Consensus> {
    find(findings, &models(&["a", "b", "c", "d"]), &Options::default())
}

fn members(consensus: &Consensus) -> Vec<String> {
    consensus.members.iter().map(|of| format!("{}/{}", of.model, of.finding)).collect()
}

const INJECTION: &str = "SQL injection in `find_user`";

#[test]
fn two_models_that_describe_one_issue_agree() {
    let mut first = finding("b", "1", (45, 52), INJECTION);
    first.description = "`name` is concatenated into the query.".to_owned();
    let second = finding("a", "7", (44, 47), "`find_user` concatenates input into SQL");
    let other = finding("c", "1", (46, 46), "Password compared without constant time");
    let all = found(&[first, second, other]);
    assert_eq!(all.len(), 1);
    let consensus = &all[0];
    assert_eq!(consensus.id.as_str(), "consensus-001");
    assert_eq!(members(consensus), ["a/7", "b/1"]);
    assert_eq!(consensus.agreeing_models, models(&["a", "b"]));
    assert_eq!(consensus.models_asked, 4);
    assert_eq!(consensus.confidence(), Confidence::Medium);
    assert_eq!((consensus.line_start, consensus.line_end), (44, 52));
    assert_eq!(consensus.category.as_ref().unwrap().as_str(), "security");
    assert_eq!(
        consensus.merged_description,
        "a (high, lines 44-47): `find_user` concatenates input into SQL\n\n\
         b (high, lines 45-52): SQL injection in `find_user`\n\
         `name` is concatenated into the query."
    );
}

#[test]
fn findings_match_only_in_one_file_and_place() {
    let one = || finding("a", "1", (10, 12), INJECTION);
    let two = || finding("b", "1", (18, 18), INJECTION);
    assert_eq!(found(&[one(), two()]).len(), 1);
    for other in [
        Finding { line_start: 19, line_end: 19, ..two() },
        Finding { line_start: 2, line_end: 3, ..two() },
        Finding { file_path: "src/auth/logout.py".to_owned(), ..two() },
        Finding { model: ModelId::new("a").unwrap(), id: FindingId::new("2").unwrap(), ..two() },
        Finding { title: "Typo".to_owned(), line_start: 10, line_end: 12, ..two() },
    ] {
        assert_eq!(found(&[one(), other.clone()]), [], "{other:?}");
    }
    let uncategorised = [one(), two()].map(|of| Finding { category: None, ..of });
    assert_eq!(found(&uncategorised)[0].category, None);
}

#[test]
fn different_categories_need_texts_that_are_more_alike() {
    let categorised = |category: &str, title: &str| Finding {
        category: Some(Category::new(category).unwrap()),
        ..finding("b", "1", (10, 12), title)
    };
    let one = finding("a", "1", (10, 12), INJECTION);
    let count = |other: Finding| found(&[one.clone(), other]).len();
    assert_eq!(count(categorised("bug", INJECTION)), 1);
    let vague = "Maintainers find it hard to follow";
    assert_eq!(count(categorised("security", vague)), 1);
    assert_eq!(count(categorised("bug", vague)), 0);
    assert_eq!(count(Finding { category: None, ..categorised("bug", vague) }), 1);
}

#[test]
fn distant_lines_need_texts_that_are_more_alike() {
    let count = |line: u32, title: &str| {
        let other = finding("b", "1", (line, line), title);
        found(&[finding("a", "1", (10, 12), INJECTION), other]).len()
    };
    let vague = "Maintainers find it hard to follow";
    assert_eq!([12, 18].map(|line| count(line, INJECTION)), [1, 1]);
    assert_eq!([12, 18].map(|line| count(line, vague)), [1, 0]);
}

#[test]
fn a_penalty_above_all_scores_keeps_categories_apart() {
    let mut findings = ["a", "b", "c"].map(|model| finding(model, "1", (10, 12), INJECTION));
    findings[2].category = Some(Category::new("bug").unwrap());
    let options = Options { category_penalty: 4.0, ..Options::default() };
    let all = find(&findings, &models(&["a", "b", "c"]), &options);
    assert_eq!(all.len(), 1);
    assert_eq!(members(&all[0]), ["a/1", "b/1"]);
}

#[test]
fn a_chain_of_neighbours_does_not_connect_distant_lines() {
    let chain = [("a", 10), ("b", 16), ("c", 22), ("d", 28)];
    let all = found(&chain.map(|(model, line)| finding(model, "1", (line, line), INJECTION)));
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|of| of.line_end - of.line_start <= Options::default().line_slack));
}

#[test]
fn of_two_findings_of_a_model_the_more_similar_one_agrees() {
    let all = found(&[
        finding("a", "1", (10, 10), "Token `session_id` is written to the log"),
        finding("a", "2", (10, 10), "Log file is not rotated"),
        finding("b", "1", (10, 10), "Logging of `session_id`"),
    ]);
    assert_eq!(all.len(), 1);
    assert_eq!(members(&all[0]), ["a/1", "b/1"]);
}

#[test]
fn a_finding_does_not_agree_with_one_whose_model_says_it_better() {
    let all = found(&[
        finding("a", "1", (10, 10), "Token `session_id` is written to the log"),
        finding("b", "1", (10, 10), "Logging of the `session_id` token"),
        finding("b", "2", (10, 10), "`session_id` is not rotated"),
        finding("c", "1", (10, 10), "`session_id` is never rotated"),
    ]);
    let groups: Vec<_> = all.iter().map(members).collect();
    assert_eq!(groups, [["a/1", "b/1"], ["b/2", "c/1"]]);
}

#[test]
fn the_severity_is_the_highest_that_two_models_give_or_the_highest() {
    use Severity::{Critical, High, Info, Low, Medium};
    for (severities, expected) in [
        ([Critical, High, High, Low], High),
        ([Critical, Critical, High, High], Critical),
        ([Info, Low, Medium, High], High),
        ([Critical, Low, Low, Info], Low),
    ] {
        let given = ["a", "b", "c", "d"].into_iter().zip(severities);
        let findings: Vec<_> = given
            .map(|(model, severity)| Finding { severity, ..finding(model, "1", (1, 1), INJECTION) })
            .collect();
        assert_eq!(found(&findings)[0].severity, expected);
    }
}

#[test]
fn consensus_is_numbered_by_severity_file_and_line() {
    let mut findings = Vec::new();
    let places = [("z.rs", 1, Severity::Critical), ("a.rs", 90, Severity::Low)];
    for (at, (file, line, severity)) in
        places.into_iter().chain([("a.rs", 9, Severity::Low)]).enumerate()
    {
        for model in ["a", "b"] {
            let one = finding(model, &at.to_string(), (line, line), INJECTION);
            findings.push(Finding { file_path: file.to_owned(), severity, ..one });
        }
    }
    let all = found(&findings);
    let order: Vec<_> =
        all.iter().map(|of| (of.id.as_str(), of.file_path.as_str(), of.line_start)).collect();
    assert_eq!(
        order,
        [("consensus-001", "z.rs", 1), ("consensus-002", "a.rs", 9), ("consensus-003", "a.rs", 90)]
    );
}

#[test]
fn the_merged_description_keeps_the_bound_of_a_text_and_every_model() {
    let names: Vec<String> = (0..20).map(|at| format!("model-{at:02}")).collect();
    let findings: Vec<_> = names
        .iter()
        .map(|model| Finding {
            description: "ö".repeat(crate::bounds::TEXT_MAX / 2),
            ..finding(model, "1", (1, 1), INJECTION)
        })
        .collect();
    let all = found(&findings);
    let merged = &all[0].merged_description;
    assert!(merged.len() <= crate::bounds::TEXT_MAX);
    assert!(names.iter().all(|name| merged.contains(name)));
}

//! Reports for people. The expected texts are files beside this one; `WEIR_TEST_BLESS=1` rewrites them.

use std::path::Path;

use unicode_width::UnicodeWidthStr as _;
use weir_reviews::bounds::{MARKDOWN_MAX, REPORT_COLUMNS};
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::report::{self, Agreement};
use weir_reviews::review::{Consensus, RecordedReview, ReviewStatus};

use crate::samples::{consensus, finding, hostile, review, typical};

fn assert_is(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents/expected").join(name);
    if std::env::var_os("WEIR_TEST_BLESS").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(text == expected, "{name} differs; WEIR_TEST_BLESS=1 rewrites it. It is now:\n{text}");
}

#[test]
fn reports_are_as_expected() {
    for (name, review) in
        [("typical", typical()), ("hostile", hostile()), ("empty", review(Vec::new(), Vec::new()))]
    {
        assert_is(&format!("{name}.md"), &report::markdown(&review));
        assert_is(&format!("{name}.txt"), &report::text(&review));
    }
}

#[test]
fn a_review_that_is_not_completed_says_so() {
    for (status, expected) in [
        (ReviewStatus::Completed, "2 issues that models agree on, the worst high\n"),
        (ReviewStatus::InProgress, "the worst high (the review is in progress)\n"),
        (ReviewStatus::Failed, "the worst high (the review failed)\n"),
    ] {
        let mut review = typical();
        review.review.status = status;
        assert!(report::markdown(&review).contains(expected), "{expected}");
        assert!(report::text(&review).contains(expected), "{expected}");
    }
}

/// The most that a review can have, with texts that grow when they are escaped.
fn enormous() -> RecordedReview {
    let models: Vec<String> =
        (0..20).map(|index| format!("{index:02}{}", "@".repeat(254))).collect();
    let findings = models.iter().flat_map(|model| {
        (0..100).map(move |index| Finding {
            title: "<|@#".repeat(100),
            file_path: "&`/".repeat(1000),
            ..finding(model, &format!("f-{index}"), Severity::High)
        })
    });
    let names: Vec<&str> = models.iter().map(String::as_str).collect();
    let agreed = (0..1000).map(|index| Consensus {
        title: "<|@#".repeat(100),
        merged_description: "<|@#\n".repeat(10_000),
        ..consensus(&format!("c-{index}"), Severity::High, &names, 20)
    });
    review(findings.collect(), agreed.collect())
}

#[test]
fn the_comment_fits_and_says_what_is_left_out() {
    let enormous = enormous();
    let text = report::markdown(&enormous);
    assert!(text.len() <= MARKDOWN_MAX, "{}", text.len());
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    // Rows, details and findings that are shown or counted as left out are all there are.
    let shown = text.matches(" of 20 |").count() + text.matches("\n- high ").count();
    let details = text.matches("</summary>").count() - text.matches(" findings</summary>").count();
    let hidden: usize = left_out(&text).iter().sum();
    assert_eq!(shown + details + hidden, 1000 + 1000 + alone(&enormous));
    let plain = Consensus { merged_description: "d".repeat(900), ..typical().consensus.remove(1) };
    let agreed: Vec<Consensus> = (0..300).map(|_| plain.clone()).collect();
    let found: Vec<Finding> =
        (0..2000).map(|index| finding("m", &format!("f{index}"), Severity::Low)).collect();
    let text = report::markdown(&review(found, agreed));
    assert!(text.len() <= MARKDOWN_MAX && text.len() > MARKDOWN_MAX / 10 * 9, "{}", text.len());
    let shown_details = text.matches("<summary>").count() - 1;
    let shown_findings = text.matches("\n- low ").count();
    assert_eq!(left_out(&text), [300 - shown_details, 2000 - shown_findings]);
    assert!(text.contains("| 300 | high |"));
    assert!(text.contains("\n### Models\n"));
}

/// The numbers of all notes that entries are left out.
fn left_out(text: &str) -> Vec<usize> {
    let notes = text.lines().filter_map(|line| line.strip_prefix("… and ")?.strip_suffix(" more"));
    notes.map(|number| number.replace(',', "").parse().unwrap()).collect()
}

/// Findings of one model only.
fn alone(review: &RecordedReview) -> usize {
    review.findings.iter().filter(|recorded| !recorded.in_consensus).count()
}

#[test]
fn lines_of_the_text_fit_a_terminal() {
    let wide = Finding {
        title: "漢字".repeat(80),
        file_path: "long/".repeat(60),
        ..finding("m", "f-2", Severity::Low)
    };
    for review in [typical(), hostile(), enormous(), review(vec![wide], Vec::new())] {
        let text = report::text(&review);
        for line in text.lines() {
            assert!(line.width() <= REPORT_COLUMNS, "{} columns: {line}", line.width());
        }
        let is_bad = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(is_bad));
    }
}

#[test]
fn text_of_others_forms_no_markup() {
    let text = report::markdown(&hostile());
    let parsed = text.replace("\\[", "").replace("\\]", "").replace("\\`", "");
    let markups =
        ["<script", "<b", "@o", "@x", " #1", "[", "]", "`", "://", "\u{1B}", "\u{202E}", "\n# "];
    for markup in markups {
        assert!(!parsed.contains(markup), "{markup} in {text}");
    }
    // Every row of a table has as many cells as its header.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!([7, 9].contains(&cells(line)), "{line}");
    }
}

#[test]
fn the_worst_issue_counts() {
    let none = review(Vec::new(), Vec::new());
    assert_eq!(report::worst(&none, Agreement::Any), None);
    let typical = typical();
    assert_eq!(report::worst(&typical, Agreement::Consensus), Some(Severity::High));
    assert_eq!(report::worst(&typical, Agreement::Any), Some(Severity::Critical));
    let alone = review(vec![finding("m", "f", Severity::Low)], Vec::new());
    assert_eq!(report::worst(&alone, Agreement::Consensus), None);
    assert_eq!(report::worst(&alone, Agreement::Any), Some(Severity::Low));
}

//! Comments rendered by a real Markdown parser show the texts of others as they are, and nothing else.

use std::io::Write as _;

use weir_reviews::finding::{Finding, Severity};
use weir_reviews::report;
use weir_reviews::review::{Consensus, RecordedReview};

use crate::samples::{consensus, finding, review};
use crate::tools;

/// Texts that mean something in Markdown, HTML or on GitHub.
const FRAGMENTS: &[&str] = &[
    "|",
    "`",
    "``",
    "```",
    "<b>",
    "</details>",
    "</code>",
    "<!--",
    "<?x",
    "@x",
    "#1",
    "[a](b)",
    "![a](b)",
    "[a]: b",
    "*a*",
    "**",
    "_a_",
    "~~a~~",
    "\\",
    "&amp;",
    "&#64;",
    "http://x.y",
    "www.x.yz",
    "<http://x.y>",
    "- a",
    "+ a",
    "1. a",
    "1) a",
    "# a",
    "> a",
    "===",
    "---",
    "$a$",
    "plain",
];

/// Prints the tags of all documents, and then what they show, one line each.
const RENDER: &str = r#"
import json, sys
from html.parser import HTMLParser
from markdown_it import MarkdownIt

markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
tags = set()

class Shown(HTMLParser):
    def __init__(self):
        super().__init__()
        self.text = ""
    def handle_starttag(self, tag, attrs):
        tags.add(tag + "".join(f" {name}" for name, _ in attrs))
        self.text += " " if tag == "br" else ""
    def handle_data(self, data):
        self.text += data

def shown(document):
    parser = Shown()
    parser.feed(markdown.render(document))
    return " ".join(parser.text.replace("\u200b", "").split())

texts = [shown(document) for document in json.load(open(sys.argv[1]))]
print(" ".join(sorted(tags)))
print("\n".join(texts))
"#;

fn rendered(documents: &[String]) -> (String, Vec<String>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(file, "{}", serde_json::to_string(documents).unwrap()).unwrap();
    let mut command = tools::program("python");
    let output = tools::output(command.args(["-c", RENDER]).arg(file.path()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let tags = lines.remove(0);
    (tags, lines)
}

/// A review with the texts in each place where a report has texts of others.
fn review_of(first: &str, second: &str) -> RecordedReview {
    let title = format!("{first}{second} {first}");
    let alone = Finding {
        title: title.clone(),
        description: format!("{first}\n{second}"),
        suggestion: Some(format!("{second}\n\n{first}")),
        file_path: format!("{second}{first}"),
        ..finding("m", "f-2", Severity::Low)
    };
    let agreed = Consensus {
        title,
        merged_description: format!("{second}\n{first}{second}\n\n{first} {second}"),
        file_path: format!("{first}{second}"),
        ..consensus("c", Severity::High, &["m", "n"], 2)
    };
    review(vec![alone], vec![agreed])
}

/// What a reader should see of it.
fn expected(first: &str, second: &str) -> String {
    let (a, b) = (first, second);
    [
        "1 issue that models agree on, high 1 finding, $0.0089, 1 model: m",
        "Severity Where Issue Models Confidence",
        &format!("1 high {a}{b}:45-52 {a}{b} {a} 2 of 2 high"),
        &format!("1. {a}{b} {a} {b} {a}{b} {a} {b} Found by: m, n"),
        &format!(
            "Found by one model only m: 1 finding low {b}{a}:45-52 {a}{b} {a} {a} {b} Suggestion: {b} {a}"
        ),
        "Models Model Status Findings In consensus Cost Latency Input tokens Output tokens",
        "m success 1 0 $0.0089 12.5 s 15,420 2,340",
    ]
    .join(" ")
}

#[test]
fn texts_of_others_are_shown_as_they_are() {
    let pairs =
        || FRAGMENTS.iter().flat_map(|first| FRAGMENTS.iter().map(move |second| (first, second)));
    let documents: Vec<String> =
        pairs().map(|(first, second)| report::markdown(&review_of(first, second))).collect();
    let (tags, texts) = rendered(&documents);
    assert_eq!(
        tags,
        "br code details h2 h3 li p summary table tbody td td style th th style thead tr ul"
    );
    assert_eq!(texts.len(), documents.len());
    for ((first, second), text) in pairs().zip(&texts) {
        assert_eq!(*text, expected(first, second), "{first} {second}");
    }
}

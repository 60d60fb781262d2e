//! The sample service of `docs/add-a-route.md`, compiled, run, and compared with that page.
#![expect(unreachable_pub, reason = "a sample, in a test")]

mod command;
mod notes;
mod story;

/// What the page promises.
const LINES_MAX: usize = 150;
const FILES: [(&str, &str); 3] = [
    ("notes.rs", include_str!("notes.rs")),
    ("command.rs", include_str!("command.rs")),
    ("story.rs", include_str!("story.rs")),
];
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/add-a-route.md");

#[test]
fn the_page_shows_the_sample_as_it_is() {
    let mut page = std::fs::read_to_string(PAGE).unwrap();
    for (name, text) in FILES {
        let begin = format!("<!-- {name} -->\n```rust\n");
        let at =
            page.find(&begin).unwrap_or_else(|| panic!("the page has no {name}")) + begin.len();
        let end = at + page[at..].find("```\n").unwrap();
        if std::env::var_os("WEIR_TEST_BLESS").is_some() {
            page.replace_range(at..end, text);
            std::fs::write(PAGE, &page).unwrap();
        } else {
            assert!(&page[at..end] == text, "{name} differs; WEIR_TEST_BLESS=1 rewrites the page");
        }
    }
}

#[test]
fn the_sample_is_small() {
    let lines: usize = FILES
        .iter()
        .map(|(_, text)| text.lines().filter(|line| !line.trim().is_empty()).count())
        .sum();
    assert!(lines < LINES_MAX, "{lines} lines");
}

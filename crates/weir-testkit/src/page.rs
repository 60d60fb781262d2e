//! `docs/cost.md`, and the parts of it that are measured. With `WEIR_TEST_BLESS=1` they are rewritten.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::string_slice,
    clippy::missing_panics_doc,
    reason = "for tests: a failure here is a failed test"
)]

/// The page of what things cost.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cost.md");
const END: &str = "<!-- end -->";

/// The page as it is and as it should be.
#[derive(Debug)]
pub struct Page {
    text: String,
    wrong: Vec<String>,
}

impl Page {
    /// Reads the page.
    #[must_use]
    pub fn open() -> Page {
        Page { text: std::fs::read_to_string(PAGE).expect("the page"), wrong: Vec::new() }
    }

    /// The part of this name should be these lines; they are written there where that is wanted.
    pub fn shows(&mut self, part: &str, lines: &[String]) {
        let mark = format!("<!-- measured: {part} -->\n");
        let at = self.text.find(&mark).unwrap_or_else(|| panic!("the page has no {mark}"));
        let at = at + mark.len();
        let end = at + self.text[at..].find(END).expect("its end");
        let measured = format!("\n{}\n\n", lines.join("\n"));
        if self.text[at..end] != measured {
            self.wrong.push(format!("{part} is{measured}and not{}", &self.text[at..end]));
            self.text.replace_range(at..end, &measured);
            if std::env::var_os("WEIR_TEST_BLESS").is_some() {
                std::fs::write(PAGE, &self.text).expect("the page");
            }
        }
    }

    /// Fails if the page was wrong and has not been rewritten.
    pub fn close(self) {
        assert!(
            self.wrong.is_empty() || std::env::var_os("WEIR_TEST_BLESS").is_some(),
            "docs/cost.md shows something else (WEIR_TEST_BLESS=1 rewrites it):\n{}",
            self.wrong.join("\n")
        );
    }
}

//! The only file that prints. Results go to stdout; notes and failures to stderr.
//!
//! Colours are for terminals only (`NO_COLOR` and `CLICOLOR_FORCE` are heeded). A value from a
//! table is printed with its control characters and invisible ones escaped, so that data can neither steer a
//! terminal nor look like other data.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use console::{Term, style};
use serde::Serialize;
use weir_api::Page;

use crate::layout::{Content, Style};

/// Prints a line of the result.
pub fn line(text: impl AsRef<str>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.as_ref())?;
    out.flush()
}

/// Prints a document as it is, with a line break at its end.
pub fn bytes(document: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(document)?;
    if !document.ends_with(b"\n") {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Whether results go to a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a result as JSON.
pub fn json(answer: &impl Serialize) -> io::Result<()> {
    line(serde_json::to_string_pretty(answer).map_err(io::Error::other)?)
}

/// Prints a whole list as JSON, in the form of the API's lists.
pub fn list<T: Serialize>(items: Vec<T>) -> io::Result<()> {
    json(&Page { items, next_cursor: None })
}

/// Prints a table for people, as wide as the terminal. `numbers` are the columns to align on the right.
pub fn table(
    header: Vec<String>,
    rows: impl IntoIterator<Item = Vec<String>>,
    numbers: &[usize],
) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let style = Style { width: width(), colours: console::colors_enabled() };
    let drawn = Content { header: &header, rows: &rows, numbers }.draw(style);
    line(drawn.text)?;
    if drawn.is_cut {
        note(
            "a word ends with … because it is longer than a line; --json and pipes have all of it",
        );
    }
    Ok(())
}

/// The width for tables: what `COLUMNS` says, or the terminal. Other programs get every row on one line.
fn width() -> Option<usize> {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let term = Term::stdout();
    let shown = || term.is_term().then(|| usize::from(term.size().1));
    asked.or_else(shown).filter(|width| *width > 0)
}

/// Prints a line about a check that passed.
pub fn good(text: &str) -> io::Result<()> {
    line(format!("{} {}", style("✓").green(), printable(text)))
}

/// Prints a line about a warning.
pub fn warning(text: &str) -> io::Result<()> {
    line(format!("{} {}", style("!").yellow().bold(), printable(text)))
}

/// Prints a line about a problem.
pub fn wrong(text: &str) -> io::Result<()> {
    line(format!("{} {}", style("✗").red().bold(), printable(text)))
}

/// Prints a note, which is not part of the result.
pub fn note(text: impl AsRef<str>) {
    writeln!(io::stderr().lock(), "{}", text.as_ref()).ok();
}

/// Maximum length of the user's reply in bytes.
const REPLY_MAX: u64 = 100;

/// Asks for confirmation on the terminal. Returns none without a terminal.
pub fn confirmed(question: &str) -> io::Result<Option<bool>> {
    let (reader, mut err) = (io::stdin(), io::stderr().lock());
    if !reader.is_terminal() || !err.is_terminal() {
        return Ok(None);
    }
    write!(err, "{} [y/N] ", printable(question))?;
    err.flush()?;
    let mut reply = String::new();
    reader.lock().take(REPLY_MAX).read_line(&mut reply)?;
    let reply = reply.trim().to_lowercase();
    Ok(Some(reply == "y" || reply == "yes"))
}

/// Prints a failure and its suggestion.
pub fn failure(message: &str, causes: &[String], help: Option<&str>) {
    let mut err = io::stderr().lock();
    let label = style("error:").red().bold().for_stderr();
    writeln!(err, "{label} {}", printable(message)).ok();
    for cause in causes {
        writeln!(err, "  {} {}", style("-").dim().for_stderr(), printable(cause)).ok();
    }
    if let Some(help) = help {
        let label = style("help:").cyan().bold().for_stderr();
        writeln!(err, "{label} {}", printable(help)).ok();
    }
}

/// Prints a failure as JSON, to stderr like every failure.
pub fn problem(problem: &serde_json::Value) {
    let text = serde_json::to_string_pretty(problem).unwrap_or_default();
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// `text` with control characters and invisible format characters escaped.
pub fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escaped = (c.is_control() || is_format(c)).then(|| c.escape_default());
            let kept = escaped.is_none().then_some(c);
            escaped.into_iter().flatten().chain(kept)
        })
        .collect()
}

/// Whether a character is invisible and changes how others look: it turns their direction, joins or breaks them, or stands between
/// them unseen.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// The beginning of `text`, in at most `max` characters; what is cut is shown as `…`.
pub fn cut(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A number with thousands separators.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value that serialises as one word, such as a state; empty if it does not.
pub fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// `yes` or `no`.
pub fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// `1 item`, `2 items`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_easily() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(counted(1, "item"), "1 item");
        assert_eq!(counted(2, "item"), "2 items");
    }

    #[test]
    fn what_steers_a_terminal_or_hides_is_escaped() {
        for (text, expected) in [
            ("plain häuser 日本 🎉", "plain häuser 日本 🎉"),
            ("a\u{1b}[2Jb\n", "a\\u{1b}[2Jb\\n"),
            ("\u{85}", "\\u{85}"),
            ("txt.\u{202e}exe", "txt.\\u{202e}exe"),
            ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(printable(text), expected);
        }
    }

    #[test]
    fn long_text_is_cut_by_characters() {
        assert_eq!(cut("häuser", 6), "häuser");
        assert_eq!(cut("häuser", 5), "häus…");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\tç"), "a\\u{1b}[31mb\\tç");
    }
}

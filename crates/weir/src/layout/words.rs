//! Wrapping at spaces, by the width on a terminal.

use super::width;

/// Lines of a text.
#[derive(Debug, Default)]
pub(super) struct Wrapped {
    pub(super) lines: Vec<String>,
    /// Whether a word was longer than a line, and was cut.
    pub(super) is_cut: bool,
}

/// The text in lines of at most `max`; none if it is empty.
pub(super) fn wrap(text: &str, max: usize) -> Wrapped {
    if width(text) <= max {
        let lines = if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
        return Wrapped { lines, is_cut: false };
    }
    let mut wrapped = Wrapped::default();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let fits = width(&line) + 1 + width(word) <= max;
        if !line.is_empty() && !fits {
            wrapped.lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        wrapped.is_cut |= width(word) > max;
        line.push_str(&cut(word, max));
    }
    wrapped.lines.push(line);
    wrapped
}

/// Short texts in lines of at most `max`, several on a line, each whole where it fits.
pub(super) fn flow(texts: &[String], max: usize) -> Wrapped {
    let mut flowed = Wrapped::default();
    let mut line = String::new();
    for text in texts {
        let fits = width(&line) + BETWEEN.len() + width(text) <= max;
        if !line.is_empty() && fits {
            line.push_str(BETWEEN);
            line.push_str(text);
            continue;
        }
        flowed.lines.extend(Some(std::mem::take(&mut line)).filter(|line| !line.is_empty()));
        let mut wrapped = wrap(text, max);
        flowed.is_cut |= wrapped.is_cut;
        line = wrapped.lines.pop().unwrap_or_default();
        flowed.lines.extend(wrapped.lines);
    }
    flowed.lines.extend(Some(line).filter(|line| !line.is_empty()));
    flowed
}

/// Between two texts on a line.
const BETWEEN: &str = ", ";

/// The beginning of a word that is longer than `max`, with `…` for the rest.
pub(super) fn cut(word: &str, max: usize) -> String {
    console::truncate_str(word, max, "…").into_owned()
}

/// The width of the longest word.
pub(super) fn longest(text: &str) -> usize {
    text.split(' ').map(width).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_at_spaces() {
        for (text, lines) in [
            ("", &[][..]),
            ("one", &["one"]),
            ("one two", &["one two"]),
            ("one two three", &["one two", "three"]),
            ("one  two threefour", &["one two", "threef…"]),
            ("家家 家家", &["家家", "家家"]),
        ] {
            assert_eq!(wrap(text, 7).lines, lines, "{text}");
        }
        assert!(wrap("x threefour", 7).is_cut && !wrap("three four", 7).is_cut);
    }

    #[test]
    fn short_texts_share_a_line() {
        let texts = ["a: 1", "b: 2", "c: a longer text here", "d: 3"].map(str::to_owned);
        assert_eq!(flow(&texts, 14).lines, ["a: 1, b: 2", "c: a longer", "text here", "d: 3"]);
    }
}

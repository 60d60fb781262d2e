//! Cuts texts into tokens: stemmed words, those of identifiers too, and the concepts that words stand for.

use super::concepts::concepts;
use super::stem::stem;
use crate::bounds::COMPARED_TEXT_MAX;

/// Letters of a stem that count: `validate` and `validation` differ only after them. Names with digits count whole.
const WORD_LETTERS: usize = 5;

/// A part of a text that another text may have too.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Token {
    /// The beginning of a stemmed word.
    Word(String),
    /// What a word stands for, which others may call differently.
    Concept(usize),
}

/// Calls `visit` with every token of the beginning of `text`, repeated ones too.
pub(super) fn tokens(text: &str, mut visit: impl FnMut(Token)) {
    let text = text.get(..text.floor_char_boundary(COMPARED_TEXT_MAX)).unwrap_or(text);
    for name in text.split(|c: char| !c.is_alphanumeric()) {
        visit_words(name, &mut visit);
    }
}

/// The words that a name is made of: `maxRetries` has `max` and `retry`.
fn visit_words(name: &str, visit: &mut impl FnMut(Token)) {
    let mut rest = name;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(word_end(rest));
        let word = word.to_lowercase();
        if is_meaningful(&word) {
            visit_word(&word, visit);
        }
        rest = after;
    }
}

fn visit_word(word: &str, visit: &mut impl FnMut(Token)) {
    let mut stem = stem(word);
    for &concept in concepts(&stem) {
        visit(Token::Concept(concept));
    }
    if stem.bytes().all(|b| b.is_ascii_lowercase()) {
        stem.truncate(WORD_LETTERS);
    }
    visit(Token::Word(stem));
}

/// Where the first word of a name ends: `max` of `maxRetries`, `md5` of `md5sum`.
fn word_end(name: &str) -> usize {
    let mut before = None;
    let is_start = |c: char| match before.replace(c) {
        None => false,
        Some(a) if a.is_lowercase() => !c.is_lowercase() && !c.is_numeric(),
        Some(a) => a.is_numeric() && !c.is_numeric(),
    };
    name.find(is_start).unwrap_or(name.len())
}

fn is_meaningful(word: &str) -> bool {
    word.len() > 1 && COMMON_WORDS.binary_search(&word).is_err()
}

/// Words of any text and of any review, sorted.
#[rustfmt::skip]
const COMMON_WORDS: &[&str] = &[
    "able", "about", "after", "again", "all", "allow", "allowed", "allows", "also", "an", "and",
    "any", "are", "as", "at", "be", "because", "been", "before", "being", "between", "both",
    "but", "by", "can", "cause", "causes", "consider", "could", "did", "do", "does", "done",
    "down", "during", "each", "else", "ensure", "every", "few", "for", "from", "had", "has",
    "have", "having", "he", "here", "how", "if", "in", "insecure", "instead", "into", "is",
    "issue", "issues", "it", "its", "just", "lead", "leads", "make", "makes", "may", "might",
    "more", "most", "must", "need", "needed", "needs", "no", "nor", "not", "of", "off", "on",
    "once", "one", "only", "or", "other", "our", "out", "over", "own", "per", "possible",
    "possibly", "potential", "potentially", "recommend", "recommended", "same", "secure", "shall",
    "she", "should", "since", "so", "some", "such", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until",
    "up", "use", "used", "uses", "using", "very", "via", "was", "we", "were", "what", "when",
    "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "without", "would",
    "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        tokens(text, |token| {
            if let Token::Word(word) = token {
                all.push(word);
            }
        });
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn identifiers_are_cut_into_words() {
        assert_eq!(all("the map `u` of a `Cache`"), ["cach", "map"]);
        assert_eq!(all("maxRetries"), ["max", "retry"]);
        assert_eq!(all("user_id."), ["id", "user"]);
        assert_eq!(all("Vec::new"), ["new", "vec"]);
        assert_eq!(all("int() fails"), ["fail", "int"]);
        assert_eq!(all("validate the validation"), ["valid"]);
        assert_eq!(all("item1234 item1235"), ["item1234", "item1235"]);
        assert_eq!(all("MD5, 404."), ["404", "md5"]);
        assert_eq!(all("größer_zahl 漢字"), ["größer", "zahl", "漢字"]);
    }

    #[test]
    fn any_text_has_an_end() {
        for text in ["", "`", "```", "a.", "_", "__", "::", "->_->", "a.b.", "é.é", "...x"] {
            tokens(text, drop);
        }
        let long = "ä".repeat(COMPARED_TEXT_MAX);
        assert_eq!(all(&long), ["ä".repeat(COMPARED_TEXT_MAX / 2)]);
    }

    #[test]
    fn common_words_are_sorted_and_no_tokens() {
        assert!(COMMON_WORDS.is_sorted());
        assert_eq!(all("it is not `the` one"), [""; 0]);
    }
}

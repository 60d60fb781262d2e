//! Cuts texts into tokens: stemmed words, concepts, and identifiers of code.

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
    /// An identifier: strong evidence, because few texts name it by chance.
    Code(String),
}

/// Calls `visit` with every token of the beginning of `text`, repeated ones too.
pub(super) fn tokens(text: &str, mut visit: impl FnMut(Token)) {
    let text = text.get(..text.floor_char_boundary(COMPARED_TEXT_MAX)).unwrap_or(text);
    for (at, piece) in text.split('`').enumerate() {
        let is_quoted = at % 2 == 1;
        let mut rest = piece;
        while let Some((name, after)) = next_name(rest) {
            if is_code(name, is_quoted || after.starts_with('(')) {
                visit_code(name, &mut visit);
            }
            visit_words(name, &mut visit);
            rest = after;
        }
    }
}

/// The next name with its dots, colons and arrows, like `self.map` and `Vec::new`, and the text after it.
fn next_name(text: &str) -> Option<(&str, &str)> {
    let start = text.find(is_name)?;
    let text = text.get(start..)?;
    let mut end = 0;
    loop {
        let rest = text.get(end..)?;
        end += rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let Some(more) = text.get(end..).and_then(connector) else { break };
        end += more;
    }
    Some(text.split_at(end))
}

/// Length of the connector that `text` begins with, if a name follows it.
fn connector(text: &str) -> Option<usize> {
    let length = match text.as_bytes() {
        [b'.', ..] => 1,
        [b':', b':', ..] | [b'-', b'>', ..] => 2,
        _ => return None,
    };
    let next = text.get(length..)?.chars().next()?;
    (next.is_alphabetic() || next == '_').then_some(length)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A path, `snake_case`, `camelCase`, or a name in backticks or before a parenthesis.
fn is_code(name: &str, is_marked: bool) -> bool {
    if name.starts_with(|c: char| c.is_numeric()) {
        return false;
    }
    let is_path_or_snake = || name.trim_matches('_').contains(['.', ':', '>', '_']);
    let is_camel = || word_end(name) < name.len();
    is_marked || is_path_or_snake() || is_camel()
}

/// The whole name, and the parts of a path.
fn visit_code(name: &str, visit: &mut impl FnMut(Token)) {
    let name = name.to_lowercase();
    let parts = name.split(['.', ':', '-', '>']).filter(|part| part.len() < name.len());
    for part in parts.chain([name.as_str()]).filter(|part| is_meaningful(part)) {
        visit(Token::Code(part.to_owned()));
    }
}

/// The words that a name is made of: `maxRetries` has `max` and `retry`.
fn visit_words(name: &str, visit: &mut impl FnMut(Token)) {
    let mut rest = name;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(word_end(rest));
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if is_meaningful(&word) {
            let mut stem = stem(&word);
            for &concept in concepts(&stem) {
                visit(Token::Concept(concept));
            }
            if stem.bytes().all(|b| b.is_ascii_lowercase()) {
                stem.truncate(WORD_LETTERS);
            }
            visit(Token::Word(stem));
        }
        rest = after;
    }
}

/// Where the first word of a name ends: `max` of `maxRetries` and `max_retries`, `md5` of `md5sum`.
fn word_end(name: &str) -> usize {
    let mut before = None;
    let is_start = |c: char| match before.replace(c) {
        None => false,
        Some(a) if a.is_lowercase() => !c.is_lowercase() && !c.is_numeric(),
        Some(a) if a.is_numeric() => !c.is_numeric(),
        Some(a) => !a.is_alphabetic(),
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

    fn all(text: &str) -> Vec<Token> {
        let mut all = Vec::new();
        tokens(text, |token| all.push(token));
        all.retain(|token| !matches!(token, Token::Concept(_)));
        all.sort();
        all.dedup();
        all
    }

    fn of(words: &[&str], code: &[&str]) -> Vec<Token> {
        let words = words.iter().map(|&word| Token::Word(word.to_owned()));
        words.chain(code.iter().map(|&name| Token::Code(name.to_owned()))).collect()
    }

    #[test]
    fn names_of_code_are_tokens_beside_their_words() {
        assert_eq!(all("the map `u` of a `Cache`"), of(&["cach", "map"], &["cache"]));
        assert_eq!(all("maxRetries"), of(&["max", "retry"], &["maxretries"]));
        assert_eq!(all("user_id."), of(&["id", "user"], &["user_id"]));
        assert_eq!(all("Vec::new"), of(&["new", "vec"], &["new", "vec", "vec::new"]));
        assert_eq!(all("int() fails"), of(&["fail", "int"], &["int"]));
        assert_eq!(all("validate the validation"), of(&["valid"], &[]));
        assert_eq!(all("item1234 item1235"), of(&["item1234", "item1235"], &[]));
        assert_eq!(all("MD5, 404."), of(&["404", "md5"], &[]));
        assert_eq!(all("größer_zahl 漢字"), of(&["größer", "zahl", "漢字"], &["größer_zahl"]));
    }

    #[test]
    fn any_text_has_an_end() {
        for text in ["", "`", "```", "a.", "_", "__", "::", "->_->", "a.b.", "é.é", "...x"] {
            tokens(text, drop);
        }
        let long = "ä".repeat(COMPARED_TEXT_MAX);
        assert_eq!(all(&long), of(&[&"ä".repeat(COMPARED_TEXT_MAX / 2)], &[]));
    }

    #[test]
    fn common_words_are_sorted_and_no_tokens() {
        assert!(COMMON_WORDS.is_sorted());
        assert_eq!(all("it is not `the` one"), []);
    }
}

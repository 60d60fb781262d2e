//! Light stemming: words of one family become one token.
//!
//! It need not find real stems, only be the same for `logs`, `logged` and `logging`.

/// Shortest word that is cut.
const WORD_MIN: usize = 4;
/// Shortest rest that a cut may leave.
const STEM_MIN: usize = 3;

/// The first of these endings that a word has is cut. `-er` and `-ment` stay: a handler is not what is handled.
const ENDINGS: &[&str] = &["ings", "ing", "ed", "ions", "ion", "able", "ible", "ly", "s"];

/// The stem of a lower-case word.
pub(super) fn stem(word: &str) -> String {
    if word.len() < WORD_MIN || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    // As in British English, so that `sanitize` is `sanitise`.
    let mut stem = word.replace("iz", "is");
    cut_ending(&mut stem);
    cut_last_letter(&mut stem);
    stem
}

fn cut_ending(word: &mut String) {
    if word.ends_with("ss") {
        return;
    }
    let fits = |ending: &str| word.ends_with(ending) && word.len() >= ending.len() + STEM_MIN;
    if let Some(ending) = ENDINGS.iter().find(|ending| fits(ending)) {
        word.truncate(word.len() - ending.len());
    }
}

/// `logg` becomes `log`, `cache` `cach` as `caching` does, and `retri` `retry`.
fn cut_last_letter(word: &mut String) {
    let is_double = |word: &str| match word.as_bytes() {
        [.., a, b] => a == b && !b"aeiouls".contains(b),
        _ => false,
    };
    if word.len() > STEM_MIN && is_double(word) {
        word.pop();
    }
    if word.len() > STEM_MIN && word.ends_with('e') {
        word.pop();
    }
    if word.len() > STEM_MIN && word.ends_with('i') {
        word.pop();
        word.push('y');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_family_have_one_stem() {
        for family in [
            &["log", "logs", "logged", "logging"][..],
            &["cache", "cached", "caching", "caches"],
            &["retry", "retries", "retried"],
            &["sanitise", "sanitize", "sanitized", "sanitizing"],
            &["authorise", "authorized", "authorizing"],
            &["interpolate", "interpolated", "interpolation", "interpolations"],
        ] {
            let stems: Vec<_> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{stems:?}");
        }
    }

    #[test]
    fn short_words_names_and_other_scripts_stay() {
        for word in ["sql", "md5", "class", "größer", "キー", ""] {
            assert_eq!(stem(word), word);
        }
    }
}

//! Names that people choose and others read, in lists and audit trails.
//!
//! A name has no characters that have no form of their own: they could hide a part of it, or show it in another order
//! (U+202E), so that one name looks like another or like the text around it.

/// Characters that have no form of their own: controls, format characters (the category Cf of Unicode), and the separators of
/// lines and paragraphs.
fn is_formless(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
            | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// The name without spaces around it.
///
/// # Errors
/// It is empty, longer than `characters_max` with them, or has a character without a form; the text says what it must be.
pub fn checked_name(name: &str, characters_max: usize) -> Result<&str, String> {
    let trimmed = name.trim();
    let is_too_long = name.chars().nth(characters_max).is_some();
    if trimmed.is_empty() || is_too_long || name.chars().any(is_formless) {
        return Err(format!(
            "must have 1 to {characters_max} characters, not only spaces and none that is invisible or changes the order of \
             the text, such as a control character"
        ));
    }
    Ok(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_it_looks_like() {
        for (name, expected) in [
            ("ada", "ada"),
            (" Ada Lovelace ", "Ada Lovelace"),
            ("<img src=x>", "<img src=x>"),
            ("Jürgen Åström 李 Ольга ليلى नेहा", "Jürgen Åström 李 Ольга ليلى नेहा"),
            ("🦀", "🦀"),
        ] {
            assert_eq!(checked_name(name, 64), Ok(expected));
        }
        for name in [
            "",
            "  ",
            "\u{a0}",
            "a\nb",
            "a\u{9b}b",
            "ada\u{200b}",
            "\u{200d}",
            "ada\u{202e}nimda",
            "\u{2066}ada\u{2069}",
            "a\u{2028}b",
            "\u{feff}ada",
            "ada\u{e0041}",
        ] {
            assert!(checked_name(name, 64).is_err(), "{name:?}");
        }
        assert!(checked_name(&"🦀".repeat(64), 64).is_ok());
        assert!(checked_name(&"a".repeat(65), 64).is_err());
    }
}

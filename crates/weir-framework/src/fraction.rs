//! JSON with `7` for `7.0`. Everything else stays as written, mistakes included, so that the parser still finds them.

/// Removes fractions that consist of zeros.
pub(crate) fn without_empty_fractions(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        let length = match first {
            b'"' => string_length(rest),
            b'0'..=b'9' => rest.iter().take_while(|byte| is_of_number(**byte)).count(),
            _ => 1,
        };
        let (part, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        kept.extend_from_slice(whole(part));
        rest = after;
    }
    kept
}

/// Bytes of the string that begins here, its quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')
}

/// A number without its fraction, if that has nothing but zeros; anything else as it is.
fn whole(part: &[u8]) -> &[u8] {
    let point = part.iter().position(|byte| *byte == b'.');
    let Some((number, [b'.', zeros @ ..])) = point.and_then(|at| part.split_at_checked(at)) else {
        return part;
    };
    let digits = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let empty = !zeros.is_empty() && zeros.iter().all(|byte| *byte == b'0');
    if digits && empty { number } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        String::from_utf8(without_empty_fractions(text.as_bytes())).unwrap()
    }

    #[test]
    fn fractions_of_zeros_go() {
        assert_eq!(read(r#"{"a": 7.0, "b": [-1.000, 0.0]}"#), r#"{"a": 7, "b": [-1, 0]}"#);
        assert_eq!(read("10.0"), "10");
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "7.5",
            "7.05",
            "7.0e3",
            "7.",
            ".0",
            "7.0.0",
            r#""7.0""#,
            r#""\" 7.0""#,
            r#"{"a\\": "1.0", "1.0": 2}"#,
            r#""\"#,
            "{\"a\": x.0",
        ] {
            assert_eq!(read(text), text);
        }
    }
}

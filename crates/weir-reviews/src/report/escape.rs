//! Makes texts of models and tools harmless in Markdown and in a terminal. They may quote code, or be written to deceive.

/// Puts no space between characters, but ends a name after `@` and a link.
const ZERO_WIDTH_SPACE: &str = "&#8203;";

/// One line of Markdown that shows `text` as it is: no formatting, link, HTML, mention or issue reference.
pub(crate) fn inline(text: &str) -> String {
    let line = one_line(text);
    let mut escaped = String::with_capacity(line.len() + line.len() / 8);
    let mut before = "";
    let mut rest = line.as_str();
    while let Some(c) = rest.chars().next() {
        let (this, after) = rest.split_at(c.len_utf8());
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '@' | '#' => {
                // A line that begins with `#` is a heading.
                escaped.push_str(if c == '#' && before.is_empty() { "\\" } else { "" });
                escaped.push(c);
                escaped.push_str(ZERO_WIDTH_SPACE);
            }
            ':' if after.starts_with("//") => {
                escaped.push(c);
                escaped.push_str(ZERO_WIDTH_SPACE);
            }
            '.' if ends_with_www(before) => {
                escaped.push_str(ZERO_WIDTH_SPACE);
                escaped.push(c);
            }
            // Lists, rules and underlined headings.
            '-' | '+' | '=' if before.is_empty() => {
                escaped.push('\\');
                escaped.push(c);
            }
            '.' | ')' if !before.is_empty() && before.bytes().all(|b| b.is_ascii_digit()) => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
        before = line.get(..before.len() + this.len()).unwrap_or_default();
        rest = after;
    }
    escaped
}

/// Several lines of Markdown, as [`inline`], with the line breaks and paragraphs of `text`.
pub(crate) fn block(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut was_blank = true;
    for line in text.lines().map(inline) {
        if line.is_empty() {
            was_blank = true;
            continue;
        }
        if was_blank && !lines.is_empty() {
            lines.push(String::new());
        } else if let Some(last) = lines.last_mut() {
            // Ends the line, not the paragraph.
            last.push('\\');
        }
        was_blank = false;
        lines.push(line);
    }
    lines.join("\n")
}

/// A cell of a table or a part of a line that shows `text` as code.
pub(crate) fn code(text: &str) -> String {
    format!("<code>{}</code>", inline(text))
}

/// HTML that shows `text` as it is, whether Markdown is read in it or not.
pub(crate) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        if c.is_ascii_punctuation() && !matches!(c, ',' | '-' | '/') {
            escaped.push_str(&format!("&#{};", u32::from(c)));
        } else {
            escaped.push(c);
        }
        if matches!(c, '@' | '#' | ':') {
            escaped.push_str(ZERO_WIDTH_SPACE);
        }
    }
    escaped
}

/// The text in one line, without characters that control a terminal or the direction of writing.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !turns_text(*c)) {
        let is_blank = c.is_whitespace() || c.is_control();
        if !is_blank {
            line.push(c);
        } else if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Characters that show text in another order than it has, and could make code look harmless.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn ends_with_www(text: &str) -> bool {
    let end = text.len().checked_sub(3).and_then(|start| text.get(start..));
    end.is_some_and(|end| end.eq_ignore_ascii_case("www"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_of_others_is_shown_and_not_read() {
        for (text, expected) in [
            ("plain text, as it is (1)", "plain text, as it is (1)"),
            ("a|b", "a\\|b"),
            ("`rm -rf`", "\\`rm -rf\\`"),
            ("<img src=x> & <!--", "&lt;img src=x&gt; &amp; &lt;!--"),
            ("ask @octocat", "ask @&#8203;octocat"),
            ("closes #12", "closes #&#8203;12"),
            ("# no heading", "\\#&#8203; no heading"),
            ("- no item", "\\- no item"),
            ("1. no item", "1\\. no item"),
            ("=====", "\\====="),
            ("two\n\n lines\r\n", "two lines"),
            ("[x](http://x)", "\\[x\\](http:&#8203;//x)"),
            ("![x](y)", "!\\[x\\](y)"),
            ("see WWW.x.com", "see WWW&#8203;.x.com"),
            ("**b** _i_ ~s~ $m$", "\\*\\*b\\*\\* \\_i\\_ \\~s\\~ \\$m\\$"),
            ("c:\\", "c:\\\\"),
            ("a\u{202E}b\u{1B}[31m", "ab \\[31m"),
        ] {
            assert_eq!(inline(text), expected, "{text}");
        }
        assert_eq!(html("<b>@x, #1"), "&#60;b&#62;&#64;&#8203;x, &#35;&#8203;1");
    }

    #[test]
    fn lines_and_paragraphs_stay() {
        assert_eq!(block("\n a\nb\n\n\n    c | d\n"), "a\\\nb\n\nc \\| d");
        assert_eq!(block("```\n<x>\n```"), "\\`\\`\\`\\\n&lt;x&gt;\\\n\\`\\`\\`");
        assert_eq!(block(" \n"), "");
    }
}

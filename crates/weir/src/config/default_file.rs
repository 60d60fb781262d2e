//! The default file: every key with its meaning and default, generated from the types. All lines are
//! comments, so that a copy of it follows the defaults of later versions.

use std::fmt::Write as _;

use super::keys::{self, Key};

const HEAD: &str = "\
# The configuration of Weir, with every key and its default.
#
# Weir reads ./weir.toml if it exists, or the file given with --config or WEIR_CONFIG. To change a
# value, remove the # before its key. Environment variables override this file, and flags override
# both; `weir config` shows the values in effect and their origins.
";

/// The text of the default file.
pub(crate) fn default_file() -> String {
    let mut text = HEAD.to_owned();
    for section in keys::sections() {
        text.push('\n');
        for line in section.doc {
            comment(&mut text, line.trim());
        }
        writeln!(text, "[{}]", section.name).ok();
        for key in &section.keys {
            entry(&mut text, key);
        }
    }
    text
}

fn entry(text: &mut String, key: &Key) {
    text.push('\n');
    for line in key.doc() {
        comment(text, line);
    }
    let flag = key.flag().map(|flag| format!(", flag {flag}"));
    comment(text, &format!("Variable {}{}.", key.variable, flag.unwrap_or_default()));
    match key.default() {
        Some(value) => writeln!(text, "#{} = {value}", key.name),
        None => writeln!(text, "#{} =", key.name),
    }
    .ok();
}

fn comment(text: &mut String, line: &str) {
    writeln!(text, "# {line}").ok();
}

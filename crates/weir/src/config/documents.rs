//! Checks that `docs/configuration.md` matches the types. With `WEIR_TEST_BLESS=1` it is rewritten.

use std::fmt::Write as _;
use std::path::Path;

use super::keys;

const BEGIN: &str = "<!-- keys: generated from the types -->\n";
const END: &str = "<!-- end of keys -->\n";

/// The keys as tables, one per section.
fn tables() -> String {
    let mut text = String::new();
    for section in keys::sections() {
        let about: Vec<_> = section.doc.iter().map(|line| line.trim()).collect();
        writeln!(text, "\n### `[{}]`\n\n{}\n", section.name, about.join(" ")).unwrap();
        writeln!(text, "| key | default | variable, flag | meaning |\n|---|---|---|---|").unwrap();
        for key in &section.keys {
            let default = key.default().map(|value| format!("`{value}`"));
            let flag = key.flag().map(|flag| format!(", `{flag}`"));
            let meaning: Vec<_> = key.doc().collect();
            writeln!(
                text,
                "| `{}` | {} | `{}`{} | {} |",
                key.name,
                default.unwrap_or_default(),
                key.variable,
                flag.unwrap_or_default(),
                meaning.join(" ")
            )
            .unwrap();
        }
    }
    text + "\n"
}

#[test]
fn the_documentation_lists_every_key_as_it_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    if std::env::var_os("WEIR_TEST_BLESS").is_some() {
        std::fs::write(&file, [before, BEGIN, &tables(), END, after].concat()).unwrap();
        return;
    }
    assert_eq!(listed, tables());
}

//! Texts of flags: as they are, from a file, or from standard input.

use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::parse;

/// Reads the texts of a command's flags. Only one of them can be standard input.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// The flag that took standard input.
    standard_input: Option<&'static str>,
}

impl Texts {
    /// The text of a flag: itself, `@FILE`, or `-` for standard input.
    pub(super) fn text(
        &mut self,
        flag: &'static str,
        text: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let Some(text) = text else { return Ok(None) };
        self.check(flag, text)?;
        parse::argument(text).map(Some)
    }

    /// The content of a flag's file; `-` is standard input.
    pub(super) fn file(
        &mut self,
        flag: &'static str,
        file: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let Some(file) = file else { return Ok(None) };
        self.check(flag, file)?;
        parse::read(file).map(Some)
    }

    /// The JSON of a flag: itself, `@FILE`, or `-` for standard input.
    pub(super) fn json<T: DeserializeOwned>(
        &mut self,
        flag: &'static str,
        text: Option<&str>,
    ) -> Result<Option<T>, Failure> {
        let text = self.text(flag, text)?;
        text.map(|text| parse::json_text(flag, &text)).transpose()
    }

    /// Refuses standard input for a second flag, which would find it empty.
    fn check(&mut self, flag: &'static str, text: &str) -> Result<(), Failure> {
        if text != "-" && text != "@-" {
            return Ok(());
        }
        match self.standard_input.replace(flag) {
            None => Ok(()),
            Some(first) => {
                Err(Failure::usage(format!("{first} and {flag} cannot both be standard input"))
                    .help("put one of the texts into a file, and name it as @FILE"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_themselves_or_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        std::fs::write(&file, "{\"a\": [1]}\n").unwrap();
        let file = file.to_str().unwrap();
        let mut texts = Texts::default();
        assert_eq!(texts.text("--input", None).unwrap(), None);
        assert_eq!(texts.text("--input", Some("1 2")).unwrap().as_deref(), Some("1 2"));
        let content = Some("{\"a\": [1]}\n");
        assert_eq!(texts.text("--input", Some(&format!("@{file}"))).unwrap().as_deref(), content);
        assert_eq!(texts.file("--code-file", Some(file)).unwrap().as_deref(), content);
        let json: Option<serde_json::Value> = texts.json("--metadata", Some("{}")).unwrap();
        assert_eq!(json, Some(serde_json::json!({})));
        let wrong = texts.json::<Vec<u8>>("--metadata", Some("[1, \"x\"]")).unwrap_err();
        assert!(wrong.text().starts_with("--metadata: [1]: is the string"), "{}", wrong.text());
        assert!(texts.json::<Vec<u8>>("--metadata", Some("[1] 2")).is_err());
    }

    #[test]
    fn standard_input_is_read_once() {
        let mut texts = Texts { standard_input: Some("--input") };
        let refused = texts.text("--output", Some("-")).unwrap_err();
        assert_eq!(refused.text(), "--input and --output cannot both be standard input");
    }
}

//! Checks of texts; an error names the field.

use weir_table::id::shown;

use crate::bounds::{NAME_MAX, URL_MAX};
use crate::error::{Error, Result};

/// The fields of a user that are free texts.
pub(super) fn user(name: Option<&str>, picture_url: Option<&str>) -> Result<()> {
    name.iter().try_for_each(|name| line("name", name, NAME_MAX))?;
    picture_url.iter().try_for_each(|text| url("picture_url", text))
}

/// A line: 1 to `max` characters, none of them a control character.
pub(crate) fn line(field: &str, text: &str, max: usize) -> Result<()> {
    if text.trim().is_empty() || text.chars().count() > max || text.contains(char::is_control) {
        let problem = format!("{} is not a line of 1 to {max} characters", shown(text));
        return Err(Error::invalid(field, problem));
    }
    Ok(())
}

/// A text of at most `max` bytes.
pub(crate) fn size(field: &str, text: &str, max: usize) -> Result<()> {
    if text.len() > max {
        let problem = format!("has {} bytes; at most {max} are allowed", text.len());
        return Err(Error::too_large(field, problem));
    }
    Ok(())
}

/// An address on the web.
pub(crate) fn url(field: &str, text: &str) -> Result<()> {
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    let is_bad = |c: char| c.is_control() || c.is_whitespace();
    if !is_web || text.len() > URL_MAX || text.contains(is_bad) {
        let problem = format!("{} is not an http(s) URL of at most {URL_MAX} bytes", shown(text));
        return Err(Error::invalid(field, problem));
    }
    Ok(())
}

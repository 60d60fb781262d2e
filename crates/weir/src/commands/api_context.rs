//! The context that all verbs of a service's command share: the API, the root of its paths, and how to print a response.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_api::page::{LIMIT_MAX, Page, PageParams, TimeRangeParams};

use crate::api::{Api, part};
use crate::failure::Failure;
use crate::output;
use crate::time::GivenTime;

/// Pages of a list that one command reads at most.
const PAGES_MAX: usize = 10_000;
/// Items on a page at most.
const PAGE_MAX: usize = LIMIT_MAX as usize;

/// The API of a service, and whether to print JSON.
pub(super) struct ApiContext<'a> {
    pub(super) api: &'a Api,
    root: String,
    pub(super) json: bool,
}

impl<'a> ApiContext<'a> {
    /// The routes below `root`.
    pub(super) fn new(api: &'a Api, root: impl Into<String>, json: bool) -> ApiContext<'a> {
        ApiContext { api, root: root.into(), json }
    }

    /// A path below the root; `parts` are escaped.
    pub(super) fn path(&self, parts: &[&str]) -> String {
        below(&self.root, parts)
    }

    /// Every item of a list. `path` has no `limit` and no `cursor`.
    pub(super) async fn all<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Failure> {
        let max = PAGES_MAX * PAGE_MAX;
        match self.first(path, None, max).await? {
            Page { items, next_cursor: None } => Ok(items),
            _ => Err(Failure::refused(format!("the list has more than {max} items"))),
        }
    }

    /// Prints the items of a list that `limit` asks for: as JSON with `--json`, otherwise with `show`. `path` has no `limit`
    /// and no `cursor`.
    pub(super) async fn list<T: DeserializeOwned + Serialize>(
        &self,
        path: &str,
        limit: &LimitArgs,
        show: impl FnOnce(&[T]) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let page = self.first::<T>(path, limit.cursor.clone(), limit.limit as usize).await?;
        self.print(&page, |page| show(&page.items))?;
        if page.next_cursor.is_some() && !self.json {
            output::note("more exist; show more with --limit");
        }
        Ok(())
    }

    /// Items of a list from a cursor on, at most `limit`, and the cursor of the item after them if there is one.
    async fn first<T: DeserializeOwned>(
        &self,
        path: &str,
        mut cursor: Option<String>,
        limit: usize,
    ) -> Result<Page<T>, Failure> {
        let mut items: Vec<T> = Vec::new();
        for _ in 0..PAGES_MAX {
            let missing = limit.saturating_sub(items.len());
            // A cursor after the last item does not say that another item exists, so one more is read without being printed.
            let size = u32::try_from(missing.clamp(1, PAGE_MAX)).ok();
            let params = PageParams { limit: size, cursor: cursor.clone() };
            let page: Page<T> = self.api.get(&with_params(path, &params)?).await?;
            if missing == 0 && !page.items.is_empty() {
                break;
            }
            items.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(Page { items, next_cursor: cursor })
    }

    /// Prints a whole list: as JSON with `--json`, otherwise with `show`.
    pub(super) fn print_all<T: Serialize>(
        &self,
        items: Vec<T>,
        show: impl FnOnce(&[T]) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        self.print(&Page { items, next_cursor: None }, |page| show(&page.items))
    }

    /// Prints a response: as JSON with `--json`, otherwise with `show`.
    pub(super) fn print<T: Serialize>(
        &self,
        response: &T,
        show: impl FnOnce(&T) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let printed = if self.json { output::json(response) } else { show(response) };
        Ok(printed?)
    }

    /// Asks whether to do something that cannot be undone, unless `--yes` was given.
    pub(super) fn confirm(yes: bool, question: &str) -> Result<(), Failure> {
        if yes {
            return Ok(());
        }
        match output::confirmed(question)? {
            Some(true) => Ok(()),
            Some(false) => Err(Failure::refused("nothing was changed")),
            None => Err(Failure::refused("the change was not confirmed")
                .help("add --yes, or run the command on a terminal, where it asks")),
        }
    }
}

/// A path below another; `parts` are escaped.
pub(super) fn below(root: &str, parts: &[&str]) -> String {
    let mut path = root.to_owned();
    for name in parts {
        path.push('/');
        path.push_str(&part(name));
    }
    path
}

/// The path with those parameters that have a value.
pub(super) fn with_query(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut path = path.to_owned();
    for (name, value) in parameters {
        if let Some(value) = value {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(name);
            path.push('=');
            path.push_str(&part(value));
        }
    }
    path
}

/// The path with the parameters of a query; those that are `None` are left out.
pub(super) fn with_params(path: &str, params: &impl Serialize) -> Result<String, Failure> {
    let query = serde_urlencoded::to_string(params)
        .map_err(|error| Failure::fault("the query cannot be encoded").because(error))?;
    Ok(match (query.is_empty(), path.contains('?')) {
        (true, _) => path.to_owned(),
        (false, true) => format!("{path}&{query}"),
        (false, false) => format!("{path}?{query}"),
    })
}

/// The names of a table's columns.
pub(super) fn header<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

/// The time range that a verb lists.
#[derive(Debug, Args)]
pub(super) struct TimeRangeArgs {
    /// Start of the time range, inclusive: 2026-01-31, 2026-01-31T12:00:00Z, 2h or 7d (ago), today, yesterday; days are in UTC
    #[arg(long, value_name = "TIME")]
    from: Option<GivenTime>,
    /// End of the time range, exclusive, written like --from
    #[arg(long, value_name = "TIME")]
    to: Option<GivenTime>,
}

impl From<TimeRangeArgs> for TimeRangeParams {
    fn from(args: TimeRangeArgs) -> TimeRangeParams {
        let text = |given: Option<GivenTime>| given.map(|given| given.rfc3339());
        TimeRangeParams { from: text(args.from), to: text(args.to) }
    }
}

/// Which items of a list to print.
#[derive(Debug, Args)]
pub(super) struct LimitArgs {
    /// Largest number of items
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Continue at the `next_cursor` that the same command printed with --json
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Parses one of `words` into the value of the API that is written so.
pub(super) fn one_of<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| serde_json::from_value::<T>(word.into()))
}

/// A column of a table: its name, and its text for an item.
type Column<T> = (&'static str, fn(&T) -> String);

/// Prints a table with a row for each item.
pub(super) fn rows<T>(items: &[T], columns: &[Column<T>]) -> std::io::Result<()> {
    let names = columns.iter().map(|(name, _)| (*name).to_owned());
    let row = |item| columns.iter().map(|(_, text)| text(item)).collect();
    output::table(names.collect(), items.iter().map(row), &[])
}

/// A signed number with thousands separators.
pub(super) fn tokens(number: i64) -> String {
    let text = output::thousands(number.unsigned_abs());
    if number < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped() {
        assert_eq!(below("/v1/n", &["a b", "x/y"]), "/v1/n/a%20b/x%2Fy");
        let query = [("entity", Some("a&b")), ("to", None), ("limit", Some("1"))];
        assert_eq!(with_query("/p", &query), "/p?entity=a%26b&limit=1");
        let page = PageParams { limit: Some(1), cursor: None };
        assert_eq!(with_params("/p", &page).unwrap(), "/p?limit=1");
        assert_eq!(with_params("/p?a=b", &page).unwrap(), "/p?a=b&limit=1");
        assert_eq!(with_params("/p", &PageParams::default()).unwrap(), "/p");
    }

    #[test]
    fn tokens_are_formatted() {
        assert_eq!(tokens(-1_234), "-1,234");
    }
}

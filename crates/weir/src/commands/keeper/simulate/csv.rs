//! Submissions in a CSV file. An error names its line.

use std::fs::File;
use std::io::Read;

use csv::{ReaderBuilder, StringRecord, Terminator, Trim};
use weir_keeper::bounds::REPLAY_ROWS_MAX;
use weir_keeper::ids::AppId;
use weir_keeper::money::TokenUse;
use weir_keeper::simulate::ReplayRow;

use super::Rows;
use crate::failure::Failure;
use crate::progress;

const TIMESTAMP: &str = "timestamp";
const INPUT: &str = "input_tokens";
const OUTPUT: &str = "output_tokens";
const CACHED_READ: &str = "cached_read_tokens";
const CACHED_WRITE: &str = "cached_write_tokens";
const APP: &str = "app_id";
/// Columns of a submission that a simulation ignores.
const IGNORED: [&str; 9] = [
    "request_id",
    "org_id",
    "model_label",
    "model_id",
    "bedrock_model_id",
    "vendor",
    "calling_region",
    "cost_usd_micros",
    "status",
];

/// Positions of the columns.
struct Columns {
    count: usize,
    timestamp: usize,
    input: usize,
    output: usize,
    cached_read: Option<usize>,
    cached_write: Option<usize>,
    app: Option<usize>,
}

/// Reads the submissions of a file, in its order.
pub(super) fn read(name: &str) -> Result<Rows, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::usage(format!("{name} cannot be read")).because(error);
    let file = File::open(name).map_err(unreadable)?;
    let bar = progress::bytes("reading");
    bar.set_length(file.metadata().map_err(unreadable)?.len());
    let rows = rows(name, bar.wrap_read(file));
    bar.finish_and_clear();
    rows
}

fn rows(name: &str, text: impl Read) -> Result<Rows, Failure> {
    let wrong =
        |line: u64, problem: String| Failure::usage(format!("{name}, line {line}: {problem}"));
    // Then every record ends with a line break, so the line before the position of the reader is that of the record.
    let text = text.chain(b"\n".as_slice());
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(text);
    let (mut columns, mut rows) = (None, Rows::new());
    let mut record = StringRecord::new();
    loop {
        let read = reader.read_record(&mut record);
        let line = reader.position().line().saturating_sub(1);
        if !read.map_err(|error| wrong(line, explain(error.kind())))? {
            break;
        }
        let parsed = parse(&record, &mut columns, &mut rows);
        parsed.map_err(|problem| wrong(line, problem))?;
    }
    match columns {
        Some(_) => Ok(rows),
        None => Err(wrong(1, format!("column {TIMESTAMP} is missing"))),
    }
}

/// Parses a line: the header first, then submissions. Skips empty lines.
fn parse(
    record: &StringRecord,
    columns: &mut Option<Columns>,
    rows: &mut Rows,
) -> Result<(), String> {
    if record.len() == 1 && record.get(0).is_some_and(str::is_empty) {
        return Ok(());
    }
    let Some(columns) = columns else {
        *columns = Some(Columns::of(record)?);
        return Ok(());
    };
    if record.len() != columns.count {
        return Err(format!("has {} values, and the header has {}", record.len(), columns.count));
    }
    if rows.len() == REPLAY_ROWS_MAX {
        return Err(format!("the file has more than {REPLAY_ROWS_MAX} submissions"));
    }
    rows.push(columns.row(record)?);
    Ok(())
}

fn explain(kind: &csv::ErrorKind) -> String {
    match kind {
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8".to_owned(),
        csv::ErrorKind::Io(error) => format!("cannot be read: {error}"),
        _ => "is not CSV".to_owned(),
    }
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Columns, String> {
        let known = [TIMESTAMP, INPUT, OUTPUT, CACHED_READ, CACHED_WRITE, APP];
        for (number, name) in header.iter().enumerate() {
            if !known.contains(&name) && !IGNORED.contains(&name) {
                let all = known.iter().chain(&IGNORED).copied().collect::<Vec<_>>().join(", ");
                return Err(format!("{name:?} is not a column of a submission; columns are {all}"));
            }
            if header.iter().take(number).any(|before| before == name) {
                return Err(format!("column {name} is present twice"));
            }
        }
        let place = |wanted: &str| header.iter().position(|name| name == wanted);
        let needed =
            |wanted: &str| place(wanted).ok_or_else(|| format!("column {wanted} is missing"));
        Ok(Columns {
            count: header.len(),
            timestamp: needed(TIMESTAMP)?,
            input: needed(INPUT)?,
            output: needed(OUTPUT)?,
            cached_read: place(CACHED_READ),
            cached_write: place(CACHED_WRITE),
            app: place(APP),
        })
    }

    fn row(&self, record: &StringRecord) -> Result<ReplayRow, String> {
        let count = |place: Option<usize>, name: &str| {
            let text = place.and_then(|place| record.get(place)).unwrap_or_default();
            match text {
                // An empty value of a cache column means 0.
                "" if name != INPUT && name != OUTPUT => Ok(0),
                text => {
                    text.parse().map_err(|_| format!("{name} {text:?} is not a number of tokens"))
                }
            }
        };
        let tokens = TokenUse {
            input: count(Some(self.input), INPUT)?,
            output: count(Some(self.output), OUTPUT)?,
            cached_read: count(self.cached_read, CACHED_READ)?,
            cached_write: count(self.cached_write, CACHED_WRITE)?,
        };
        let timestamp = record.get(self.timestamp).unwrap_or_default();
        let row = ReplayRow::new(timestamp, tokens).map_err(|error| error.to_string())?;
        let app = self.app.and_then(|place| record.get(place)).filter(|app| !app.is_empty());
        let app = app.map(AppId::new).transpose().map_err(|error| error.to_string())?;
        Ok(ReplayRow { app, ..row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rows, String> {
        rows("day.csv", text.as_bytes()).map_err(|failure| failure.text())
    }

    #[test]
    fn submissions_keep_their_order() {
        let text = "\u{feff}output_tokens, status, timestamp,input_tokens,cached_read_tokens\r\n\
                    5,OK,2026-01-23T14:00:01Z,10,\r\n\
                    \"6\",ERROR,2026-01-23T09:00:00-05:00,11,7\r\n";
        let rows = read(text).unwrap();
        let parsed = rows.iter().map(|row| (row.at_ms, row.tokens.output, row.tokens.cached_read));
        assert_eq!(
            parsed.collect::<Vec<_>>(),
            [(1_769_176_801_000, 5, 0), (1_769_176_800_000, 6, 7)]
        );
        assert_eq!(read("timestamp,input_tokens,output_tokens\n"), Ok(Vec::new()));
    }

    #[test]
    fn submissions_name_their_app() {
        let text = "app_id,timestamp,input_tokens,output_tokens\n\
                    shop,2026-01-23T14:00:00Z,1,2\n\
                    ,2026-01-23T14:00:00Z,1,2\n";
        let apps: Vec<_> = read(text).unwrap().into_iter().map(|row| row.app).collect();
        assert_eq!(apps, [Some(AppId::new("shop").unwrap()), None]);
        let wrong = read(&text.replace("shop", "a#b")).unwrap_err();
        assert!(wrong.starts_with("day.csv, line 2: app: \"a#b\" is not an app id"), "{wrong}");
    }

    #[test]
    fn errors_name_their_line() {
        let head = "timestamp,input_tokens,output_tokens\n2026-01-23T14:00:00Z,1,2\n";
        for (text, expected) in [
            ("", "day.csv, line 1: column timestamp is missing".to_owned()),
            ("timestamp,input_tokens\n", "day.csv, line 1: column output_tokens is missing".into()),
            (
                "time,input_tokens\n",
                "day.csv, line 1: \"time\" is not a column of a submission; columns are timestamp, "
                    .into(),
            ),
            ("timestamp,timestamp\n", "day.csv, line 1: column timestamp is present twice".into()),
            (
                &format!("{head}2026-01-23T14:00:00Z,1\n"),
                "day.csv, line 3: has 2 values, and the header has 3".into(),
            ),
            (
                &format!("{head}yesterday,1,2\n"),
                "day.csv, line 3: timestamp: \"yesterday\" is not an RFC 3339 time".into(),
            ),
            (
                &format!("{head}\n2026-01-23T14:00:00Z,-1,2\n"),
                "day.csv, line 4: input_tokens \"-1\" is not a number".into(),
            ),
            (
                &format!("{head}\n2026-01-23T14:00:00Z,1,2\n\nx,1,2").replace('\n', "\r\n"),
                "day.csv, line 6: timestamp: \"x\"".into(),
            ),
            (
                &format!("{head}2026-01-23T14:00:00Z,,2\n"),
                "day.csv, line 3: input_tokens \"\" is not a number".into(),
            ),
            (
                &format!("{head}2026-01-23T14:00:00Z,1,9999999999999\n"),
                "day.csv, line 3: output_tokens: must be at most".into(),
            ),
        ] {
            let problem = read(text).unwrap_err();
            assert!(problem.starts_with(&expected), "{problem}");
        }
    }
}

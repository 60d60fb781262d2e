//! Shows the results of a migration: tables, or JSON.

use std::io;

use serde::Serialize;
use serde_json::{Value as Json, json};
use weir_practice::migrate::dual_write::DualWriteReport;
use weir_practice::migrate::{
    BackfillReport, Counts, Entity, RollbackReport, Scope, Status, ValidateReport, WriteCounts,
};

use crate::output;

/// The counts of each table, by the names of the tables.
fn by_table<T: Serialize>(tables: impl IntoIterator<Item = (Entity, T)>) -> Json {
    tables.into_iter().map(|(entity, counts)| (entity.table().to_owned(), json!(counts))).collect()
}

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn row(entity: Entity, numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    let numbers = numbers.into_iter().map(output::thousands);
    std::iter::once(entity.table().to_owned()).chain(numbers).collect()
}

pub(super) fn backfill(report: &BackfillReport, dry_run: bool, json: bool) -> io::Result<()> {
    if json {
        let bad: Vec<Json> = report
            .bad_rows
            .iter()
            .map(|bad| {
                json!({
                    "table": bad.entity.table(), "id": bad.row_id, "field": bad.field,
                    "problem": bad.problem,
                })
            })
            .collect();
        let tables = by_table(report.tables.iter().copied());
        return output::json(&json!({"dry_run": dry_run, "tables": tables, "bad_rows": bad}));
    }
    if dry_run {
        output::note("a dry run: nothing is written");
        let rows = report
            .tables
            .iter()
            .map(|(entity, counts)| row(*entity, [counts.unchanged, counts.bad]));
        output::table(header(&["table", "good rows", "bad rows"]), rows, &[1, 2])?;
    } else {
        let names = ["table", "created", "updated", "unchanged", "newer here", "bad rows"];
        let rows = report.tables.iter().map(|(entity, counts)| {
            let Counts { created, updated, unchanged, kept, bad } = *counts;
            row(*entity, [created, updated, unchanged, kept, bad])
        });
        output::table(header(&names), rows, &[1, 2, 3, 4, 5])?;
    }
    if report.bad_rows.is_empty() {
        return Ok(());
    }
    let rows = report.bad_rows.iter().map(|bad| {
        vec![
            bad.entity.table().to_owned(),
            bad.row_id.to_string(),
            bad.field.clone(),
            output::printable(&bad.problem),
        ]
    });
    output::table(header(&["table", "row", "column", "why"]), rows, &[1])
}

pub(super) fn validate(report: &ValidateReport, scope: Scope, json: bool) -> io::Result<()> {
    let seed = match scope {
        Scope::All => None,
        Scope::Sample { seed, .. } => Some(seed),
    };
    if json {
        let differences: Vec<Json> = report
            .differences
            .iter()
            .map(|one| {
                json!({
                    "kind": one.kind.as_str(), "table": one.entity.table(), "id": one.id,
                    "field": one.field, "postgres": one.postgres, "weir": one.weir,
                })
            })
            .collect();
        let tables = by_table(report.tables.iter().map(|(entity, table)| (*entity, *table)));
        return output::json(&json!({
            "all": scope == Scope::All, "seed": seed, "tables": tables, "differences": differences,
        }));
    }
    if let Some(seed) = seed {
        output::note(format!("a sample; --seed {seed} compares the same one again"));
    }
    let names = ["table", "rows", "records", "compared", "differences"];
    let rows = report.tables.iter().map(|(entity, table)| {
        row(*entity, [table.rows, table.records, table.compared, table.differences])
    });
    output::table(header(&names), rows, &[1, 2, 3, 4])?;
    if report.differences.is_empty() {
        return Ok(());
    }
    let rows = report.differences.iter().map(|one| {
        vec![
            one.kind.as_str().to_owned(),
            one.entity.table().to_owned(),
            one.id.clone(),
            one.field.clone(),
            output::printable(&one.postgres),
            output::printable(&one.weir),
        ]
    });
    let names = ["difference", "table", "id", "field", "in PostgreSQL", "in Weir"];
    output::table(header(&names), rows, &[])
}

pub(super) fn rollback(report: &RollbackReport, dry_run: bool, json: bool) -> io::Result<()> {
    if json {
        let refused: Vec<Json> = report
            .refused
            .iter()
            .map(|(key, why)| {
                json!({"table": key.entity().table(), "id": key.id_text(), "problem": why})
            })
            .collect();
        let tables = by_table(report.tables.iter().copied());
        return output::json(&json!({"dry_run": dry_run, "tables": tables, "refused": refused}));
    }
    if dry_run {
        output::note("a dry run: nothing is written");
    }
    let names = ["table", "inserted", "updated", "unchanged", "newer there", "refused"];
    let rows = report.tables.iter().map(|(entity, counts)| {
        let WriteCounts { inserted, updated, unchanged, kept, refused } = *counts;
        row(*entity, [inserted, updated, unchanged, kept, refused])
    });
    output::table(header(&names), rows, &[1, 2, 3, 4, 5])?;
    if report.refused.is_empty() {
        return Ok(());
    }
    let rows =
        report.refused.iter().map(|(key, why)| vec![key.to_string(), output::printable(why)]);
    output::table(header(&["record", "why"]), rows, &[])
}

/// One line for a run that moved something.
pub(super) fn moved(report: &DualWriteReport) {
    let DualWriteReport { replayed, applied, refused_by_table, refused_by_postgres, .. } = report;
    if replayed + applied > 0 {
        output::note(format!("to Weir {replayed}, to PostgreSQL {applied}"));
    }
    if report.had_full_pass {
        output::note("the change feed had been trimmed; all records were compared instead");
    }
    if *refused_by_table > 0 {
        let changes = output::counted(*refused_by_table, "change");
        output::note(format!("Weir refused {changes}; they stay in weir_missed, which says why"));
    }
    for (key, why) in refused_by_postgres {
        output::note(format!("{key}: {why}"));
    }
}

pub(super) fn dual_write(report: &DualWriteReport, json: bool) -> io::Result<()> {
    let refused: Vec<Json> = report
        .refused_by_postgres
        .iter()
        .map(|(key, why)| json!({"record": key.to_string(), "problem": why}))
        .collect();
    if json {
        return output::json(&json!({
            "to_weir": report.replayed, "refused_by_weir": report.refused_by_table,
            "to_postgres": report.applied, "refused_by_postgres": refused,
            "had_full_pass": report.had_full_pass,
        }));
    }
    output::line(format!(
        "to Weir {}, to PostgreSQL {}, refused {}",
        report.replayed,
        report.applied,
        report.refused_by_table + report.refused_by_postgres.len() as u64
    ))
}

pub(super) fn status(status: &Status, json: bool) -> io::Result<()> {
    if json {
        let tables: Json = status
            .tables
            .iter()
            .map(|table| {
                let value = json!({
                    "rows": table.rows, "last_id": table.last_id, "left": table.left,
                    "done": table.is_done, "counts": table.counts,
                });
                (table.entity.table().to_owned(), value)
            })
            .collect();
        return output::json(&json!({"tables": tables, "dual_write": status.queue}));
    }
    let names = ["table", "rows", "copied", "left", "bad rows", "last row"];
    let rows = status.tables.iter().map(|table| {
        let last = u64::try_from(table.last_id).unwrap_or_default();
        let copied = table.counts.rows().saturating_sub(table.counts.bad);
        row(table.entity, [table.rows, copied, table.left, table.counts.bad, last])
    });
    output::table(header(&names), rows, &[1, 2, 3, 4, 5])?;
    match status.queue {
        None => output::line("dual-write is off"),
        Some(queue) => output::line(format!(
            "dual-write is on; {} for Weir, {} refused",
            output::counted(queue.waiting, "change"),
            queue.refused
        )),
    }
}

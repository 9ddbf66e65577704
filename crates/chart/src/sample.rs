// SPDX-License-Identifier: GPL-2.0-only
//! What a page that is too large leaves out: the later part of every timeline, and points in between. What is shown of a
//! timeline has no gaps, so that a period without a neighbour stays one.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ChartError;
use crate::contract::{Cell, PageData, Table};
use crate::json::escaped;

/// Tables that are sampled, what their rows are, and whether rows in between may go.
const SAMPLED: [(&str, &str, Part); 2] =
    [("timeline", "periods of the timeline", Part::Beginning), ("points", "points", Part::Every)];

#[derive(Clone, Copy)]
enum Part {
    /// The beginning in time, of all lanes alike.
    Beginning,
    /// Rows at even distances.
    Every,
}

/// The same page, smaller by at least `excess` bytes of escaped JSON as far as sampling goes.
pub(crate) fn shrunk(data: &PageData, excess: usize) -> Result<PageData, ChartError> {
    let mut data = data.clone();
    // The sentences about what is left out need room, too.
    let mut excess = excess + 2_000;
    let mut sizes = BTreeMap::new();
    for table in &data.tables {
        if SAMPLED.iter().any(|(name, ..)| *name == table.name) {
            sizes.insert(table.name.clone(), escaped(&serde_json::to_string(&table.rows)?).len());
        }
    }
    let all: usize = sizes.values().sum();
    let report = escaped(&serde_json::to_string(&data.report)?).len();
    // Too little would be left to look at: the raw report goes first, which the command gives as JSON in any case.
    if excess > all / 2 && report > 1_000 {
        data.report = Value::Null;
        data.sampled.push("The JSON result is not in this page; --format json prints it.".to_owned());
        excess = excess.saturating_sub(report);
    }
    for (name, rows_are, part) in SAMPLED {
        let Some(size) = sizes.get(name).copied().filter(|_| excess > 0) else { continue };
        let Some(table) = data.tables.iter_mut().find(|t| t.name == name) else { continue };
        // Each gives its share of what has to go.
        let room = size.saturating_sub((excess * size).div_ceil(all));
        let before = table.rows.len();
        let bytes: Vec<usize> = table
            .rows
            .iter()
            .map(|row| Ok(escaped(&serde_json::to_string(row)?).len() + 1))
            .collect::<Result<_, ChartError>>()?;
        // Rows are not equally long: those that begin a timeline have their reasons.
        let kept_at = |percent| match part {
            Part::Beginning => beginning(table, percent),
            Part::Every => every(before, percent),
        };
        let fits = |kept: &[bool]| {
            bytes.iter().zip(kept).filter(|(_, kept)| **kept).map(|(b, _)| b).sum::<usize>() <= room
        };
        let percents: Vec<usize> = (0..100).collect();
        let too_many = percents.partition_point(|percent| fits(&kept_at(*percent)));
        let mut kept = kept_at(too_many.saturating_sub(1)).into_iter();
        table.rows.retain(|_| kept.next() == Some(true));
        let how = match part {
            Part::Beginning => "the beginning of each timeline",
            Part::Every => "at even distances",
        };
        data.sampled.push(format!(
            "To keep this page small, it shows {} of {before} {rows_are}: {how}.",
            table.rows.len()
        ));
    }
    Ok(data)
}

/// Which of `rows` rows stay, at even distances.
fn every(rows: usize, percent: usize) -> Vec<bool> {
    (1..=rows).map(|at| at * percent / 100 != (at - 1) * percent / 100).collect()
}

/// Which rows stay: for each CPU of each recording, the periods that begin first, in all lanes up to the same time.
fn beginning(table: &Table, percent: usize) -> Vec<bool> {
    let (Some(recording), Some(cpu), Some(start)) =
        (table.column("recording"), table.column("cpu"), table.column("start_ns"))
    else {
        return every(table.rows.len(), percent);
    };
    let key = |row: &[Cell]| format!("{:?} {:?}", row.get(recording), row.get(cpu));
    let time = |row: &[Cell]| match row.get(start) {
        Some(Cell::Integer(ns)) => *ns,
        _ => i64::MAX,
    };
    let mut starts: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for row in &table.rows {
        starts.entry(key(row)).or_default().push(time(row));
    }
    let ends: BTreeMap<String, i64> = starts
        .into_iter()
        .map(|(key, mut times)| {
            times.sort_unstable();
            let end = times.get(times.len() * percent / 100).copied().unwrap_or(i64::MAX);
            (key, end)
        })
        .collect();
    table.rows.iter().map(|row| ends.get(&key(row)).is_some_and(|end| time(row) < *end)).collect()
}

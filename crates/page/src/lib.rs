// SPDX-License-Identifier: GPL-2.0-only
//! Reports as pages and charts: the tables that `idlewise-chart` draws, filled from the same typed reports as the text.

mod ab;
mod advise;
mod answer;
mod boot;
mod compare;
mod corpus;
mod diff;
mod replay;
mod reproduce;
mod review;
mod simulate;
mod sweep;

use std::path::Path;

use idlewise_answer::Answer;
use idlewise_chart::{Column, Hash, Kind, Note, PageData, Table};
use idlewise_recording::TraceHead;
use idlewise_recording::governors::ForeignHead;
use idlewise_report::Report;

pub use ab::ab;
pub use advise::advise;
pub use boot::boot;
pub use compare::{compare, compare_hashes};
pub use corpus::{corpus_run, fitness};
pub use diff::diff;
pub use replay::{replay, replay_hashes};
pub use reproduce::reproduce;
pub use review::{bisect_hashes, review, review_hashes};
pub use simulate::simulate;
pub use sweep::{sweep, sweep_hashes};

/// What the page of every command has: all that the text shows, the JSON, and the command that made them.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    pub everything: &'a Report,
    pub json: serde_json::Value,
    /// The program and its arguments.
    pub command: Vec<String>,
}

impl Source<'_> {
    /// The page without what is particular to its command. Its tables are those of the text.
    fn page(self, kind: Kind, title: &str) -> PageData {
        let mut out = PageData::new(kind, title, env!("CARGO_PKG_VERSION"), self.json);
        out.command = self.command;
        let lines = self.everything.preamble.iter().chain(&self.everything.footer);
        for line in lines {
            // A line without a label goes on with the one before, as the text shows it.
            let own = line.label().filter(|l| !l.is_empty());
            let before = out.notes.last().filter(|_| line.label().is_some()).map(|n| n.label.clone());
            let label = own.map(str::to_owned).or(before).unwrap_or_else(String::new);
            out.notes.push(Note { label, text: line.text().to_owned() });
        }
        out.tables.extend(self.everything.tables.iter().enumerate().map(|(i, t)| as_shown(i, t)));
        out
    }
}

/// What an answer is about.
fn title(a: &Answer) -> String {
    format!("{} on {}", a.governors.join(", "), a.on)
}

/// Puts `tables` before those of the text, without those that have no row.
fn put_first(page: &mut PageData, tables: impl IntoIterator<Item = Table>) {
    page.tables.splice(0..0, tables.into_iter().filter(|t| !t.rows.is_empty()));
}

/// Calls a column of all tables that have it something else: what is a recording to a replay is a benchmark to `ab`.
fn call(page: &mut PageData, column: &str, label: &str) {
    let columns = page.tables.iter_mut().flat_map(|t| &mut t.columns);
    columns.filter(|c| c.name == column).for_each(|c| label.clone_into(&mut c.label));
}

/// What identifies the inputs of a page.
#[must_use]
pub fn hashes<'h>(platform: &str, hash: &str, heads: impl Iterator<Item = &'h TraceHead>) -> Vec<Hash> {
    let machine = Hash { name: format!("platform {platform}"), hash: hash.to_owned() };
    heads.map(|h| Hash { name: h.name.clone(), hash: h.hash.clone() }).chain([machine]).collect()
}

/// The C files of governors that are none of ours.
pub(crate) fn source_hashes(foreign: &[ForeignHead]) -> impl Iterator<Item = Hash> {
    foreign.iter().map(|f| {
        let kernel = f.kernel.as_ref().map_or_else(String::new, |k| format!(" (Linux {k})"));
        Hash { name: format!("{} {}{kernel}", f.governor, f.file), hash: f.hash.clone() }
    })
}

/// The input of what needs no machine but the recorded one.
#[must_use]
pub fn recording_hashes(head: &TraceHead) -> Vec<Hash> {
    vec![Hash { name: head.name.clone(), hash: head.hash.clone() }]
}

/// Name and hash of a file.
#[must_use]
pub fn file_hash(path: &Path, hash: &str) -> Hash {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Hash { name, hash: hash.to_owned() }
}

/// A table's own title, else what its first column holds.
fn title_of(t: &idlewise_report::Table) -> String {
    let first = t.head.first().map_or("", String::as_str);
    match (t.title.as_str(), first) {
        ("", "" | "metric") => "Everything".to_owned(),
        ("", first) => {
            let mut letters = first.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
        }
        (title, _) => title.to_owned(),
    }
}

/// A table of the text as it is: its numbers have their units with them.
fn as_shown(i: usize, t: &idlewise_report::Table) -> Table {
    let columns = t.head.iter().enumerate().map(|(n, head)| Column::text(&format!("c{n}"), head));
    Table {
        name: format!("text-{i}"),
        title: title_of(t),
        columns: columns.collect(),
        rows: t.rows.iter().map(|row| row.iter().map(|cell| cell.as_str().into()).collect()).collect(),
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Does `docs/reference/decision-columns.md` list the columns that there are? `IDLEWISE_UPDATE_DOCS=1 cargo test --workspace
//! --locked --test study decision_columns_page::` writes it anew; read it then.

use std::fmt::Write as _;
use std::fs;

use idlewise_study::replay::{DECISION_COLUMNS, DECISIONS_SCHEMA};

fn page() -> String {
    let mut out = format!(
        "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n\
         <!-- Generated: IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test study decision_columns_page:: -->\n\
         # Columns of decisions\n\n\
         `--write-decisions` of `replay` and `compare` writes these columns, `{DECISIONS_SCHEMA}`\n\
         ([how to load them](../guide/decisions-as-data.md)). New columns keep the number; when a column changes its meaning\n\
         or goes away, the number changes. Rows come by recording and governor in the order of the command, then by CPU\n\
         and time. A governor that crashed has no rows. Wake events that came while the CPU was still leaving a state have no\n\
         rows either: nobody was asked. Grades are `recorded`, `derived`, `bounded` and `assumed`\n\
         ([inputs](../concepts/inputs.md)).\n\n\
         | column | type | what |\n|---|---|---|\n"
    );
    for c in &DECISION_COLUMNS {
        let empty = if c.optional { ", may be empty" } else { "" };
        writeln!(out, "| `{}` | {}{empty} | {} |", c.name, c.kind.name(), c.meaning).unwrap();
    }
    out
}

#[test]
fn the_page_lists_every_column() {
    let path = idlewise_checkout::root().join("docs/reference/decision-columns.md");
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        shown,
        page(),
        "docs/reference/decision-columns.md is out of date: IDLEWISE_UPDATE_DOCS=1 writes it"
    );
}

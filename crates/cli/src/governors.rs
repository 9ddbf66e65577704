// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::{Instance, Spec, catalog};
use idlewise_lab::replay::ORACLE;
use idlewise_report::{Format, Report, Table};

use crate::args::{GovernorsArgs, GovernorsCommand};
use crate::output::{Done, say};

/// Parameters do not depend on it, but an instance wants one.
const ANY_TICK_NS: u64 = 4_000_000;

pub(crate) fn run(a: &GovernorsArgs) -> Done {
    match &a.what {
        None | Some(GovernorsCommand::List) => list(),
        Some(GovernorsCommand::Show { id }) => show(id),
    }
}

fn list() -> Done {
    let mut table = Table::new("", vec!["governor".into(), "what it is".into()]);
    table.text_columns = 2;
    for g in catalog() {
        table.rows.push(vec![g.id.to_owned(), g.summary.to_owned()]);
    }
    table.rows.push(vec![ORACLE.to_owned(), "knows every wake in advance; part of the engine".to_owned()]);
    let report = Report { tables: vec![table], ..Report::default() };
    say(&report.render(Format::Table, &()).map_err(|e| e.to_string())?)?;
    Ok(true)
}

fn show(id: &str) -> Done {
    let governor = Instance::load(&Spec::new(id), ANY_TICK_NS).map_err(|e| e.to_string())?;
    let preface = catalog().iter().find(|g| g.id == id).map_or("", |g| g.preface);
    let mut text = format!("{}\n", preface.trim_end());
    let params = governor.params();
    if !params.is_empty() {
        text.push_str("\nParameters:\n");
    }
    for p in params {
        text.push_str(&format!("  {}={} ({})  {}\n", p.name, p.value, p.type_name, p.description));
    }
    say(&text)?;
    Ok(true)
}

// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use idlewise_governor::{Governor, GovernorSource, Param, Spec, catalog, expand};
use idlewise_recording::candidate::Bound;
use idlewise_recording::governors::find_one;
use idlewise_report::{Format, Report, Table, one_line};

use crate::args::{GovernorsArgs, GovernorsCommand};
use crate::output::{Done, say};

/// Parameters do not depend on it, but an instance wants one.
const ANY_TICK_NS: u64 = 4_000_000;

pub(crate) fn run(a: &GovernorsArgs) -> Done {
    let trees = &a.kernels.trees;
    match &a.what {
        None | Some(GovernorsCommand::List) => list(trees),
        Some(GovernorsCommand::Show { id }) => show(id, trees),
    }
}

fn list(trees: &[PathBuf]) -> Done {
    let mut table = Table::new("", vec!["governor".into(), "what it is".into()]);
    table.text_columns = 2;
    for g in catalog() {
        table.rows.push(vec![g.id.to_owned(), g.summary.to_owned()]);
    }
    for bound in Bound::ALL {
        table.rows.push(vec![bound.name().to_owned(), format!("a bound: knows {}", bound.knows())]);
    }
    for tree in trees {
        for source in expand(&Spec::new("linux"), std::slice::from_ref(tree)).map_err(|e| e.to_string())? {
            table.rows.push(in_tree(&source));
        }
    }
    let report = Report { tables: vec![table], ..Report::default() };
    say(&report.render(Format::Table, &()).map_err(|e| e.to_string())?)?;
    Ok(true)
}

/// One that cannot be used is listed too, with the reason.
fn in_tree(source: &GovernorSource) -> Vec<String> {
    let path = source.spec().id.clone();
    match Governor::open(source) {
        Ok(governor) => vec![governor.label().replacen("linux-", "linux:", 1), path],
        Err(e) => vec![path, e.to_string()],
    }
}

fn show(id: &str, trees: &[PathBuf]) -> Done {
    let governor = find_one(id, trees)?;
    let loaded = governor.run(|loader| {
        let instance = loader.load(ANY_TICK_NS)?;
        Ok((instance.registered(), instance.params()))
    });
    let ((name, rating), params): ((String, u32), Vec<Param>) = loaded.map_err(|e| e.to_string())?;
    let name = one_line(&name);
    let mut text = match governor.preface() {
        Some(preface) => format!("{}\n", preface.trim_end()),
        None => {
            let kernel = governor.kernel().map_or_else(
                || "as for the newest kernel: it is not in a kernel tree".to_owned(),
                |kernel| format!("as a file of Linux {kernel}"),
            );
            format!(
                "{}\n\nFile: {}\nCompiled {kernel}\nRegisters as {name}, rating {rating}\n",
                governor.name(),
                governor.spec().id
            )
        }
    };
    if !params.is_empty() {
        text.push_str("\nParameters:\n");
    }
    for p in params {
        let line = format!("{}={} ({})  {}", p.name, p.value, p.type_name, p.description);
        text.push_str(&format!("  {}\n", one_line(&line)));
    }
    if !governor.is_foreign() {
        text.push_str(&format!("\nWith examples that are tests: docs/governors/{id}.md\n"));
    }
    say(&text)?;
    Ok(true)
}

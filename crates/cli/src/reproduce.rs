// SPDX-License-Identifier: GPL-2.0-only
use idlewise_experiment::again::offered;
use idlewise_experiment::reproduce::{ReproduceRequest, Reproduced, find, reproduce_with, shipped};
use idlewise_page as pages;
use idlewise_view as view;

use crate::args::ReproduceArgs;
use crate::output::{Done, Progress, deliver, none_failed, say_line};
use crate::page;

pub(crate) fn run(a: &ReproduceArgs) -> Done {
    if a.list {
        return list();
    }
    a.output.check()?;
    a.page.check(&a.output)?;
    let request = ReproduceRequest { experiments: a.names.clone(), fit: a.fit };
    let report = {
        let progress = Progress::new("preparing");
        let offered = offered(&a.trust)?;
        reproduce_with(&request, &offered, &|what, done, of| progress.step(what, done, of))?
    };
    deliver(&a.output, &view::reproduce(&report, a.names.is_empty()), &report)?;
    if a.page.is_asked() {
        let everything = view::reproduce(&report, false);
        a.page.write(&pages::reproduce(&report, page::source(&report, &everything)?))?;
    }
    let failed = |r: &Reproduced| {
        let (id, n) = (&r.experiment.id, r.cells.len());
        r.failure().map(|why| format!("{id}: none of its {n} cells has a number: {why}"))
    };
    let failures: Vec<String> = report.experiments.iter().filter_map(failed).collect();
    none_failed(&failures.iter().map(String::as_str).collect::<Vec<_>>())
}

fn list() -> Done {
    for (id, _) in shipped() {
        let e = find(id)?;
        say_line(&format!("{id:<18} {}: {}", e.document.tables, e.title))?;
    }
    Ok(true)
}

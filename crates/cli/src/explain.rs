// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use idlewise_explain::{
    DecisionAddress, ExplainReport, ExplainRequest, LineRequest, RowRequest, WhyDifferRequest, explain,
    explain_line, explain_row, why_differ,
};
use idlewise_governor::catalog;
use idlewise_page as pages;
use idlewise_study::replay::{ORACLE, listed_governors};
use idlewise_view::explain as view;

use crate::args::{ExplainArgs, RECORDED_DECISIONS_ON};
use crate::output::{Done, Failure, Progress, deliver_of, none_failed};

pub(crate) fn run(a: &ExplainArgs) -> Done {
    a.output.check()?;
    let governor = a.governor.as_deref().unwrap_or_default();
    match (&a.why_differ, &a.golden, &a.decisions) {
        (Some(pair), _, _) => differ(a, pair),
        (None, Some(golden), _) => row(a, governor, golden),
        (None, None, Some(decisions)) => line(a, governor, decisions),
        (None, None, None) => one(a, governor),
    }
}

fn one(a: &ExplainArgs, governor: &str) -> Done {
    let which = match (a.decision, a.at, a.after) {
        (Some(n), _, _) => DecisionAddress::Decision(n),
        (None, Some(ns), _) => DecisionAddress::At(ns),
        (None, None, ns) => DecisionAddress::After(ns.unwrap_or_default()),
    };
    let request = ExplainRequest {
        trace: a.trace.clone().unwrap_or_default(),
        setup: a.stage.setup(),
        governor: governor.to_owned(),
        others: others(a.others.as_deref(), governor)?,
        cpu: a.cpu,
        which,
    };
    let report = {
        let _progress = Progress::reading("replaying", &request.setup.recording.meter);
        explain(&request)?
    };
    shown(a, &report)
}

fn row(a: &ExplainArgs, governor: &str, golden: &Path) -> Done {
    let request = RowRequest {
        golden: golden.to_owned(),
        row: a.row.unwrap_or_default(),
        governor: governor.to_owned(),
        others: others(a.others.as_deref(), governor)?,
        kernel_trees: a.stage.kernels.trees.clone(),
    };
    let report = explain_row(&request)?;
    shown(a, &report)
}

fn line(a: &ExplainArgs, governor: &str, decisions: &Path) -> Done {
    let request = LineRequest {
        decisions: decisions.to_owned(),
        line: a.line.unwrap_or_default(),
        platform: a.stage.platform.clone().unwrap_or_else(|| RECORDED_DECISIONS_ON.to_owned()),
        cpu: a.cpu.unwrap_or_default(),
        governor: governor.to_owned(),
        others: others(a.others.as_deref(), governor)?,
        kernel_trees: a.stage.kernels.trees.clone(),
    };
    shown(a, &explain_line(&request)?)
}

/// A foreign governor that crashes beside the explained one takes nothing away, but it is not done.
fn shown(a: &ExplainArgs, report: &ExplainReport) -> Done {
    let hashes = report.head.as_ref().map_or_else(Vec::new, pages::recording_hashes);
    deliver_of(&hashes, &a.output, &view::explain(report), report)?;
    let failures = report.failures();
    none_failed(&failures)
}

fn differ(a: &ExplainArgs, pair: &str) -> Done {
    let governors: [String; 2] =
        listed_governors("--why-differ", pair)?.try_into().map_err(|all: Vec<String>| {
            Failure::Error(format!("--why-differ {pair}: expected two governors, found {}", all.len()))
        })?;
    let request = WhyDifferRequest {
        trace: a.trace.clone().unwrap_or_default(),
        setup: a.stage.setup(),
        governors,
        cpu: a.cpu,
    };
    let report = {
        let _progress = Progress::reading("replaying", &request.setup.recording.meter);
        why_differ(&request)?
    };
    deliver_of(&pages::recording_hashes(&report.head), &a.output, &view::why_differ(&report), &report)
}

/// The governors to show beside `explained`: those asked for, or all others.
fn others(list: Option<&str>, explained: &str) -> Result<Vec<String>, Failure> {
    Ok(match list {
        Some("none") => Vec::new(),
        Some(list) => listed_governors("--others", list)?,
        None => {
            let all = catalog().iter().map(|g| g.id).chain([ORACLE]);
            all.filter(|id| *id != explained).map(str::to_owned).collect()
        }
    })
}

// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::path::Path;

use idlewise_experiment::again::{request as recorded_request, same_inputs};
use idlewise_experiment::beside::beside;
use idlewise_experiment::simulate::{
    SCHEMA, SimulateReport, SimulateRequest, TraceTo, responses, sidecar, simulate,
};
use idlewise_explain::convert::Form;
use idlewise_page as pages;
use idlewise_study::replay::{listed_governors, split_governors};
use idlewise_view as view;

use crate::again::asked_by;
use crate::args::SimulateArgs;
use crate::output::{
    Done, Failure, Progress, check_apart, check_new, deliver, deliver_of, none_failed, say_line, write_new,
    write_new_file,
};
use crate::page;

pub(crate) fn run(a: &SimulateArgs) -> Done {
    if a.list {
        return list();
    }
    a.output.check()?;
    a.page.check(&a.output)?;
    if let (Some(trace), Some(output)) = (&a.trace, &a.output.output) {
        check_apart(("--write-trace", trace), ("--output", output))?;
        check_apart(("the side-car of --write-trace,", &trace.with_extension("toml")), ("--output", output))?;
    }
    let again = a.again.as_deref();
    let offered = a.trust.offered(again)?;
    if let Some(option) = a.recording.options().first_given().filter(|_| a.beside.is_empty()) {
        return Err(Failure::Error(format!(
            "{option} is for a recording, and no recording is simulated: add --beside RECORDING, or leave \
             {option} out"
        )));
    }
    if !a.beside.is_empty() {
        let report = {
            let progress = Progress::new("preparing");
            beside(&request(a)?, &a.beside, &a.recording.options(), &|what| progress.say(what))?
        };
        deliver(&a.output, &view::beside(&report), &report)?;
        return Ok(true);
    }
    let (request, recorded) = match again {
        Some(path) => {
            let (request, value) = recorded_request(path, "simulate", SCHEMA, &offered)?;
            (request, Some(value))
        }
        None => (request(a)?, None),
    };
    let report = match &a.trace {
        None => play(&request, None),
        Some(path) => with_trace(&request, path),
    };
    let report = report.map_err(|e| match e {
        Failure::Error(why) => asked_by(again, why),
        closed @ Failure::Closed => closed,
    })?;
    if let (Some(path), Some(recorded)) = (again, recorded) {
        same_inputs(path, &recorded, &report.platform, std::iter::empty())?;
    }
    let everything = || view::simulate(&report, a.tasks);
    let shown = if a.tasks {
        everything()
    } else {
        a.all.shown(&a.output, everything, |layout| view::answer(&report.answer, layout))
    };
    let inputs = pages::hashes(&report.platform.id, &report.platform.hash, std::iter::empty());
    deliver_of(&inputs, &a.output, &shown, &report)?;
    if a.page.is_asked() {
        let everything = view::simulate(&report, true);
        let responses = responses(&report.request)?;
        a.page.write(&pages::simulate(&report, &responses, page::source(&report, &everything)?))?;
    }
    let failures: Vec<&str> = report.combinations.iter().filter_map(|c| c.failure.as_deref()).collect();
    none_failed(&failures)
}

fn play(request: &SimulateRequest, trace: Option<&TraceTo<'_>>) -> Result<SimulateReport, Failure> {
    let progress = Progress::new("preparing");
    Ok(simulate(request, trace, &|done, of| progress.step("simulating", done, of))?)
}

/// The trace of the run, and beside it what replay has to know of it.
fn with_trace(request: &SimulateRequest, path: &Path) -> Result<SimulateReport, Failure> {
    let form = Form::of(path).ok_or_else(|| {
        let path = path.display();
        format!(
            "{path}: which format? End the name with .txt for ftrace text, with .perfetto-trace for Perfetto"
        )
    })?;
    let beside = path.with_extension("toml");
    check_new(&beside, false)?;
    let report = write_new_file(path, false, |file| {
        play(request, Some(&TraceTo { form, file, path: path.to_owned() }))
    })?;
    write_new(&beside, sidecar(request).as_bytes(), false)?;
    Ok(report)
}

fn list() -> Done {
    for (name, what) in idlewise_experiment::simulate::workloads()? {
        say_line(&format!("{name:<12} {what}"))?;
    }
    Ok(true)
}

/// Runs of each combination, unless something else is asked for: fewer have no interval that means much.
const RUNS: u64 = 5;

/// The changes by key, each once.
fn changes(all: &[(String, String)]) -> Result<BTreeMap<String, String>, Failure> {
    let mut out = BTreeMap::new();
    for (key, value) in all {
        if out.insert(key.clone(), value.clone()).is_some() {
            return Err(Failure::Error(format!("--set {key}: is given twice; leave one out")));
        }
    }
    Ok(out)
}

fn request(a: &SimulateArgs) -> Result<SimulateRequest, Failure> {
    Ok(SimulateRequest {
        workload: a.workload.clone().unwrap_or_default(),
        platform: a.platform.clone(),
        changes: changes(&a.set)?,
        governors: listed_governors("--governor", &a.governor)?,
        kernel_trees: a.kernels.trees.clone(),
        cpufreq: split_governors("--cpufreq", &a.cpufreq)?,
        signals: split_governors("--signal", &a.signal)?,
        kernel: a.kernel.clone(),
        hz: a.hz,
        cpus: a.cpus.map(|n| n as usize),
        duration_ns: a.seconds,
        seed: a.seed,
        // A trace is of one run.
        repeat: a.repeat.unwrap_or(if a.trace.is_some() { 1 } else { RUNS }),
        baseline: a.baseline.clone(),
        base_mw: a.base_mw,
        power_limit: a.power_limit.clone(),
    })
}

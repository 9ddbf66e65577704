// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::path::PathBuf;

use idlewise_explain::convert::{Carried, ConvertReport, ConvertRequest, Form, convert};
use idlewise_recording::RecordingOptions;
use idlewise_study::replay::split_governors;

use crate::args::{ConvertArgs, ConvertTo};
use crate::output::{
    Done, Failure, Progress, check_new_from, is_stdout, none_failed, say_beside, write_new, write_new_with,
};

/// So many kinds of events that lost their fields are named.
const NAMED: usize = 3;

pub(crate) fn run(a: &ConvertArgs) -> Done {
    let to = match a.to {
        Some(ConvertTo::Text) => Some(Form::Text),
        Some(ConvertTo::Perfetto) => Some(Form::Perfetto),
        None => Form::of(&a.output),
    };
    let Some(to) = to else {
        return Err(Failure::Error(format!(
            "{}: which format? Add --to perfetto or --to text, or end the name with .perfetto-trace or .txt",
            a.output.display()
        )));
    };
    let governors = a.governor.as_deref().map(split_governors);
    match governors.as_deref() {
        None => passed_over(a)?,
        Some([]) => {
            return Err(Failure::Error("--governor names none; name one, or leave it out".to_owned()));
        }
        Some(_) => {}
    }
    check_new_from(&a.output, a.force, &a.trace)?;
    let request = ConvertRequest {
        trace: a.trace.clone(),
        to,
        output: a.output.clone(),
        governors: governors.unwrap_or_default(),
        recording: a.stage.recording(),
        platform: a.stage.platform.clone(),
        cluster: a.stage.cluster.clone(),
        kernel_trees: a.stage.kernels.trees.clone(),
        seed: a.stage.seed,
    };
    let progress = Progress::new("converting");
    let report = write_new_with(&a.output, a.force, |out| {
        Ok(convert(&request, out, &|done, of| progress.step("replaying", done, of))?)
    })?;
    drop(progress);
    summary(a, &report).iter().try_for_each(|line| say_beside(&a.output, line))?;
    if let Some(carried) = &report.description {
        say_beside(&a.output, &describe(a, carried)?)?;
    }
    let failures: Vec<&str> = report.tracks.iter().filter_map(|t| t.failure.as_deref()).collect();
    none_failed(&failures)
}

/// Writes what is known of the recording next to the new file, and says so, or that it is not there. A side-car that is there says
/// what its owner wants it to say.
fn describe(a: &ConvertArgs, carried: &Carried) -> Result<String, Failure> {
    let what = &carried.what;
    if is_stdout(&a.output) {
        return Ok(format!(
            "not carried over: what is known of the recording ({what}); a file gets it as a side-car (--output FILE)"
        ));
    }
    let sidecar = a.output.with_extension("toml");
    let shown = sidecar.display();
    if !sidecar.exists() {
        write_new(&sidecar, carried.text.as_bytes(), false)?;
        return Ok(format!("{shown}: what is known of the recording ({what})"));
    }
    let is_that =
        |its: &PathBuf| matches!((its.canonicalize(), sidecar.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if carried.sidecar.as_ref().is_some_and(is_that) {
        return Ok(format!("{shown}: describes the new file, too ({what})"));
    }
    Ok(format!(
        "not carried over: what is known of the recording ({what}); {shown} exists, is not overwritten, and \
         describes the new file"
    ))
}

/// Without governors nothing is replayed: what says where and how would be passed over.
fn passed_over(a: &ConvertArgs) -> Result<(), Failure> {
    // Events are of an instance, too.
    let recording = RecordingOptions { instance: None, ..a.stage.recording() };
    let given = [
        ("--platform", a.stage.platform.is_some()),
        ("--cluster", a.stage.cluster.is_some()),
        ("--seed", a.stage.seed != 0),
        ("--kernel-tree", !a.stage.kernels.trees.is_empty()),
    ];
    let given = given.into_iter().find(|(_, given)| *given).map(|(option, _)| option);
    match given.or_else(|| recording.first_given()) {
        Some(option) => Err(Failure::Error(format!(
            "{option} is for governors that are replayed, and none is named: add --governor, or leave it out"
        ))),
        None => Ok(()),
    }
}

fn summary(a: &ConvertArgs, report: &ConvertReport) -> Vec<String> {
    let about = fs::metadata(&a.output).ok().filter(|_| !is_stdout(&a.output));
    let bytes = about.map_or_else(String::new, |about| format!(", {} bytes", about.len()));
    let mut out = vec![format!("{}: {} events{bytes}", a.output.display(), report.events)];
    out.extend(report.assumption.iter().map(|a| format!("the governors' tracks are right if {a}")));
    out.extend(report.warnings.iter().map(|w| format!("WARNING: {w}")));
    out.extend(report.lacks.iter().map(|what| format!("not carried over: {what}")));
    if report.events == 0 {
        out.push("there are no events in this trace: `idlewise info` says what is wrong with it".to_owned());
    }
    let bare: u64 = report.bare.iter().map(|(_, n)| n).sum();
    if bare > 0 {
        let names: Vec<String> =
            report.bare.iter().take(NAMED).map(|(name, n)| format!("{name} {n}")).collect();
        let more = if report.bare.len() > NAMED { ", ..." } else { "" };
        out.push(format!("without their fields: {bare} events ({}{more})", names.join(", ")));
    }
    for tracks in report.tracks.iter().filter(|t| t.failure.is_none()) {
        let cpus: Vec<String> = tracks.cpus.iter().map(u32::to_string).collect();
        let of = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        let cpus = cpus.join(" ");
        out.push(format!("tracks of {}: {} idle periods, {of} {cpus}", tracks.governor, tracks.stays));
    }
    out
}

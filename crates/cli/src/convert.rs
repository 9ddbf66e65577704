// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::path::Path;

use idlewise_explain::convert::{ConvertRequest, Form, convert};
use idlewise_governor::Spec;
use idlewise_study::replay::listed_governors;
use idlewise_view as view;

use crate::args::{ConvertArgs, ConvertTo};
use crate::output::{
    Done, Failure, Progress, check_new_from, is_stdout, none_failed, say_beside, write_new, write_new_with,
};

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
    let governors = a.governor.as_deref().map(|list| listed_governors("--governor", list)).transpose()?;
    let request = ConvertRequest {
        trace: a.trace.clone(),
        to,
        output: if is_stdout(&a.output) { "standard output".into() } else { a.output.clone() },
        governors: governors.unwrap_or_default(),
        setup: a.stage.setup(),
    };
    request.check()?;
    let governors: Vec<Spec> = request.governors.iter().filter_map(|spec| spec.parse().ok()).collect();
    let mut others = a.stage.recording.files();
    others.extend(governors.iter().map(|spec| Path::new(&spec.id)));
    others.extend(a.stage.platform.as_deref().map(Path::new));
    check_new_from(&a.output, a.force, &a.trace, &others)?;
    let progress = Progress::reading("converting", &request.setup.recording.meter);
    let report = write_new_with(&a.output, a.force, |out| {
        Ok(convert(&request, out, &|done, of| progress.step("replaying", done, of))?)
    })?;
    drop(progress);
    let written = fs::metadata(&a.output).ok().filter(|_| !is_stdout(&a.output));
    let lines = view::convert(&a.output, written.map(|about| about.len()), &report);
    lines.iter().try_for_each(|line| say_beside(&a.output, line))?;
    if let Some(carried) = &report.description {
        let kept = carried.keep(&a.output, |path, text| write_new(path, text, false))?;
        say_beside(&a.output, &view::carried(carried, &kept))?;
    }
    let failures: Vec<&str> = report.tracks.iter().filter_map(|t| t.failure.as_deref()).collect();
    none_failed(&failures)
}

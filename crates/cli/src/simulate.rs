// SPDX-License-Identifier: GPL-2.0-only
use idlewise_lab::simulate::{SCHEMA, SimulateRequest, simulate};
use idlewise_lab::{replay::split_governors, view};

use crate::again;
use crate::args::SimulateArgs;
use crate::output::{Done, Failure, Progress, deliver, say};

pub(crate) fn run(a: &SimulateArgs) -> Done {
    if a.list {
        return list();
    }
    a.output.check()?;
    let (request, recorded) = match &a.again {
        Some(path) => {
            let (request, value) = again::request(path, "simulate", SCHEMA)?;
            (request, Some(value))
        }
        None => (request(a), None),
    };
    let report = {
        let progress = Progress::new("preparing");
        simulate(&request, &|done, of| progress.step("simulating", done, of))?
    };
    if let Some(recorded) = recorded {
        again::same_inputs(&recorded, &report.platform, &report.foreign, std::iter::empty())?;
    }
    deliver(&a.output, &view::simulate(&report, a.tasks), &report)?;
    let failures: Vec<&str> = report.combinations.iter().filter_map(|c| c.failure.as_deref()).collect();
    if failures.is_empty() { Ok(true) } else { Err(Failure::Error(failures.join("\nidlewise: "))) }
}

fn list() -> Done {
    for (name, what) in idlewise_lab::simulate::workloads()? {
        say(&format!("{name:<12} {what}\n"))?;
    }
    Ok(true)
}

fn request(a: &SimulateArgs) -> SimulateRequest {
    SimulateRequest {
        workload: a.workload.clone().unwrap_or_default(),
        platform: a.platform.clone(),
        governors: split_governors(&a.governor),
        kernel_trees: a.kernels.trees.clone(),
        cpufreq: split_governors(&a.cpufreq),
        signals: split_governors(&a.signal),
        kernel: a.kernel.clone(),
        hz: a.hz,
        cpus: a.cpus.map(|n| n as usize),
        duration_ns: a.seconds,
        seed: a.seed,
        repeat: a.repeat,
        baseline: a.baseline.clone(),
    }
}

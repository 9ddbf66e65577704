// SPDX-License-Identifier: GPL-2.0-only
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use idlewise_boot::{IdleDriver, WORKLOADS, Watch};
use idlewise_machine::boot::{self, BootRequest, BuildRequest, SelfTestRequest};
use idlewise_page as pages;
use idlewise_report::{Format, Report, Table};
use idlewise_study::replay::split_governors;
use idlewise_view as view;

use crate::args::{
    BootBuildArgs, BootCommand, BootMachineArgs, BootRunArgs, BootSelfTestArgs, DriverArg, PerChoice,
};
use crate::output::{Done, Failure, Progress, deliver, say, say_line, warn};
use crate::page;

pub(crate) fn run(what: BootCommand) -> Done {
    match what {
        BootCommand::Build(a) => build(&a),
        BootCommand::Run(a) => {
            if a.machine.platform.contains(',') || a.workload.contains(',') {
                return Err(Failure::Error(
                    "expected one platform and one workload; for several use: idlewise boot \
                     matrix"
                        .to_owned(),
                ));
            }
            matrix(&a)
        }
        BootCommand::Matrix(a) => matrix(&a),
        BootCommand::SelfTest(a) => self_test(a),
        BootCommand::Shell(a) => {
            let request = request(&a.machine, &a.build)?;
            let watcher = Watcher::new()?;
            boot::shell(&request, &watcher)?;
            Ok(true)
        }
        BootCommand::Overlay { tree, remove } => overlay(&tree, remove),
        BootCommand::Workloads => workloads(),
    }
}

fn build(a: &BootBuildArgs) -> Done {
    let watcher = Watcher::new()?;
    let (kernel, log) = boot::build(&build_request(a), &watcher)?;
    drop(watcher);
    say(&format!(
        "kernel  {} ({})\nimage   {}\nlog     {}\n",
        kernel.release,
        kernel.id,
        kernel.image.display(),
        log.display()
    ))?;
    Ok(true)
}

fn build_request(a: &BootBuildArgs) -> BuildRequest {
    BuildRequest {
        folder: a.folder.clone(),
        kernel_tree: a.kernel_tree.clone(),
        version: a.linux.clone(),
        jobs: a.jobs,
    }
}

fn request(machine: &BootMachineArgs, build: &BootBuildArgs) -> Result<BootRequest, Failure> {
    Ok(BootRequest {
        build: build_request(build),
        platforms: split_governors("--platform", &machine.platform)?,
        cpus: machine.cpus,
        driver: match machine.driver {
            DriverArg::Synth => IdleDriver::Synth,
            DriverArg::Psci => IdleDriver::Psci,
        },
        reject: machine.reject,
        cpufreq: machine.cpufreq.clone(),
        ..BootRequest::default()
    })
}

fn run_request(a: &BootRunArgs) -> Result<BootRequest, Failure> {
    let PerChoice(per) = a.per.into();
    Ok(BootRequest {
        governors: split_governors("--governor", &a.governor)?,
        workloads: split_governors("--workload", &a.workload)?,
        seconds: a.seconds,
        rt_app: a.rt_app_file.clone(),
        without_true_inputs: a.without_true_inputs,
        to: a.to.clone(),
        per,
        ..request(&a.machine, &a.build)?
    })
}

fn self_test(a: BootSelfTestArgs) -> Done {
    a.output.check()?;
    let request = SelfTestRequest {
        build: build_request(&a.build),
        platforms: split_governors("--platform", &a.platform)?,
        governor: a.governor,
        workload: a.workload,
        seconds: a.seconds,
    };
    let watcher = Watcher::new()?;
    let report = boot::self_test(&request, &watcher)?;
    drop(watcher);
    deliver(&a.output, &view::self_test(&report), &report)?;
    Ok(report.checks.iter().all(|c| c.holds))
}

fn matrix(a: &BootRunArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    let request = run_request(a)?;
    let watcher = Watcher::new()?;
    let report = boot::run(&request, &watcher)?;
    drop(watcher);
    deliver(&a.output, &view::boot(&report, request.per), &report)?;
    if a.page.is_asked() {
        let everything = view::boot(&report, request.per);
        a.page.write(&pages::boot(&report, page::source(&report, &everything)?))?;
    }
    Ok(report.cells.iter().all(|c| c.complaints.is_empty() && c.checks.iter().all(|check| check.holds())))
}

fn overlay(tree: &Path, remove: bool) -> Done {
    let failed = |e: idlewise_boot::BootError| Failure::Error(e.to_string());
    if remove {
        idlewise_boot::remove(tree).map_err(failed)?;
        say_line(&format!("{}: the governors are removed", tree.display()))?;
        return Ok(true);
    }
    let changed = idlewise_boot::install(tree).map_err(failed)?;
    let mut text = String::new();
    for path in &changed {
        text += &format!("{}\n", path.display());
    }
    text += &format!(
        "{} files written. Next, in the tree: make menuconfig (CPU Power Management, CPU Idle: \"The idle governors of \
         idlewise\"), or scripts/config -e IDLEWISE -e IDLEWISE_RECORD; then build it as usual\n",
        changed.len()
    );
    say(&text)?;
    Ok(true)
}

fn workloads() -> Done {
    let mut table = Table::new("", vec!["workload".to_owned(), "what it does".to_owned()]);
    table.text_columns = 2;
    table.rows.extend(WORKLOADS.iter().map(|w| vec![w.name.to_owned(), w.what.to_owned()]));
    say(&Report { tables: vec![table], ..Report::default() }
        .render(Format::Table, &())
        .map_err(|e| e.to_string())?)?;
    Ok(true)
}

/// Shows what is being done: on a terminal in one line, else a line whenever something else begins. Ctrl-C ends what is
/// being done, and with it the command.
struct Watcher {
    stopped: Arc<AtomicBool>,
    progress: Option<Progress>,
    last: Mutex<String>,
}

impl Watcher {
    fn new() -> Result<Self, Failure> {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed)).map_err(|e| e.to_string())?;
        let progress = io::stderr().is_terminal().then(|| Progress::new("shell"));
        Ok(Self { stopped, progress, last: Mutex::new(String::new()) })
    }
}

impl Watch for Watcher {
    fn doing(&self, what: &str) {
        if let Some(progress) = &self.progress {
            progress.say(what);
            return;
        }
        // Counts after a colon change often; one line for all of them.
        let kind = what.split(':').next().unwrap_or(what);
        if let Ok(mut last) = self.last.lock()
            && *last != kind
        {
            warn(kind);
            kind.clone_into(&mut last);
        }
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

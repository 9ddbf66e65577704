// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use idlewise_boot::{IdleDriver, WORKLOADS};
use idlewise_host::BootWatch;
use idlewise_machine::boot::{self, BootRequest, BuildRequest, SelfTestRequest};
use idlewise_page as pages;
use idlewise_report::Format;
use idlewise_study::replay::split_governors;
use idlewise_view as view;

use crate::args::{MACHINE, OutputArgs, PageArgs, PerArg, PerChoice};
use crate::output::{Done, Failure, check_new, deliver, is_stdout, say, say_line, say_unless, write_new};

#[derive(Debug, Args)]
#[command(after_help = idlewise_manual::examples::BOOT)]
pub(crate) struct BootArgs {
    #[command(subcommand)]
    pub(crate) what: BootCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BootCommand {
    /// Build the guest's kernel with the governors in it
    Build(BootBuildArgs),
    /// Boot a machine under each governor, and compare
    ///
    /// Runs a workload under each, and scores the kernel's choices.
    Run(BootRunArgs),
    /// As run, for every platform with every workload
    Matrix(BootRunArgs),
    /// Test `idlewise boot` here
    ///
    /// Runs the governors' KUnit tests in a guest, and compares two identical runs byte by byte.
    SelfTest(BootSelfTestArgs),
    /// Open a shell in a guest (poweroff -f ends it)
    Shell(BootShellArgs),
    /// Add the governors to a kernel tree, or remove them
    Overlay {
        /// The top folder of the tree
        #[arg(value_name = "TREE")]
        tree: PathBuf,
        /// Remove them
        #[arg(long)]
        remove: bool,
        /// Write a patch that would add them, and leave the tree as it is
        #[arg(long, value_name = "FILE", conflicts_with = "remove")]
        patch: Option<PathBuf>,
        /// For the patch: this governor alone, as a file of its own
        #[arg(long, value_name = "ID", requires = "patch")]
        governor: Option<String>,
    },
    /// List the workloads of guests
    Workloads,
}

/// Which kernel, and where the lab keeps what it fetched and built.
#[derive(Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct BootBuildArgs {
    /// The kernel tree to build [default: Debian's source]
    ///
    /// A tree to which `idlewise boot overlay` has added the governors. Debian's source of the version that
    /// --linux names is downloaded if needed.
    #[arg(long, value_name = "TREE")]
    pub(crate) kernel_tree: Option<PathBuf>,
    /// The version of Debian's kernel: 6.1, 7.3 [default: 6.12]
    #[arg(long, value_name = "VERSION", conflicts_with = "kernel_tree")]
    pub(crate) linux: Option<String>,
    /// The folder for sources, builds and guests; some 3 GB
    ///
    /// [default: $IDLEWISE_LAB, else idlewise/lab in the cache folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Number of parallel compile jobs [default: one for each CPU]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

/// The machine.
#[derive(Debug, Args)]
#[command(next_help_heading = MACHINE)]
pub(crate) struct BootMachineArgs {
    /// Platforms whose idle states and CPUs the guest gets
    #[arg(short, long, value_name = "LIST", default_value = "pixel6")]
    pub(crate) platform: String,
    /// CPUs of the guest, at most 8 [default: the platform's]
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<u32>,
    /// The guest's cpuidle driver
    #[arg(long, value_enum, default_value = "synth")]
    pub(crate) driver: DriverArg,
    /// Refuse every Nth entry into a deeper state (synth only)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) reject: u32,
    /// A cpufreq governor for all CPUs
    #[arg(long, value_name = "NAME")]
    pub(crate) cpufreq: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BootRunArgs {
    /// Governors to boot: linux/menu,teo-util,./mine.c
    ///
    /// Those of idlewise, with optional parameters; the kernel's own as linux/menu, linux/teo, linux/ladder;
    /// your own by path.
    #[arg(short, long, value_name = "LIST", default_value = "linux/menu,teo-6.1,teo-util")]
    pub(crate) governor: String,
    /// Workloads (see `idlewise boot workloads`)
    #[arg(short, long, value_name = "LIST", default_value = "timer")]
    pub(crate) workload: String,
    /// Duration of each workload, in seconds of the guest
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// How long the guest idles before the workload, in seconds of the guest
    ///
    /// A kernel that was just booted has timers that it does not have later. After 130 s they are gone; a guest that
    /// idles skips that time.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=3600))]
    pub(crate) settle: u32,
    /// Boot everything N times, each time a little later
    ///
    /// The same run again would be the same to the bit. Of the file of rt-app each run after the first has all times
    /// longer or shorter by up to 3 %. What is recorded already is not booted again.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) starts: Option<u32>,
    /// The file that the workload rt-app reads
    #[arg(long, value_name = "FILE.json")]
    pub(crate) rt_app_file: Option<PathBuf>,
    /// Do not record the inputs of governors (the events idlewise:*)
    #[arg(long)]
    pub(crate) without_true_inputs: bool,
    /// The folder for the recordings
    ///
    /// With a folder for each platform and workload, and in it one for each governor.
    #[arg(long, value_name = "DIR", default_value = "lab-runs")]
    pub(crate) to: PathBuf,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PerArg>,
    #[command(flatten)]
    pub(crate) machine: BootMachineArgs,
    #[command(flatten)]
    pub(crate) build: BootBuildArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BootSelfTestArgs {
    /// Platforms, each booted twice under each governor and each idle driver that it can have
    #[arg(short, long, value_name = "LIST", default_value = "pixel6,rk3399")]
    pub(crate) platform: String,
    /// The governors of these runs
    #[arg(short, long, value_name = "LIST", default_value = "teo-util")]
    pub(crate) governor: String,
    /// Their workload
    #[arg(short, long, value_name = "NAME", default_value = "timer")]
    pub(crate) workload: String,
    /// Duration of the workload, in seconds of the guest
    #[arg(short, long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    #[command(flatten)]
    pub(crate) build: BootBuildArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BootShellArgs {
    #[command(flatten)]
    pub(crate) machine: BootMachineArgs,
    #[command(flatten)]
    pub(crate) build: BootBuildArgs,
}

/// An idle driver.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DriverArg {
    /// The driver of idlewise: any idle states
    ///
    /// The guest spends their latencies.
    Synth,
    /// The kernel's driver for arm64 firmware
    ///
    /// Latencies are declared only.
    Psci,
}

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
            let watcher = BootWatch::new()?;
            boot::shell(&request, &watcher)?;
            Ok(true)
        }
        BootCommand::Overlay { tree, remove, patch, governor } => match patch {
            Some(file) => patch_into(&file, &tree, governor.as_deref()),
            None => overlay(&tree, remove),
        },
        BootCommand::Workloads => workloads(),
    }
}

fn build(a: &BootBuildArgs) -> Done {
    let watcher = BootWatch::new()?;
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
        settle_ms: a.settle * 1000,
        starts: a.starts,
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
        governors: split_governors("--governor", &a.governor)?,
        workload: a.workload,
        seconds: a.seconds,
    };
    let watcher = BootWatch::new()?;
    let report = boot::self_test(&request, &watcher)?;
    drop(watcher);
    deliver(&a.output, &view::self_test(&report), &report)?;
    Ok(report.checks.iter().all(|c| c.holds))
}

fn matrix(a: &BootRunArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    let request = run_request(a)?;
    let watcher = BootWatch::new()?;
    let report = boot::run(&request, &watcher)?;
    drop(watcher);
    deliver(&a.output, &view::boot(&report, request.per), &report)?;
    a.page.write_of(&report, || view::boot(&report, request.per), |of| pages::boot(&report, of))?;
    Ok(report.cells.iter().all(|c| c.complaints.is_empty() && c.checks.iter().all(|check| check.holds())))
}

fn overlay(tree: &Path, remove: bool) -> Done {
    if remove {
        idlewise_boot::remove(tree).map_err(|e| e.to_string())?;
        say_line(&format!("{}: the governors are removed", tree.display()))?;
    } else {
        say(&idlewise_boot::written(&idlewise_boot::install(tree).map_err(|e| e.to_string())?))?;
    }
    Ok(true)
}

fn patch_into(file: &Path, tree: &Path, governor: Option<&str>) -> Done {
    check_new(file, false)?;
    let patch = idlewise_boot::patch(tree, governor).map_err(|e| e.to_string())?;
    write_new(file, patch.as_bytes(), false)?;
    say_unless(is_stdout(file), &format!("{}: next, in a tree: git apply, or patch -p1", file.display()))?;
    Ok(true)
}

fn workloads() -> Done {
    let table = view::guest_workloads(WORKLOADS.iter().map(|w| (w.name, w.what)));
    say(&table.render(Format::Table, &()).map_err(|e| e.to_string())?)?;
    Ok(true)
}

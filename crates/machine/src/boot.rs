// SPDX-License-Identifier: GPL-2.0-only
//! Governors in a booted kernel: `idlewise boot`.

mod build;
mod chosen;
mod guest;
mod self_test;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_boot::{
    BootError, Build, Configuration, IdleDriver, KernelTree, Lab, LabFolder, Machine, Run, WINDOW, Watch,
    Workload, workload,
};
use idlewise_model::{NotKnown, Note, NoteId, known};
use idlewise_platform::Platform;
use schemars::JsonSchema;
use serde::Serialize;

use crate::MachineError;
use idlewise_conform::recorded_governors::RecordedGovernor;
use idlewise_recording::counters::CounterCheck;
use idlewise_recording::placement::Per;
use idlewise_recording::{CommandError, FidelityHead, RT_APP_FILE, RecordingOptions, ReplaySetup};
use idlewise_study::replay::{self, GovernorResult, ReplayRequest, results_of_scores};
use idlewise_study::score;

use build::{check_version, tree};
use chosen::Chosen;

pub use build::{BuildRequest, build};
pub use guest::guest;
pub use self_test::{Check, SELF_TEST_SCHEMA, SelfTest, SelfTestRequest, kunit_checks, self_test};

/// Version of the JSON that booted runs give.
pub const SCHEMA: &str = "idlewise.lab/2";

/// The guests to boot: machines, governors, loads, and where recordings go.
#[derive(Clone, Debug, Default)]
pub struct BootRequest {
    pub build: BuildRequest,
    pub platforms: Vec<String>,
    /// Governors: ours by their ids, the kernel's own as `linux/NAME`, the user's by the paths of their C files.
    pub governors: Vec<String>,
    pub workloads: Vec<String>,
    /// Duration of each workload, in seconds of the guest.
    pub seconds: u32,
    /// How long the guest idles before, ms.
    pub settle_ms: u32,
    /// How often each is booted, each time with another load and start; `None`: once, as the file has it.
    pub starts: Option<u32>,
    /// CPUs of the guest, where not as many as the platform has.
    pub cpus: Option<u32>,
    /// Who puts the CPUs to sleep.
    pub driver: IdleDriver,
    /// The synthetic driver refuses every Nth deeper entry; 0 for none.
    pub reject: u32,
    /// The file for the workload `rt-app`.
    pub rt_app: Option<PathBuf>,
    pub cpufreq: Option<String>,
    /// Leave the governors' true inputs out of the trace.
    pub without_true_inputs: bool,
    /// Where the recordings go.
    pub to: PathBuf,
    /// How to break results down.
    pub per: Per,
}

/// What was recorded in each guest, and how replay agrees with it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct BootReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    /// `uname -r` of the guest.
    pub kernel: String,
    /// Hash of all that went into the kernel; of each, with commas between, where workloads need different ones.
    pub kernel_id: String,
    pub qemu: String,
    /// The governor to which the others are compared: the first.
    pub baseline: String,
    /// By platform and workload.
    pub cells: Vec<Cell>,
}

/// One workload on one machine under every governor.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Cell {
    pub platform: String,
    pub driver: String,
    /// CPUs of the guest.
    pub cpus: u32,
    pub workload: String,
    /// Guest seconds asked for.
    pub seconds: u32,
    /// Which start this is, from 1; nothing where there is only one.
    pub start: Option<u32>,
    /// Where the recordings are: a folder for each governor.
    pub folder: PathBuf,
    /// The kernel's choices under each governor, judged.
    pub governors: Vec<GovernorResult>,
    /// How far each recording agrees with what else is known of it, in the order of `governors`.
    pub checks: Vec<RecordingCheck>,
    /// What guests found wrong.
    pub complaints: Vec<Note>,
}

/// Three looks at one recording.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct RecordingCheck {
    pub governor: String,
    /// The same governor in user space, fed with what the kernel's was given: as often as it was asked, the same choice.
    /// `None` where true inputs were not recorded.
    pub parity: Option<RecordedGovernor>,
    /// The same governor replayed from the stock events alone.
    #[serde(flatten, serialize_with = "known::fidelity")]
    #[schemars(with = "known::FidelityOrWhy<FidelityHead>")]
    pub fidelity: Result<FidelityHead, NotKnown>,
    /// The trace against the kernel's own counters.
    pub counters: Option<CounterCheck>,
}

impl RecordingCheck {
    /// Whether nothing contradicts: every choice the same from the same inputs, every counter equal. Fidelity is a measure of
    /// how much a trace tells, so it is none of this.
    #[must_use]
    pub fn holds(&self) -> bool {
        let parity = self.parity.as_ref().is_none_or(|p| p.result.is_ok() && p.mismatches() == 0);
        parity && self.counters.as_ref().is_none_or(CounterCheck::same)
    }
}

/// A governor that a report has no results of, since a guest of it was not booted, hung, or left nothing.
#[derive(Clone, Debug)]
pub struct FailedGovernor {
    /// As the request has it.
    pub governor: String,
    /// It is the first in its further starts.
    pub again: bool,
    pub why: String,
}

/// Boots a guest for every platform, workload and governor, and judges what the kernel chose. What was recorded before with
/// the same settings is not recorded again: it would be the same to the bit.
///
/// # Errors
/// [`MachineError`] when something cannot be built, booted or read; what was recorded until then is kept.
pub fn run(request: &BootRequest, watch: &dyn Watch) -> Result<BootReport, MachineError> {
    boot_all(request, false, watch, &mut Err)
}

/// As [`run`], but where a guest of another governor than the first fails, its governor is left out of all cells, and the
/// others go on. With `again` the first is booted in as many further starts, alone: cells of their own, which follow in the numbers
/// of starts.
///
/// # Errors
/// As those of [`run`].
pub fn run_without_failed(
    request: &BootRequest,
    again: bool,
    watch: &dyn Watch,
) -> Result<(BootReport, Vec<FailedGovernor>), MachineError> {
    let mut failed = Vec::new();
    let report = boot_all(request, again, watch, &mut |guest: GuestFailure| {
        if Some(&guest.governor) == request.governors.first() && !guest.again {
            return Err(guest);
        }
        let why = guest.error.to_string();
        failed.push(FailedGovernor { governor: guest.governor, again: guest.again, why });
        Ok(())
    })?;
    Ok((report, failed))
}

/// Why a guest brought nothing home.
struct GuestFailure {
    governor: String,
    again: bool,
    error: Box<BootError>,
}

/// Whether the guest failed, rather than something that all guests need.
fn is_of_guest(error: &BootError) -> bool {
    matches!(error, BootError::Guest(_) | BootError::Failed { .. })
}

/// The starts of a workload, each with its number from 1 and those of `all` that are booted in it; without `n` there is one, which
/// has no number. With `again` the first of `all` is in as many further ones.
#[must_use]
pub fn starts<T>(n: Option<u32>, again: bool, all: &[T]) -> Vec<(Option<u32>, &[T])> {
    let Some(n) = n else { return vec![(None, all)] };
    let first = all.get(..1).filter(|_| again).unwrap_or_default();
    let further = (n + 1..=n * 2).filter(|_| !first.is_empty()).map(|start| (Some(start), first));
    (1..=n).map(|start| (Some(start), all)).chain(further).collect()
}

/// `fail` hears of a guest that failed: it ends everything, or what the governor did so far is left out. `again` as in
/// [`run_without_failed`].
fn boot_all(
    request: &BootRequest,
    again: bool,
    watch: &dyn Watch,
    fail: &mut dyn FnMut(GuestFailure) -> Result<(), GuestFailure>,
) -> Result<BootReport, MachineError> {
    check_version(&request.build)?;
    let folder = LabFolder::open(request.build.folder.as_deref())?;
    let platforms =
        request.platforms.iter().map(|p| idlewise_platform::find(p)).collect::<Result<Vec<_>, _>>()?;
    let workloads = request.workloads.iter().map(|w| workload(w)).collect::<Result<Vec<_>, _>>()?;
    for platform in &platforms {
        machine(request, platform)?;
    }
    let rt_app = rt_app(request, &workloads)?;
    for (i, name) in request.governors.iter().enumerate() {
        if request.governors.iter().take(i).any(|other| other == name) {
            return Err(CommandError::governor_twice(name).into());
        }
    }
    let chosen = Chosen::all(&request.governors)?;
    let tree = tree(&request.build, &folder, watch)?;
    for governor in &chosen {
        governor.in_replay(tree.folder(), Path::new(""))?;
    }
    let users = chosen::users(&chosen);
    let configurations: BTreeSet<Configuration> = workloads.iter().map(Workload::configuration).collect();
    let mut labs = BTreeMap::new();
    for configuration in configurations {
        let build = Build::new(&tree, configuration, &folder, request.build.jobs, watch)?;
        let kernel = build.with_governors(&users).kernel()?;
        labs.insert(configuration, Lab::new(&folder, kernel, watch)?);
    }
    let starts = starts(request.starts, again, &chosen);
    let mut bootings = Vec::new();
    for platform in &platforms {
        for workload in &workloads {
            for (start, chosen) in starts.iter().copied() {
                let rt_app = rt_app.as_deref().map(|text| varied(text, start));
                let lab = &labs[&workload.configuration()];
                bootings.push(Booting::new(request, lab, &tree, platform, *workload, start, chosen, rt_app)?);
            }
        }
    }
    let of = bootings.iter().map(|b| b.runs.iter().filter(|r| !r.recorded).count()).sum();
    let mut done = 0;
    watch.booted(done, of);
    let is_further = |booting: &Booting<'_>| booting.start.zip(request.starts).is_some_and(|(at, n)| at > n);
    // Of the starts that all have, and of further ones.
    let mut all_failed: [BTreeSet<&str>; 2] = Default::default();
    for booting in &bootings {
        let again = is_further(booting);
        let failed = &mut all_failed[usize::from(again)];
        for run in booting.runs.iter().filter(|r| !r.recorded) {
            let name = run.governor.name.as_str();
            if !failed.contains(name) {
                match run.boot(booting.lab) {
                    Err(error) if is_of_guest(&error) => {
                        fail(GuestFailure { governor: name.to_owned(), again, error: error.into() })
                            .map_err(|guest| *guest.error)?;
                        failed.insert(name);
                    }
                    ended => ended?,
                }
            }
            done += 1;
            watch.booted(done, of);
        }
    }
    let failed = |booting: &Booting<'_>| &all_failed[usize::from(is_further(booting))];
    let cells = bootings.iter().map(|booting| booting.judged(&tree, request.per, failed(booting)));
    let cells = cells.collect::<Result<Vec<_>, _>>()?;
    let Some(lab) = labs.values().next() else { unreachable!("no workload, so no kernel") };
    Ok(BootReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: lab.kernel().release.clone(),
        kernel_id: labs.values().map(|lab| lab.kernel().id.as_str()).collect::<Vec<_>>().join(", "),
        qemu: lab.qemu().version.clone(),
        baseline: request.governors.first().cloned().unwrap_or_default(),
        cells,
    })
}

/// A shell in a guest of the platform.
///
/// # Errors
/// [`MachineError`] when it cannot be booted.
pub fn shell(request: &BootRequest, watch: &dyn Watch) -> Result<(), MachineError> {
    check_version(&request.build)?;
    let folder = LabFolder::open(request.build.folder.as_deref())?;
    let [platform] = &request.platforms[..] else {
        let why = "a shell is in one guest: name one platform";
        return Err(CommandError::conflict(&["--platform"], why).into());
    };
    let machine = machine(request, &idlewise_platform::find(platform)?)?;
    let tree = tree(&request.build, &folder, watch)?;
    let workload = workload("idle")?;
    let build = Build::new(&tree, workload.configuration(), &folder, request.build.jobs, watch)?;
    let kernel = build.kernel()?;
    let run = Run {
        machine,
        governor: String::new(),
        workload,
        seconds: request.seconds,
        rt_app: None,
        cpufreq: request.cpufreq.clone(),
        true_inputs: true,
        parameters: String::new(),
        settle_ms: 0,
    };
    Ok(Lab::new(&folder, kernel, watch)?.shell(&run)?)
}

fn machine(request: &BootRequest, platform: &Platform) -> Result<Machine, MachineError> {
    let machine = Machine::new(platform, request.cpus, request.driver, request.reject, WINDOW)?;
    if request.cpufreq.is_some() && !machine.has_frequencies() {
        let why = format!(
            "platform {}: no operating points are known, or more than a kernel parameter holds, so a cpufreq governor has nothing to choose from",
            platform.id
        );
        return Err(CommandError::conflict(&["--cpufreq", "--platform"], why).into());
    }
    Ok(machine)
}

fn rt_app(request: &BootRequest, workloads: &[Workload]) -> Result<Option<Vec<u8>>, CommandError> {
    let wanted = workloads.iter().any(|w| w.name == "rt-app");
    match &request.rt_app {
        Some(path) if wanted => fs::read(path).map(Some).map_err(|e| CommandError::file(path, e)),
        Some(_) => {
            let why = "--rt-app-file is for the workload rt-app";
            Err(CommandError::conflict(&["--rt-app-file", "--workload"], why))
        }
        None if wanted => {
            let why = "the workload rt-app needs a file: --rt-app-file FILE.json";
            Err(CommandError::not_given("--rt-app-file", why))
        }
        None => Ok(None),
    }
}

/// The load of a start: the first has the file as it is, each later one times that are a little different.
fn varied(text: &[u8], start: Option<u32>) -> Vec<u8> {
    match (start, std::str::from_utf8(text)) {
        (Some(start @ 2..), Ok(text)) => idlewise_workload::varied(text, start.into()).into_bytes(),
        _ => text.to_owned(),
    }
}

/// Each later start comes so much later, ms: no multiple of a tick.
const START_STEP_MS: u32 = 137;

/// A workload on a machine, once, under every governor: what to boot, and what it has become.
struct Booting<'a> {
    lab: &'a Lab<'a>,
    platform: &'a Platform,
    workload: Workload,
    seconds: u32,
    start: Option<u32>,
    machine: Machine,
    folder: PathBuf,
    runs: Vec<GuestRun<'a>>,
}

/// A guest to boot.
struct GuestRun<'a> {
    governor: &'a Chosen,
    run: Run,
    to: PathBuf,
    sidecars: Vec<(String, String)>,
    /// It was booted before, with the same settings.
    recorded: bool,
}

impl GuestRun<'_> {
    fn boot(&self, lab: &Lab<'_>) -> Result<(), BootError> {
        let files: Vec<(&str, &str)> =
            self.sidecars.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        lab.run(&self.run, &self.to, &files)?;
        Ok(())
    }
}

impl<'a> Booting<'a> {
    #[expect(clippy::too_many_arguments, reason = "all that a recording depends on")]
    fn new(
        request: &BootRequest,
        lab: &'a Lab<'a>,
        tree: &KernelTree,
        platform: &'a Platform,
        workload: Workload,
        start: Option<u32>,
        chosen: &'a [Chosen],
        rt_app: Option<Vec<u8>>,
    ) -> Result<Self, MachineError> {
        let machine = machine(request, platform)?;
        let name = format!("{}-{}-{}", platform.id, machine.driver.word(), workload.name);
        let mut folder = request.to.join(name);
        if let Some(start) = start {
            folder.push(format!("start-{start}"));
        }
        let later_ms = start.map_or(0, |start| (start - 1) * START_STEP_MS);
        let mut runs = Vec::new();
        for governor in chosen {
            let to = folder.join(&governor.folder);
            let run = Run {
                machine: machine.clone(),
                governor: governor.in_kernel.clone(),
                workload,
                seconds: request.seconds,
                settle_ms: request.settle_ms.saturating_add(later_ms),
                rt_app: rt_app.clone(),
                cpufreq: request.cpufreq.clone(),
                true_inputs: !request.without_true_inputs,
                parameters: governor.parameters.clone(),
            };
            let settings = settings(lab, platform, &run, governor);
            let recorded = is_recorded(&to, &settings)?;
            let mut sidecars = vec![
                ("run.toml".to_owned(), settings),
                ("machine.toml".to_owned(), guest(platform, run.cpufreq.is_some()).to_toml()),
                ("trace.toml".to_owned(), sidecar(&governor.in_replay(tree.folder(), Path::new(""))?)),
            ];
            if let Some(text) = rt_app.as_ref().and_then(|text| String::from_utf8(text.clone()).ok()) {
                sidecars.push((RT_APP_FILE.to_owned(), text));
            }
            let files = governor.files();
            sidecars.extend(files.iter().map(|(name, text)| (name.clone(), (*text).to_owned())));
            if recorded {
                // A folder may be anybody's: what is compiled and run below is the user's own file, or nothing.
                still_the_users(&to, &files)?;
            }
            runs.push(GuestRun { governor, run, to, sidecars, recorded });
        }
        Ok(Self { lab, platform, workload, seconds: request.seconds, start, machine, folder, runs })
    }

    fn judged(&self, tree: &KernelTree, per: Per, failed: &BTreeSet<&str>) -> Result<Cell, MachineError> {
        let mut scores = Vec::new();
        let mut checks = Vec::new();
        let mut complaints = Vec::new();
        for GuestRun { governor, to, .. } in self.runs.iter().filter(|r| !failed.contains(&*r.governor.name))
        {
            let failed = fs::read_to_string(to.join("failed")).unwrap_or_default();
            let complaint = |l| {
                let words = format!("{} under {}: {l}", self.workload.name, governor.name);
                NoteId::GuestFailed.note(words)
            };
            complaints.extend(failed.lines().map(complaint));
            let counters = [to.join("counters-before"), to.join("counters-after")];
            let [before, after] = &counters;
            let options = RecordingOptions::default();
            let report = score::score(&to.join("trace"), &options, per, Some([before, after]))?;
            checks.push(check(
                &governor.name,
                &to.join("trace"),
                governor.in_replay(tree.folder(), to)?,
                report.counters,
            )?);
            scores.push((governor.name.clone(), report.score, report.groups));
        }
        Ok(Cell {
            platform: self.platform.id.clone(),
            driver: self.machine.driver.word().to_owned(),
            cpus: self.machine.cpus,
            workload: self.workload.name.to_owned(),
            seconds: self.seconds,
            start: self.start,
            folder: self.folder.clone(),
            governors: results_of_scores(scores),
            checks,
            complaints,
        })
    }
}

/// Replays the recording with the governor that it is of.
fn check(
    name: &str,
    trace: &Path,
    governor: String,
    counters: Option<CounterCheck>,
) -> Result<RecordingCheck, MachineError> {
    // The governor's file is what was booted: it need not be taken from what stands beside the recording.
    let recording =
        RecordingOptions { kernel_governor: Some(governor.clone()), ..RecordingOptions::default() };
    let request = ReplayRequest {
        traces: vec![trace.to_owned()],
        setup: ReplaySetup { recording, ..ReplaySetup::default() },
        governors: vec![governor],
        ..ReplayRequest::default()
    };
    let replayed = replay::replay(&request, &|_, _| ())?.traces.into_iter().next();
    let Some(replayed) = replayed else { unreachable!("{}: no result of its replay", trace.display()) };
    Ok(RecordingCheck {
        governor: name.to_owned(),
        // The last: the one that the run is about.
        parity: replayed.parity.into_iter().next_back(),
        fidelity: replayed.fidelity,
        counters,
    })
}

/// What tells replay about the recording.
fn sidecar(governor: &str) -> String {
    format!("# SPDX-License-Identifier: GPL-2.0-only\nplatform = \"machine.toml\"\ngovernor = {governor:?}\n")
}

/// Everything that a recording depends on.
fn settings(lab: &Lab<'_>, platform: &Platform, run: &Run, governor: &Chosen) -> String {
    let hash = |bytes: &[u8]| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes));
    let lines = [
        ("idlewise", env!("CARGO_PKG_VERSION").to_owned()),
        ("kernel", lab.kernel().release.clone()),
        ("kernel_id", lab.kernel().id.clone()),
        ("qemu", lab.qemu().version.clone()),
        ("guest_id", lab.guest_id(run)),
        ("platform", platform.id.clone()),
        ("platform_id", hash(platform.to_toml().as_bytes())),
        ("driver", run.machine.driver.word().to_owned()),
        ("cpus", run.machine.cpus.to_string()),
        ("machine", run.machine.parameters().to_owned()),
        ("governor", governor.name.clone()),
        ("workload", run.workload.name.to_owned()),
        ("seconds", run.seconds.to_string()),
        ("settle_ms", run.settle_ms.to_string()),
        ("cpufreq", run.cpufreq.clone().unwrap_or_default()),
        ("true_inputs", run.true_inputs.to_string()),
        ("rt_app_id", run.rt_app.as_deref().map(hash).unwrap_or_default()),
    ];
    let mut out = "# SPDX-License-Identifier: GPL-2.0-only\n".to_owned();
    for (name, value) in lines {
        let _ = writeln!(out, "{name} = {value:?}");
    }
    out
}

/// Whether the files of the user's governor in a recording are those that the user names now.
fn still_the_users(to: &Path, files: &[(String, &str)]) -> Result<(), CommandError> {
    for (name, text) in files {
        let kept = to.join(name);
        if !fs::read(&kept).is_ok_and(|kept| kept == text.as_bytes()) {
            let why = "not the file of the requested governor; name another folder with --to, or remove it";
            return Err(CommandError::file(&kept, why));
        }
    }
    Ok(())
}

/// Whether `to` has this recording already.
fn is_recorded(to: &Path, settings: &str) -> Result<bool, CommandError> {
    if !to.exists() {
        return Ok(false);
    }
    if fs::read_to_string(to.join("run.toml")).is_ok_and(|old| old == settings) {
        return Ok(true);
    }
    let why = "holds a recording that was made with other settings (its run.toml says which); name another folder with \
               --to, or remove it";
    Err(CommandError::file(to, why))
}

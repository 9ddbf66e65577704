// SPDX-License-Identifier: GPL-2.0-only
//! Does the boot lab do what it claims, here and now?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_boot::{Build, IdleDriver, Lab, LabFolder, Machine, Run, WINDOW, Watch, workload};
use schemars::JsonSchema;
use serde::Serialize;

use super::build::{BuildRequest, check_version, tree};
use super::chosen::{self, Chosen};
use crate::MachineError;
use idlewise_recording::CommandError;

/// Version of the JSON that a self-test gives.
pub const SELF_TEST_SCHEMA: &str = "idlewise.lab-self-test/1";

/// The checks of a lab: each one with what it found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SelfTest {
    /// [`SELF_TEST_SCHEMA`].
    pub schema: String,
    /// One after the other.
    pub checks: Vec<Check>,
}

/// One check of the self-test.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Check {
    pub what: String,
    pub holds: bool,
    pub found: String,
}

/// The machines, the load and the governors of a self-test.
#[derive(Clone, Debug)]
pub struct SelfTestRequest {
    pub build: BuildRequest,
    /// Platforms, each booted twice under every driver that it can have and every governor.
    pub platforms: Vec<String>,
    /// The governors of these runs.
    pub governors: Vec<String>,
    pub workload: String,
    /// Duration of the workload, in seconds of the guest.
    pub seconds: u32,
}

/// Runs KUnit's tests of the governors in a guest, and boots the workload on every platform twice, under each driver
/// that it can have, comparing every byte that comes home.
///
/// # Errors
/// [`MachineError`] when something cannot be built or booted; what does not hold is no error.
pub fn self_test(request: &SelfTestRequest, watch: &dyn Watch) -> Result<SelfTest, MachineError> {
    check_version(&request.build)?;
    let load = workload(&request.workload)?;
    if load.name == "rt-app" {
        let why = "self-test takes no workload that needs a file";
        return Err(CommandError::conflict(&["--workload"], why).into());
    }
    let all = Chosen::all(&request.governors)?;
    let mut machines = Vec::new();
    for platform in &request.platforms {
        let platform = idlewise_platform::find(platform)?;
        machines.push(Machine::new(&platform, None, IdleDriver::Synth, 0, WINDOW)?);
        // Not every platform has states that PSCI can have.
        machines.extend(Machine::new(&platform, None, IdleDriver::Psci, 0, WINDOW));
    }
    let first = machines.first().cloned();
    let first = first.ok_or_else(|| CommandError::not_given("--platform", "a self-test needs a platform"))?;
    let any =
        all.first().ok_or_else(|| CommandError::not_given("--governor", "a self-test needs a governor"))?;

    let folder = LabFolder::open(request.build.folder.as_deref())?;
    let tree = tree(&request.build, &folder, watch)?;
    for chosen in &all {
        chosen.in_replay(tree.folder(), Path::new(""))?;
    }
    let users = chosen::users(&all);
    let build = Build::new(&tree, load.configuration(), &folder, request.build.jobs, watch)?;
    let kernel = build.with_governors(&users).kernel()?;
    let lab = Lab::new(&folder, kernel, watch)?;
    let home = tempfile::tempdir_in(folder.path()).map_err(|e| CommandError::file(folder.path(), e))?;
    let mut checks = Vec::new();
    let run = |checks: &mut Vec<Check>, name: &str, run: Run| {
        let to = home.path().join(name);
        let outcome = lab.run(&run, &to, &[])?;
        if !outcome.complaints.is_empty() {
            checks.push(Check {
                what: format!("{} on {} runs without complaint", run.workload.name, run.machine.platform),
                holds: false,
                found: outcome.complaints.join("; "),
            });
        }
        Ok::<PathBuf, MachineError>(to)
    };
    let of = |machine: Machine, chosen: &Chosen| Run {
        machine,
        governor: chosen.in_kernel.clone(),
        workload: load,
        seconds: request.seconds,
        settle_ms: 0,
        rt_app: None,
        cpufreq: None,
        true_inputs: true,
        parameters: chosen.parameters.clone(),
    };
    let kunit = Run {
        workload: workload("idle")?,
        parameters: format!("kunit.enable=1 kunit.autorun=1 kunit.filter_glob={SUITES}"),
        ..of(first, any)
    };
    let kunit = run(&mut checks, "kunit", kunit)?;
    let log = kunit.join("dmesg");
    checks.extend(kunit_checks(&fs::read_to_string(&log).map_err(|e| CommandError::file(&log, e))?));
    let pairs = machines.iter().flat_map(|machine| all.iter().map(move |chosen| (machine, chosen)));
    for (number, (machine, chosen)) in pairs.enumerate() {
        let on = format!("{} on {} ({})", load.name, machine.platform, machine.driver.word());
        let one = run(&mut checks, &format!("{number}-one"), of(machine.clone(), chosen))?;
        let other = run(&mut checks, &format!("{number}-other"), of(machine.clone(), chosen))?;
        checks.push(same_bytes(&format!("{on}, {}", chosen.name), &one, &other)?);
    }
    Ok(SelfTest { schema: SELF_TEST_SCHEMA.to_owned(), checks })
}

/// Suites of KUnit that a guest runs: ours, and what `idlewise check --kunit` added to the tree.
const SUITES: &str = "idle*";
/// How the names of those that were added begin; the name of the governor's file follows.
const ADDED: &str = "idle-governor-";

/// KUnit's verdicts in a kernel's log: of our suites together, then of each that was added to the tree.
#[must_use]
pub fn kunit_checks(log: &str) -> Vec<Check> {
    let mut of_suites: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    let mut suite = "";
    for line in log.lines().map(|l| l.split_once("] ").map_or(l, |(_, rest)| rest).trim()) {
        if let Some(name) = line.strip_prefix("# Subtest: ") {
            suite = name;
        }
        let of_suite = of_suites.entry(if suite.starts_with(ADDED) { suite } else { "" }).or_default();
        of_suite.0 += usize::from(line.starts_with("ok "));
        of_suite.1.extend(line.strip_prefix("not ok "));
    }
    let (passed, failed) = of_suites.remove("").unwrap_or_default();
    let ours = Check {
        what: "KUnit: each governor makes the same choices in the kernel as in user space".to_owned(),
        // Names and choices of each governor, and the suite.
        holds: failed.is_empty() && passed > 2 * idlewise_boot::governor_count(),
        found: verdicts(passed, &failed),
    };
    let added = of_suites.into_iter().map(|(suite, (passed, failed))| Check {
        what: format!(
            "KUnit: {}.c keeps what `idlewise check` once found violated",
            suite.trim_start_matches(ADDED)
        ),
        holds: failed.is_empty() && passed > 0,
        found: verdicts(passed, &failed),
    });
    std::iter::once(ours).chain(added).collect()
}

fn verdicts(passed: usize, failed: &[&str]) -> String {
    let colon = if failed.is_empty() { "" } else { ": " };
    format!("{passed} passed, {} failed{colon}{}", failed.len(), failed.join("; "))
}

fn same_bytes(what: &str, one: &Path, other: &Path) -> Result<Check, MachineError> {
    let (one, other) = (all_files(one)?, all_files(other)?);
    let mut different: Vec<&str> =
        one.keys().filter(|k| one.get(*k) != other.get(*k)).map(String::as_str).collect();
    different.extend(other.keys().filter(|k| !one.contains_key(*k)).map(String::as_str));
    let bytes: usize = one.values().map(Vec::len).sum();
    Ok(Check {
        what: format!("{what}: two runs give identical files"),
        holds: different.is_empty() && bytes > 0,
        found: if different.is_empty() {
            format!("{} files, {bytes} bytes", one.len())
        } else {
            format!("different: {}", different.join(", "))
        },
    })
}

fn all_files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, MachineError> {
    let wrong =
        |e: std::io::Error| CommandError::File { path: folder.display().to_string(), why: e.to_string() };
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
                all.insert(name, fs::read(&path).map_err(wrong)?);
            }
        }
    }
    Ok(all)
}

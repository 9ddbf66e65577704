// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::AbRequest;
use idlewise_live::files::{line, names};
use idlewise_live::{Host, Journal, LiveError};

/// What a machine is switched to: a governor, and files with their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arm {
    pub(super) name: String,
    governor: String,
    /// By path; what an arm does not name keeps the value from before the session.
    settings: BTreeMap<PathBuf, String>,
    latency_limit_us: Option<u32>,
}

/// All arms, and what the files that any of them touches held before.
#[derive(Debug)]
pub(super) struct Arms {
    pub(super) list: Vec<Arm>,
    before: BTreeMap<PathBuf, String>,
    governor_file: PathBuf,
    latency_file: PathBuf,
    /// The limit that is in force, as long as the file is open.
    held: Option<(u32, File)>,
}

impl Arms {
    /// Reads what the arms of `request` ask for, and whether this machine has it.
    pub(super) fn new(host: &Host, request: &AbRequest) -> Result<Self, LiveError> {
        let cpuidle = host.sys.join("devices/system/cpu/cpuidle");
        let governor_file = cpuidle.join("current_governor");
        if !governor_file.exists() {
            let file = governor_file.display();
            return Err(LiveError::lacks(format!(
                "{file} does not exist; this kernel cannot switch idle governors while it runs (older ones \
                 need \
                 cpuidle_sysfs_switch on their command line)"
            )));
        }
        let available = available(host);
        let mut list = Vec::new();
        for name in &request.arms {
            let arm = Arm::new(host, request, name)?;
            if !available.contains(&arm.governor) {
                return Err(LiveError::NoGovernor { name: arm.governor, known: available });
            }
            if !request.aa && list.iter().any(|other: &Arm| other.name == arm.name) {
                return Err(LiveError::Twice { name: arm.name });
            }
            list.push(arm);
        }
        let mut before = BTreeMap::new();
        for path in list.iter().flat_map(|a| a.settings.keys()) {
            before.insert(path.clone(), line(path).unwrap_or_default());
        }
        let latency_file = host.dev.join("cpu_dma_latency");
        Ok(Self { list, before, governor_file, latency_file, held: None })
    }

    /// The first file that is not as [`Arms::switch_to`] left it for `arm`, in words.
    pub(super) fn lost(&self, arm: &Arm) -> Option<String> {
        let files = self.before.iter().map(|(path, before)| (path, arm.settings.get(path).unwrap_or(before)));
        files.chain([(&self.governor_file, &arm.governor)]).find_map(|(path, wanted)| {
            let now = line(path);
            let lost = now.as_deref().map(str::trim) != Some(wanted.trim());
            lost.then(|| {
                format!("{} is {}, not {wanted}", path.display(), now.unwrap_or_else(|| "gone".to_owned()))
            })
        })
    }

    /// The machine as `arm` has it.
    pub(super) fn switch_to(&mut self, arm: &Arm, journal: &mut Journal) -> Result<(), LiveError> {
        for (path, before) in &self.before {
            journal.set(path, arm.settings.get(path).unwrap_or(before))?;
        }
        if arm.latency_limit_us != self.held.as_ref().map(|(us, _)| *us) {
            self.held = None;
            if let Some(us) = arm.latency_limit_us {
                self.held = Some((us, hold(&self.latency_file, us)?));
            }
        }
        journal.set(&self.governor_file, &arm.governor)
    }
}

/// The governors that a kernel can switch to; none where it cannot.
#[must_use]
pub fn available(host: &Host) -> Vec<String> {
    let file = host.sys.join("devices/system/cpu/cpuidle/available_governors");
    line(&file).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

impl Arm {
    fn new(host: &Host, request: &AbRequest, name: &str) -> Result<Self, LiveError> {
        let (governor, own) = name.split_once(':').unwrap_or((name, ""));
        let mut arm = Self {
            name: name.to_owned(),
            governor: governor.trim().to_owned(),
            settings: BTreeMap::new(),
            latency_limit_us: request.latency_limit_us,
        };
        for state in &request.disable {
            arm.disable(host, *state)?;
        }
        let wrong =
            |setting: &str, what: &str| LiveError::argument(name, format!("`{setting}`: expected {what}"));
        let common = request.set.iter().map(String::as_str);
        for setting in common.chain(own.split(',').filter(|s| !s.is_empty())) {
            let (key, value) = setting.split_once('=').ok_or_else(|| wrong(setting, "NAME=VALUE"))?;
            let (key, value) = (key.trim(), value.trim());
            let number = || value.parse::<u32>().map_err(|_| wrong(setting, "a whole number"));
            match key {
                "disable" => arm.disable(host, number()?)?,
                "latency_limit_us" => arm.latency_limit_us = Some(number()?),
                _ => {
                    arm.settings.insert(parameter(host, key)?, value.to_owned());
                }
            }
        }
        Ok(arm)
    }

    /// Switches a state off on every CPU that has it.
    fn disable(&mut self, host: &Host, state: u32) -> Result<(), LiveError> {
        let cpus = host.sys.join("devices/system/cpu");
        let of = |cpu: String| cpus.join(cpu).join(format!("cpuidle/state{state}/disable"));
        let files: Vec<PathBuf> = names(&cpus).into_iter().map(of).filter(|f| f.exists()).collect();
        if files.is_empty() {
            return Err(LiveError::lacks(format!(
                "no CPU has an idle state {state} that can be switched off"
            )));
        }
        self.settings.extend(files.into_iter().map(|f| (f, "1".to_owned())));
        Ok(())
    }
}

/// The file of the kernel module's parameter `name`, of whichever module has it.
fn parameter(host: &Host, name: &str) -> Result<PathBuf, LiveError> {
    let modules = host.sys.join("module");
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let of = |module: String| modules.join(module).join("parameters").join(name);
    let files: Vec<PathBuf> = match plain {
        true => names(&modules).into_iter().map(of).filter(|f| f.exists()).collect(),
        false => Vec::new(),
    };
    match files.as_slice() {
        [file] => Ok(file.clone()),
        [] => Err(LiveError::lacks(format!("no module of this kernel has a parameter `{name}`"))),
        [a, b, ..] => Err(LiveError::lacks(format!(
            "more than one module has a parameter `{name}`: {}, {}",
            a.display(),
            b.display()
        ))),
    }
}

/// Asks the kernel for wakeups within `us` µs, for as long as the file is open: the kernel itself forgets the request of
/// a process that dies.
fn hold(path: &Path, us: u32) -> Result<File, LiveError> {
    let mut file = OpenOptions::new().write(true).open(path).map_err(LiveError::io(path))?;
    file.write_all(&us.to_ne_bytes()).map_err(LiveError::io(path))?;
    Ok(file)
}

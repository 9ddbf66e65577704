// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::{Origin, Platform, PlatformError, SysfsDump};

/// A kernel configuration is some hundred kB; more than this is something else.
const CONFIG_MAX_BYTES: u64 = 16 << 20;

/// Where the running machine shows itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/sys`.
    pub sys: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/boot`.
    pub boot: PathBuf,
}

impl Roots {
    /// The usual folders below `root`: `/` for the machine itself, any other for a tree copied from one.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { sys: root.join("sys"), proc: root.join("proc"), boot: root.join("boot") }
    }
}

impl SysfsDump {
    /// Reads idle states, counters and capacities of the running machine; `sys` is `/sys`.
    ///
    /// # Errors
    /// [`PlatformError::Read`] without `devices/system/cpu`; [`PlatformError::Dump`] when no CPU has idle states or
    /// a number is not one.
    pub fn read(sys: &Path) -> Result<Self, PlatformError> {
        let base = sys.join("devices/system/cpu");
        let mut dump = Self::default();
        let shown = base.display().to_string();
        for name in names(&base)? {
            let dir = base.join(&name);
            if name == "cpuidle" {
                for file in ["current_driver", "current_governor", "current_governor_ro"] {
                    take(&mut dump, &shown, &format!("cpuidle/{file}"), &dir.join(file))?;
                }
            } else if name.strip_prefix("cpu").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
                let file = format!("{name}/cpu_capacity");
                take(&mut dump, &shown, &file, &dir.join("cpu_capacity"))?;
                cpu_states(&mut dump, &shown, &name, &dir.join("cpuidle"))?;
            }
        }
        if dump.cpus.is_empty() {
            return Err(PlatformError::Dump {
                file: shown,
                what: "no CPU has idle states: the kernel has no cpuidle driver here (common in virtual machines and containers)"
                    .to_string(),
                hint: "name a platform instead".to_string(),
            });
        }
        Ok(dump)
    }

    /// Reads what the running machine shows of one CPU's idle states; nothing where it has none.
    ///
    /// # Errors
    /// [`PlatformError::Read`] when its folder cannot be listed; [`PlatformError::Dump`] when a number is not one.
    pub fn read_cpu(sys: &Path, cpu: u32) -> Result<Self, PlatformError> {
        let base = sys.join("devices/system/cpu");
        let name = format!("cpu{cpu}");
        let mut dump = Self::default();
        cpu_states(&mut dump, &base.display().to_string(), &name, &base.join(&name).join("cpuidle"))?;
        Ok(dump)
    }
}

impl Platform {
    /// The machine that shows itself below `roots`: its idle states and capacities from sysfs, HZ from the kernel's
    /// configuration where the kernel or the distribution keeps one, driver and governor as notes.
    ///
    /// # Errors
    /// As [`SysfsDump::read`]; [`PlatformError::Dump`] when a table makes no sense.
    pub fn scan(roots: &Roots) -> Result<Self, PlatformError> {
        let dump = SysfsDump::read(&roots.sys)?;
        let release = line(&roots.proc.join("sys/kernel/osrelease")).unwrap_or_default();
        let shown = roots.sys.join("devices/system/cpu").display().to_string();
        let mut platform = dump.platform(&shown, Origin::Running)?;
        platform.id = "running".to_string();
        platform.name = format!("this machine ({})", if release.is_empty() { "Linux" } else { &release });
        (platform.hz, platform.hz_note) = hz(roots, &release);
        Ok(platform)
    }
}

/// All files of one CPU's states.
fn cpu_states(dump: &mut SysfsDump, shown: &str, cpu: &str, dir: &Path) -> Result<(), PlatformError> {
    if !dir.is_dir() {
        return Ok(());
    }
    for state in names(dir)?.into_iter().filter(|n| n.starts_with("state")) {
        let s2idle = ["s2idle/usage", "s2idle/time"].map(str::to_string);
        for file in names(&dir.join(&state))?.into_iter().chain(s2idle) {
            let key = format!("{cpu}/cpuidle/{state}/{file}");
            take(dump, shown, &key, &dir.join(&state).join(&file))?;
        }
    }
    Ok(())
}

fn take(dump: &mut SysfsDump, shown: &str, key: &str, path: &Path) -> Result<(), PlatformError> {
    let Some(value) = line(path) else { return Ok(()) };
    dump.take(key, &value).map_err(|what| PlatformError::Dump {
        file: shown.to_string(),
        what,
        hint: "the kernel does not write that".to_string(),
    })
}

/// The names in a folder, sorted.
fn names(dir: &Path) -> Result<Vec<String>, PlatformError> {
    let read =
        |e: std::io::Error| PlatformError::Read { path: dir.display().to_string(), reason: e.to_string() };
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(read)? {
        names.push(entry.map_err(read)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The first line of a small file; `None` where it cannot be read: sysfs files come and go.
fn line(path: &Path) -> Option<String> {
    let text = idlewise_files::read_to_string(path).ok()?;
    Some(text.lines().next().unwrap_or_default().trim().to_string())
}

fn hz(roots: &Roots, release: &str) -> (Option<u32>, String) {
    let packed = idlewise_files::open(&roots.proc.join("config.gz")).ok();
    let from_proc = packed.and_then(|f| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(f).take(CONFIG_MAX_BYTES).read_to_string(&mut text).ok()?;
        config_hz(&text)
    });
    if let Some(hz) = from_proc {
        return (Some(hz), "from the running kernel's configuration".to_string());
    }
    if !release.is_empty() && !release.contains('/') {
        let name = format!("config-{release}");
        let text = idlewise_files::read_to_string(&roots.boot.join(&name)).unwrap_or_default();
        if let Some(hz) = config_hz(&text) {
            return (Some(hz), format!("from {name}"));
        }
    }
    (None, "the kernel's configuration is not readable here".to_string())
}

fn config_hz(text: &str) -> Option<u32> {
    let value = text.lines().find_map(|l| l.strip_prefix("CONFIG_HZ="))?;
    value.trim().parse().ok().filter(|&hz| hz > 0)
}

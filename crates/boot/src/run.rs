// SPDX-License-Identifier: GPL-2.0-only
//! Booting a guest and bringing home what it did.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tar::Archive;
use xxhash_rust::xxh3::Xxh3;

use crate::folder::unfinished;
use crate::guest::Guest;
use crate::kernel::{MODULES, TOOLS};
use crate::process::{Job, answer, need, on_one_cpu, tail};
use crate::workload::Workload;
use crate::{BootError, Kernel, KernelTree, LabFolder, Machine, Qemu, Watch, files};

/// Where QEMU's machine `virt` has its memory, and how much of it a guest gets.
const MEMORY_AT: u64 = 0x4000_0000;
const MEMORY: u64 = 1 << 30;
/// The part of it in which a guest leaves its results: far from where QEMU puts the archive.
pub const WINDOW: (u64, u64) = (MEMORY_AT + (768 << 20), 256 << 20);
const MIB: u64 = 1 << 20;
/// Memory for the trace, of all CPUs together, MiB. It is held twice while the guest packs it.
const TRACE_MIB: u64 = 120;
/// A guest that takes longer than this for itself, and this for each of its seconds, has hung. Idle guests run faster than the
/// clock, busy ones ten times slower.
const PATIENCE: Duration = Duration::from_secs(600);
const PATIENCE_PER_SECOND: Duration = Duration::from_secs(30);
/// Virtual CPUs run at 1 GHz shifted right by this (boot-behaviour.md, 2).
const SHIFT: u32 = 2;

/// What replay needs to reconstruct a governor's inputs, as far as every kernel has it.
const EVENTS: [&str; 25] = [
    "power/cpu_idle",
    "power/cpu_idle_miss",
    "power/cpu_frequency",
    "power/pm_qos_update_target",
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup",
    "sched/sched_wakeup_new",
    "sched/sched_migrate_task",
    "timer/hrtimer_start",
    "timer/hrtimer_cancel",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "timer/timer_start",
    "timer/timer_cancel",
    "timer/timer_expire_entry",
    "timer/timer_expire_exit",
    "timer/tick_stop",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_raise",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
];
/// Events that only newer kernels have: since 6.9, and of 7.x.
const NEWER_EVENTS: [&str; 2] = ["timer/timer_base_idle", "timer/hrtimer_rearm"];
/// The governors' true inputs and choices.
const TRUE_INPUTS: [&str; 4] =
    ["idlewise/idle_enabled", "idlewise/idle_asked", "idlewise/idle_chosen", "idlewise/idle_reflected"];

/// One boot: the machine, the governor and the load, and what is recorded.
#[derive(Clone, Debug)]
pub struct Run {
    pub machine: Machine,
    /// Names of the idle governor as the guest's kernel may have it; the first that there is.
    pub governor: String,
    pub workload: Workload,
    /// For how long, seconds of the guest.
    pub seconds: u32,
    /// How long the guest idles before, ms.
    pub settle_ms: u32,
    /// For the workload rt-app: what it reads.
    pub rt_app: Option<Vec<u8>>,
    /// The cpufreq governor, where one is wanted.
    pub cpufreq: Option<String>,
    /// Record the governors' true inputs.
    pub true_inputs: bool,
    /// More for the kernel's command line.
    pub parameters: String,
}

/// What came of one.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the guest found wrong; empty if nothing.
    pub complaints: Vec<String>,
}

/// What device trees are made with, with the Debian packages.
const TREE_TOOLS: [(&str, &str); 2] =
    [("dtc", "device-tree-compiler"), ("fdtoverlay", "device-tree-compiler")];

/// Sees to it that guests with Debian's kernel `version` can be built and booted, and fetches what has to be fetched: QEMU and the
/// kernel's sources, where they are not at hand.
///
/// # Errors
/// All that is missing, and how to get it.
pub fn prepare(version: &str, watch: &dyn Watch) -> Result<(), Vec<BootError>> {
    let folder = LabFolder::open(None).map_err(|e| vec![e])?;
    let tools: Vec<_> = TOOLS.iter().chain(&TREE_TOOLS).copied().collect();
    let results = [
        need(&tools),
        Qemu::find(&folder, watch).map(drop),
        KernelTree::of_debian(&folder, version, watch).map(drop),
    ];
    let wrong: Vec<BootError> = results.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Everything that boots guests.
pub struct Lab<'a> {
    folder: &'a LabFolder,
    qemu: Qemu,
    kernel: Kernel,
    guest: Guest<'a>,
    watch: &'a dyn Watch,
}

impl<'a> Lab<'a> {
    /// Brings together what boots guests with `kernel`.
    ///
    /// # Errors
    /// [`BootError`] when QEMU or another program is missing and cannot be had.
    pub fn new(folder: &'a LabFolder, kernel: Kernel, watch: &'a dyn Watch) -> Result<Self, BootError> {
        need(&TREE_TOOLS)?;
        Ok(Self {
            folder,
            qemu: Qemu::find(folder, watch)?,
            kernel,
            guest: Guest::new(folder, watch)?,
            watch,
        })
    }

    /// The QEMU in use.
    #[must_use]
    pub fn qemu(&self) -> &Qemu {
        &self.qemu
    }

    /// The kernel in use.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// A hash of the guest's own programs and of its instructions.
    #[must_use]
    pub fn guest_id(&self, run: &Run) -> String {
        let mut hash = Xxh3::new();
        let given = |name: &str| {
            let folder = name.split_once('/').map_or("", |(folder, _)| folder);
            ["", "loads"].contains(&folder) || run.workload.parts.iter().any(|p| p.folder() == Some(folder))
        };
        for (name, text) in files::GUEST.iter().filter(|(name, _)| given(name)) {
            hash.update(name.as_bytes());
            hash.update(text.as_bytes());
        }
        hash.update(format!("{:?} {SHIFT}", self.job(run)).as_bytes());
        format!("{:016x}", hash.digest())
    }

    /// Boots a guest, lets it do its work, and puts what it brought home into `to`: `trace/` (raw ring buffers with their
    /// formats), the idle counters before and after, what the workload printed, what the console showed; and `files` by their
    /// names. The folder appears when it is complete.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be booted, hangs, or brings nothing home.
    pub fn run(&self, run: &Run, to: &Path, files: &[(&str, &str)]) -> Result<Outcome, BootError> {
        if to.exists() {
            return Err(BootError::file(to, "exists; name another folder or remove it"));
        }
        let above = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(above).map_err(BootError::io(above))?;
        let work = unfinished(above)?;
        let console = work.path().join("console");
        let job = self.job(run);
        let command = self.command(&run.machine, work.path(), run, &job)?;
        let log = work.path().join("qemu.log");
        let what = format!("the guest ({} on {}, {})", run.governor, run.machine.platform, run.workload.name);
        self.watch.doing(&what);
        let patience =
            Some(PATIENCE + PATIENCE_PER_SECOND * run.seconds.saturating_add(run.settle_ms / 1000));
        let guest = Job { what: &what, command, log: &log, watch: self.watch, patience };
        // Two threads of QEMU that run at the same time can cut a turn of one of the guest's CPUs short (boot-behaviour.md, 2).
        let ran = on_one_cpu(|| guest.run(|_| ()));
        if let Err(BootError::Failed { what, status, .. }) = ran {
            let kept = above.join("failed-boot.log");
            // A QEMU that did not start has its own say; a guest that hung has the console's.
            let said = if fs::metadata(&console).is_ok_and(|m| m.len() > 0) { &console } else { &log };
            fs::copy(said, &kept).map_err(BootError::io(&kept))?;
            return Err(BootError::Failed { what, status, tail: tail(&kept), log: kept });
        }
        ran?;
        let results = work.path().join("results");
        if let Err(e) = self.bring_home(&work.path().join("memory"), &results) {
            let kept = above.join("failed-boot.log");
            fs::copy(&console, &kept).map_err(BootError::io(&kept))?;
            let log = kept.display();
            return Err(BootError::Guest(format!(
                "{what} returned no result ({e}); its console is in {log}\n{}",
                tail(&kept)
            )));
        }
        if let Err(why) = has_states(&results, &run.machine.states) {
            let kept = above.join("failed-boot.log");
            let log = results.join("dmesg");
            fs::copy(if log.exists() { &log } else { &console }, &kept).map_err(BootError::io(&kept))?;
            return Err(BootError::Guest(format!(
                "{what} {why}, so it says nothing of that machine; nothing is kept but its log, {}",
                kept.display()
            )));
        }
        fs::rename(&console, results.join("console")).map_err(BootError::io(&results))?;
        for (name, text) in files {
            let path = results.join(name);
            let folder = path.parent().unwrap_or(&results);
            fs::create_dir_all(folder).map_err(BootError::io(folder))?;
            fs::write(&path, text).map_err(BootError::io(&path))?;
        }
        let complaints = fs::read_to_string(results.join("failed")).unwrap_or_default();
        fs::rename(&results, to).map_err(BootError::io(to))?;
        Ok(Outcome { complaints: complaints.lines().map(str::to_owned).collect() })
    }

    /// A shell in the guest, on this terminal, until the user leaves it.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be booted.
    pub fn shell(&self, run: &Run) -> Result<(), BootError> {
        let work = unfinished(self.folder.path())?;
        let mut job = self.job(run);
        job.insert("SHELL_WANTED", "yes".to_owned());
        let mut command = self.command(&run.machine, work.path(), run, &job)?;
        command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let status = command.status().map_err(BootError::io("qemu-system-aarch64"))?;
        if status.success() { Ok(()) } else { Err(BootError::Guest(format!("QEMU ended with {status}"))) }
    }

    /// The variables of the guest's init.
    fn job(&self, run: &Run) -> BTreeMap<&'static str, String> {
        let mut events: Vec<&str> = EVENTS.to_vec();
        if run.true_inputs {
            events.extend(TRUE_INPUTS);
        }
        BTreeMap::from([
            ("GOVERNOR", run.governor.clone()),
            ("COMMAND", run.workload.command.to_owned()),
            ("SECONDS", run.seconds.to_string()),
            ("SETTLE", format!("{}.{:03}", run.settle_ms / 1000, run.settle_ms % 1000)),
            ("CPUS", run.machine.cpus.to_string()),
            ("EVENTS", events.join(" ")),
            ("NEWER_EVENTS", NEWER_EVENTS.join(" ")),
            ("CPUFREQ", run.cpufreq.clone().unwrap_or_default()),
            ("KINDS", run.machine.frequencies.clone()),
            ("BUFFER_KIB", (TRACE_MIB * 1024 / u64::from(run.machine.cpus)).to_string()),
            ("WINDOW_MIB", (WINDOW.0 / MIB).to_string()),
        ])
    }

    /// QEMU with everything that makes a run repeatable to the bit (boot-behaviour.md, 2), in the folder `work`.
    fn command(
        &self,
        machine: &Machine,
        work: &Path,
        run: &Run,
        job: &BTreeMap<&str, String>,
    ) -> Result<Command, BootError> {
        let archive = work.join("initrd.gz");
        let mut extra: Vec<(String, Vec<u8>)> =
            run.rt_app.iter().map(|json| ("lab/rt-app.json".to_owned(), json.clone())).collect();
        if run.cpufreq.is_some() {
            for name in MODULES {
                let file = self.kernel.modules.join(format!("{name}.ko"));
                extra.push((format!("lab/{name}.ko"), fs::read(&file).map_err(BootError::io(&file))?));
            }
        }
        self.guest.archive(run.workload.parts, job, &extra, &archive)?;
        let tree = self.device_tree(machine, work)?;
        let interactive = job.contains_key("SHELL_WANTED");
        let mut command = self.bare(machine, "");
        command.args(["-accel", "tcg,thread=single"]);
        if interactive {
            // Waiting for a person takes as long as it takes.
            command.args(["-serial", "stdio"]);
        } else {
            command.args(["-icount", &format!("shift={SHIFT},sleep=off,align=off"), "-seed", "1"]);
            command.args(["-rtc", "base=2024-01-01,clock=vm"]);
            command.arg("-serial").arg(format!("file:{}", work.join("console").display()));
        }
        let memory = work.join("memory");
        command.args(["-no-reboot", "-object"]).arg(format!(
            "memory-backend-file,id=m0,size={}M,mem-path={},share=on",
            MEMORY / MIB,
            option(&memory)
        ));
        command.arg("-dtb").arg(tree).arg("-kernel").arg(&self.kernel.image).arg("-initrd").arg(archive);
        let mut line = "console=ttyAMA0 panic=-1 quiet".to_owned();
        for more in [&machine.parameters, run.workload.kernel_parameters(), run.parameters.trim()] {
            if !more.is_empty() {
                line.push(' ');
                line.push_str(more);
            }
        }
        command.arg("-append").arg(line);
        Ok(command)
    }

    fn bare(&self, machine: &Machine, more: &str) -> Command {
        let mut command = self.qemu.command();
        let dump = if more.is_empty() { ",memory-backend=m0".to_owned() } else { more.to_owned() };
        command
            .args(["-M", &format!("virt,gic-version=2,dtb-randomness=off{dump}")])
            .args(["-cpu", "cortex-a76", "-smp", &machine.cpus.to_string()])
            .args(["-m", &(MEMORY / MIB).to_string()])
            .args(["-nodefaults", "-display", "none"]);
        command
    }

    /// QEMU's own device tree with the machine's additions.
    fn device_tree(&self, machine: &Machine, work: &Path) -> Result<PathBuf, BootError> {
        let base = work.join("base.dtb");
        let dump = format!(",dumpdtb={}", option(&base));
        if answer(&mut self.bare(machine, &dump)).is_none() || !base.exists() {
            return Err(BootError::Guest("QEMU does not print its device tree".to_owned()));
        }
        let (source, compiled, whole) =
            (work.join("overlay.dts"), work.join("overlay.dtbo"), work.join("machine.dtb"));
        fs::write(&source, &machine.overlay).map_err(BootError::io(&source))?;
        let log = work.join("dtc.log");
        let mut dtc = Command::new("dtc");
        dtc.args(["-q", "-@", "-I", "dts", "-O", "dtb", "-o"]).arg(&compiled).arg(&source);
        let job =
            |what: &'static str, command| Job { what, command, log: &log, watch: self.watch, patience: None };
        job("compiling the device tree", dtc).run(|_| ())?;
        let mut overlay = Command::new("fdtoverlay");
        overlay.arg("-i").arg(&base).arg("-o").arg(&whole).arg(&compiled);
        job("putting the device tree together", overlay).run(|_| ())?;
        Ok(whole)
    }

    /// Unpacks what the guest left in the window of its memory.
    fn bring_home(&self, memory: &Path, to: &Path) -> Result<(), BootError> {
        let mut file = File::open(memory).map_err(BootError::io(memory))?;
        file.seek(SeekFrom::Start(WINDOW.0 - MEMORY_AT)).map_err(BootError::io(memory))?;
        let mut archive = Archive::new(file.take(WINDOW.1));
        archive.set_preserve_mtime(false);
        archive.unpack(to).map_err(BootError::io(to))?;
        let trace = to.join("trace");
        if trace.is_dir() { Ok(()) } else { Err(BootError::Guest("no trace".to_owned())) }
    }
}

/// Whether every CPU of the guest had as many idle states as its machine, by the counters that it left in `results`; and what its
/// kernel said where it had not.
fn has_states(results: &Path, states: &[usize]) -> Result<(), String> {
    let text = |name: &str| {
        let bytes =
            fs::read(results.join(name)).map_err(|e| format!("left no {name} that can be read ({e})"))?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (counters, log) = (text("counters-before")?, text("dmesg")?);
    for (cpu, expected) in states.iter().enumerate() {
        let of_cpu = format!("cpu{cpu}/cpuidle/state");
        let has = counters.lines().filter(|l| l.starts_with(&of_cpu) && l.contains("/name:")).count();
        if has == *expected {
            continue;
        }
        let said: Vec<&str> =
            log.lines().filter(|l| l.contains("cpuidle") && !l.contains("Kernel command")).collect();
        let said = said.last().map_or_else(String::new, |l| format!("; its kernel says: {}", l.trim()));
        return Err(format!("had {has} idle states on CPU {cpu}, not the {expected} of the platform{said}"));
    }
    Ok(())
}

/// A path as the value of an option of QEMU's, in which a comma begins the next.
fn option(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_without_the_idle_states_of_its_machine_is_noticed() {
        let results = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(results.path().join(name), text).unwrap();
        let of = |cpu: u32, states: u32| -> String {
            (0..states)
                .map(|s| format!("cpu{cpu}/cpuidle/state{s}/name:S{s}\ncpu{cpu}/cpuidle/state{s}/usage:7\n"))
                .collect()
        };
        write(
            "dmesg",
            "[    0.1] cpuidle: using governor menu\n[    0.2] cpuidle-synth: table 0 is not understood (-22)\n",
        );
        write("counters-before", &format!("cpu0/at_ns:5\n{}cpu1/at_ns:6\n{}", of(0, 2), of(1, 3)));
        assert_eq!(has_states(results.path(), &[2, 3]), Ok(()));
        write("counters-before", "cpu0/at_ns:5\ncpu1/at_ns:6\n");
        let why = has_states(results.path(), &[2, 3]).unwrap_err();
        assert!(
            why.starts_with("had 0 idle states on CPU 0, not the 2 of the platform; its kernel says: "),
            "{why}"
        );
        assert!(why.ends_with("table 0 is not understood (-22)"), "{why}");
        // Eleven CPUs: the counters of cpu1 are not those of cpu10.
        write("counters-before", &format!("{}{}", of(1, 2), of(10, 3)));
        assert!(has_states(results.path(), &[0, 2, 0]).is_ok());
        fs::remove_file(results.path().join("counters-before")).unwrap();
        let why = has_states(results.path(), &[2]).unwrap_err();
        assert!(why.starts_with("left no counters-before that can be read"), "{why}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's tracing file system (Documentation/trace/ftrace.rst): a trace instance of our own in it, so that other
//! tracing on the machine is left alone, and nothing of the function tracer is touched, which hardened kernels lock.

pub mod pages;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::{Host, LiveError};

/// Event groups that are wanted whole: system, and what is lost without it, for kernels that lack it.
const GROUPS: [(&str, &str); 6] = [
    ("power", "idle entries and exits; nothing can be replayed"),
    ("timer", "the next timer at each entry"),
    ("irq", "device interrupts and softirqs"),
    ("irq_vectors", ""),
    ("ipi", "who woke an idle CPU"),
    ("timer_migration", ""),
];
/// Single events that are wanted: without `cpu_idle`, or where a group has far more.
const EVENTS: [(&str, &str); 9] = [
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_wakeup"),
    ("sched", "sched_wakeup_new"),
    ("sched", "sched_migrate_task"),
    ("sched", "sched_wake_idle_without_ipi"),
    ("sched", "sched_blocked_reason"),
    ("sched", "sched_stat_iowait"),
    ("sched", "sched_stat_blocked"),
];
/// Of these, the ones that a kernel may well lack.
const RARE: [&str; 4] =
    ["sched_wake_idle_without_ipi", "sched_blocked_reason", "sched_stat_iowait", "sched_stat_blocked"];
/// Members of groups that tell a replay nothing, and that come often.
const NOT_WANTED: [(&str, &str); 9] = [
    ("timer", "timer_init"),
    ("timer", "hrtimer_init"),
    ("timer", "hrtimer_setup"),
    ("timer", "itimer_state"),
    ("timer", "itimer_expire"),
    ("irq", "tasklet_entry"),
    ("irq", "tasklet_exit"),
    ("power", "wakeup_source_activate"),
    ("power", "wakeup_source_deactivate"),
];
/// Whether the event `name` of `system` is recorded.
pub(crate) fn is_wanted(system: &str, name: &str) -> bool {
    let whole = GROUPS.iter().any(|(group, _)| *group == system) && !NOT_WANTED.contains(&(system, name));
    whole || EVENTS.contains(&(system, name))
}

/// The clock that timers expire by.
pub const CLOCK: &str = "mono";
/// A buffer that is fuller than this, in percent, wakes its reader.
const WAKE_PERCENT: u32 = 50;

/// The tracing file system of a host, found and open to us.
#[derive(Clone, Debug)]
pub struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    /// Looks for it where it is mounted.
    ///
    /// # Errors
    /// [`LiveError::Lacks`] or [`LiveError::NotRoot`] with what is missing: the file system, the permission, or the clock; and what works without.
    pub fn of(host: &Host) -> Result<Self, LiveError> {
        let root = host.tracefs();
        let refused = match fs::read_to_string(root.join("trace_clock")) {
            Ok(clocks) if clocks.split_ascii_whitespace().any(|c| c.trim_matches(['[', ']']) == CLOCK) => {
                return Ok(Self { root });
            }
            Ok(clocks) => {
                return Err(LiveError::lacks(format!(
                    "{}: the tracing clocks of this kernel are {}; recording needs `{CLOCK}` (Linux 4.1), by which timers expire",
                    root.display(),
                    clocks.trim()
                )));
            }
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Some(e),
            Err(_) => None,
        };
        let without = "Recordings made elsewhere can be replayed without it (`idlewise replay`)";
        Err(LiveError::lacks(match refused {
            Some(_) if !rustix::process::geteuid().is_root() => {
                let why = format!(
                    "tracing needs root: {} is closed to this user; run the same with sudo. {without}",
                    root.display()
                );
                return Err(LiveError::NotRoot { why });
            }
            Some(e) => format!(
                "{}: {e}, even for root: {}. {without}",
                root.display(),
                lockdown(host).map_or_else(
                    || "a container or a security module keeps it closed".to_owned(),
                    |mode| format!("kernel lockdown is in mode `{mode}`; recording works up to `integrity`")
                )
            ),
            None => format!(
                "no tracing file system at {}: `mount -t tracefs nodev /sys/kernel/tracing`, on the host itself rather than in a \
                 container; or the kernel was built without tracing. {without}",
                root.display()
            ),
        }))
    }

    /// A file of the top level.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, file: &str) -> Result<String, LiveError> {
        read(&self.root.join(file))
    }

    /// Where this process' own instance is or would be.
    #[must_use]
    pub fn own_instance(&self) -> PathBuf {
        self.root.join("instances").join(format!("idlewise-{}", std::process::id()))
    }

    /// The formats of all events of `system`.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn formats(&self, system: &str) -> Result<Vec<(String, String)>, LiveError> {
        let folder = self.root.join("events").join(system);
        let mut out = Vec::new();
        for entry in fs::read_dir(&folder).map_err(LiveError::io(&folder))? {
            let path = entry.map_err(LiveError::io(&folder))?.path();
            let (Some(name), true) = (path.file_name(), path.join("format").is_file()) else { continue };
            out.push((name.to_string_lossy().into_owned(), read(&path.join("format"))?));
        }
        out.sort();
        Ok(out)
    }
}

/// The mode of kernel lockdown, if there is one.
fn lockdown(host: &Host) -> Option<String> {
    let text = fs::read_to_string(host.sys.join("kernel/security/lockdown")).ok()?;
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode.to_owned()).filter(|mode| mode != "none")
}

/// A trace instance of our own. It does not remove itself: who made it has noted it in the journal, which does.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    /// Systems of which at least one event is recorded.
    pub systems: Vec<String>,
    /// What is recorded: whole systems, and single events as "system:event".
    pub recorded: Vec<String>,
    /// What this kernel does not have, and what it would have told.
    pub missing: Vec<String>,
}

impl Instance {
    /// Makes the folder `path`, with tracing off, on the clock `mono`, with `buffer_kib` KiB for each CPU and the events on that
    /// replay needs.
    ///
    /// # Errors
    /// When the kernel refuses one of these; what was made so far is the journal's to remove.
    pub fn make(path: PathBuf, buffer_kib: u64) -> Result<Self, LiveError> {
        let mut made = Self::bare(path, buffer_kib)?;
        made.enable()?;
        Ok(made)
    }

    /// As [`Instance::make`], with no event on.
    ///
    /// # Errors
    /// As [`Instance::make`].
    pub fn bare(path: PathBuf, buffer_kib: u64) -> Result<Self, LiveError> {
        fs::create_dir(&path).map_err(|e| refused(&path, &e))?;
        let made = Self { path, systems: Vec::new(), recorded: Vec::new(), missing: Vec::new() };
        made.set("tracing_on", "0")?;
        made.set("trace_clock", CLOCK)?;
        made.set("buffer_size_kb", &buffer_kib.to_string()).map_err(|e| {
            LiveError::lacks(format!(
                "no memory for trace buffers of {buffer_kib} KiB a CPU (--buffer takes less): {e}"
            ))
        })?;
        // Kernels before 5.0 wake the reader for every event; it sees that and looks by the clock.
        let _ = made.set("buffer_percent", &WAKE_PERCENT.to_string());
        Ok(made)
    }

    /// From now on a buffer that is full keeps what it has: what comes later is lost, not what came first.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn keep_the_first(&self) -> Result<(), LiveError> {
        self.set("options/overwrite", "0")
    }

    /// Switches these events ("sched/sched_switch") on, for the thread `pid` and those that it and its children start from
    /// now on.
    ///
    /// # Errors
    /// When this kernel has not all of it.
    pub fn follow(&self, events: &[&str], pid: i32) -> Result<(), LiveError> {
        if !self.path.join("options/event-fork").exists() {
            let why =
                "this kernel does not trace a process with its children (options/event-fork, Linux 4.7)";
            return Err(LiveError::lacks(why));
        }
        self.set("options/event-fork", "1")?;
        self.set("set_event_pid", &pid.to_string())?;
        for event in events {
            if !self.switch(event)? {
                let event = event.replace('/', ":");
                return Err(LiveError::lacks(format!("this kernel has no event {event}")));
            }
        }
        Ok(())
    }

    /// Switches all events off: they cost nothing until [`Instance::enable`].
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn disable(&self) -> Result<(), LiveError> {
        self.set("events/enable", "0")
    }

    /// Switches the events on that replay needs, and notes which there are.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn enable(&mut self) -> Result<(), LiveError> {
        self.recorded.clear();
        self.missing.clear();
        self.systems.clear();
        for (system, told) in GROUPS {
            if self.switch(system)? {
                self.recorded.push(system.to_owned());
                self.systems.push(system.to_owned());
            } else if !told.is_empty() {
                self.missing.push(format!("{system} events: {told}"));
            }
        }
        for (system, event) in NOT_WANTED {
            let file = self.path.join("events").join(system).join(event).join("enable");
            if file.exists() {
                write(&file, "0")?;
            }
        }
        for (system, event) in EVENTS {
            if self.switch(&format!("{system}/{event}"))? {
                self.recorded.push(format!("{system}:{event}"));
                if !self.systems.iter().any(|s| s == system) {
                    self.systems.push(system.to_owned());
                }
            } else if !RARE.contains(&event) {
                self.missing.push(format!("{system}:{event}"));
            }
        }
        if self.recorded.iter().any(|r| r == "power") && !self.path.join("events/power/cpu_idle").is_dir() {
            self.missing.push("power:cpu_idle: which states the kernel chose".to_owned());
        }
        Ok(())
    }

    fn switch(&self, events: &str) -> Result<bool, LiveError> {
        let file = self.path.join("events").join(events).join("enable");
        if !file.exists() {
            return Ok(false);
        }
        write(&file, "1").map(|()| true)
    }

    /// Records from now on, or no longer.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn record(&self, on: bool) -> Result<(), LiveError> {
        self.set("tracing_on", if on { "1" } else { "0" })
    }

    /// Forgets what was recorded.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn clear(&self) -> Result<(), LiveError> {
        self.set("trace", "")
    }

    fn set(&self, file: &str, value: &str) -> Result<(), LiveError> {
        write(&self.path.join(file), value)
    }

    /// The CPUs that have a buffer, ascending.
    ///
    /// # Errors
    /// When the instance cannot be listed.
    pub fn cpus(&self) -> Result<Vec<u32>, LiveError> {
        let folder = self.path.join("per_cpu");
        let mut cpus = Vec::new();
        for entry in fs::read_dir(&folder).map_err(LiveError::io(&folder))? {
            let name = entry.map_err(LiveError::io(&folder))?.file_name();
            cpus.extend(name.to_string_lossy().strip_prefix("cpu").and_then(|n| n.parse::<u32>().ok()));
        }
        cpus.sort_unstable();
        Ok(cpus)
    }

    /// What the kernel counted for a CPU's buffer.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn stats(&self, cpu: u32) -> Result<String, LiveError> {
        read(&self.path.join(format!("per_cpu/cpu{cpu}/stats")))
    }

    /// A CPU's pages, to be read without waiting.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn pages(&self, cpu: u32) -> Result<File, LiveError> {
        pages::open(&self.path, &format!("cpu{cpu}")).map_err(|(path, error)| LiveError::Io { path, error })
    }
}

fn refused(path: &Path, e: &io::Error) -> LiveError {
    LiveError::lacks(format!("{}: the kernel makes no trace instance of our own: {e}", path.display()))
}

/// The text of a file of tracefs. Some of these give all they have at the first read and nothing later, so that must be
/// asked for enough.
fn read(path: &Path) -> Result<String, LiveError> {
    const ENOUGH: usize = 64 << 10;
    let mut file = File::open(path).map_err(LiveError::io(path))?;
    let mut bytes = vec![0; ENOUGH];
    let n = file.read(&mut bytes).map_err(LiveError::io(path))?;
    bytes.truncate(n);
    file.read_to_end(&mut bytes).map_err(LiveError::io(path))?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn write(path: &Path, value: &str) -> Result<(), LiveError> {
    fs::write(path, value).map_err(LiveError::io(path))
}

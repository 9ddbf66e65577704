// SPDX-License-Identifier: GPL-2.0-only
//! Running other programs: their output into a log, each line also to somebody who watches, and an end when the user wants one.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::BootError;

/// Who watches long work.
pub trait Watch: Sync {
    /// What is being done now, in a few words.
    fn doing(&self, what: &str);
    /// So many of the guests to boot have been booted.
    fn booted(&self, done: usize, of: usize) {
        let _ = (done, of);
    }
    /// Whether the user asked to stop; asked between steps.
    fn stopped(&self) -> bool;
}

/// The number of lines of a log that an error shows.
pub(crate) const TAIL_LINES: usize = 12;
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Longer than [`end_all`] takes.
const ENDING: Duration = Duration::from_secs(5);

/// A program with a log.
pub(crate) struct Job<'a> {
    pub(crate) what: &'a str,
    pub(crate) command: Command,
    pub(crate) log: &'a Path,
    pub(crate) watch: &'a dyn Watch,
    /// How long it may take.
    pub(crate) patience: Option<Duration>,
}

/// The groups of the programs that run.
struct Groups {
    /// No more are started.
    ending: bool,
    /// By the numbers of their first processes.
    running: Vec<u32>,
}

static GROUPS: Mutex<Groups> = Mutex::new(Groups { ending: false, running: Vec::new() });

fn groups() -> MutexGuard<'static, Groups> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program among those that run, as long as it does.
struct Running(u32);

impl Running {
    /// Starts a program, unless all are being ended.
    fn start(command: &mut Command) -> Result<(Self, Child), BootError> {
        let program = PathBuf::from(command.get_program());
        let mut groups = groups();
        if groups.ending {
            return Err(BootError::Interrupted);
        }
        let child = command.spawn().map_err(|error| BootError::Io { path: program, error })?;
        groups.running.push(child.id());
        Ok((Self(child.id()), child))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        groups().running.retain(|group| *group != self.0);
    }
}

/// Ends all programs that run, with all that they started, and starts no more: for a command that ends right after it, before what
/// waits for the programs has anything to say.
pub fn end_all() {
    let all = {
        let mut groups = groups();
        groups.ending = true;
        groups.running.clone()
    };
    for group in &all {
        signal(*group, "-TERM");
    }
    for _ in 0..20 {
        if !all.iter().any(|group| signal(*group, "-0")) {
            return;
        }
        thread::sleep(LOOK_AGAIN);
    }
    for group in &all {
        signal(*group, "-KILL");
    }
}

/// Sends a signal to a group; whether there is one.
fn signal(group: u32, signal: &str) -> bool {
    let group = format!("-{group}");
    let sent = Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status();
    sent.is_ok_and(|status| status.success())
}

impl Job<'_> {
    /// Runs it; its lines, as they come, to the log and to `line`.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be started, fails, takes too long or is interrupted.
    pub(crate) fn run(mut self, mut line: impl FnMut(&str)) -> Result<(), BootError> {
        let mut log =
            OpenOptions::new().create(true).append(true).open(self.log).map_err(BootError::io(self.log))?;
        writeln!(log, "$ {:?}", self.command).map_err(BootError::io(self.log))?;
        let program = self.command.get_program().to_string_lossy().into_owned();
        // A group of its own: it ends as a whole, and a Ctrl-C of the terminal comes to us first.
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let (_running, mut child) = Running::start(&mut self.command)?;
        let (sender, lines) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            read_lines(out, sender.clone());
        }
        if let Some(err) = child.stderr.take() {
            read_lines(err, sender);
        }
        #[expect(clippy::disallowed_methods, reason = "how long to wait for a program is about real time")]
        let began = Instant::now();
        loop {
            match lines.recv_timeout(LOOK_AGAIN) {
                Ok(text) => {
                    writeln!(log, "{text}").map_err(BootError::io(self.log))?;
                    line(&text);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.watch.stopped() {
                end(&mut child);
                return Err(BootError::Interrupted);
            }
            if self.patience.is_some_and(|p| began.elapsed() > p) {
                end(&mut child);
                return Err(self.failed(format!("no end after {} s", began.elapsed().as_secs())));
            }
        }
        let status = child.wait().map_err(|error| BootError::Io { path: PathBuf::from(&program), error })?;
        if groups().ending {
            thread::sleep(ENDING);
            return Err(BootError::Interrupted);
        }
        if status.success() { Ok(()) } else { Err(self.failed(status.to_string())) }
    }

    fn failed(&self, status: String) -> BootError {
        BootError::Failed {
            what: self.what.to_owned(),
            status,
            log: self.log.to_owned(),
            tail: tail(self.log),
        }
    }
}

/// Does `work` with this thread, and all that it starts, on the CPU that it is on now: no two threads of a program run at the same
/// time. Where that is forbidden, on any CPU.
pub(crate) fn on_one_cpu<T>(work: impl FnOnce() -> T) -> T {
    let home = sched_getaffinity(None);
    let here = sched_getcpu();
    if here < CpuSet::MAX_CPU {
        let mut only = CpuSet::new();
        only.set(here);
        let _ = sched_setaffinity(None, &only);
    }
    let result = work();
    if let Ok(home) = home {
        let _ = sched_setaffinity(None, &home);
    }
    result
}

fn read_lines(from: impl std::io::Read + Send + 'static, to: mpsc::Sender<String>) {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if to.send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
}

/// Ends a program with all that it started.
pub(crate) fn end(child: &mut Child) {
    signal(child.id(), "-TERM");
    for _ in 0..20 {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        thread::sleep(LOOK_AGAIN);
    }
    signal(child.id(), "-KILL");
    let _ = child.wait();
}

/// The last lines of a file, indented.
pub(crate) fn tail(path: &Path) -> String {
    let Ok(file) = File::open(path) else { return String::new() };
    let mut last = std::collections::VecDeque::new();
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        if last.len() == TAIL_LINES {
            last.pop_front();
        }
        last.push_back(format!("  {}", String::from_utf8_lossy(&line).trim_end()));
        line.clear();
    }
    last.into_iter().collect::<Vec<_>>().join("\n")
}

/// What a short command prints, without the last newline; `None` if it cannot be started or fails.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Whether `program` is on the PATH.
pub(crate) fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Checks that programs are there.
///
/// # Errors
/// [`BootError::Missing`] with the Debian packages that bring what is missing.
pub(crate) fn need(programs: &[(&str, &str)]) -> Result<(), BootError> {
    let missing: Vec<_> = programs.iter().filter(|(program, _)| !on_path(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    Err(BootError::Missing {
        program: missing.iter().map(|(program, _)| *program).collect::<Vec<_>>().join(", "),
        advice: format!("on Debian: sudo apt-get install {}", packages.join(" ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Quiet;

    impl Watch for Quiet {
        fn doing(&self, _: &str) {}

        fn stopped(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_program_on_one_cpu_starts_there_and_leaves_us_where_we_were() {
        let before = sched_getaffinity(None).unwrap();
        let allowed =
            on_one_cpu(|| answer(Command::new("grep").args(["Cpus_allowed_list", "/proc/self/status"])));
        let list = allowed.unwrap();
        assert!(list.split_whitespace().last().is_some_and(|l| l.parse::<usize>().is_ok()), "{list}");
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }

    #[test]
    fn what_runs_ends_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let (to, started) = mpsc::channel();
        thread::spawn(move || {
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 600 & echo $!; wait"]);
            let job = Job { what: "waiting", command, log: &log, watch: &Quiet, patience: None };
            job.run(|line| drop(to.send(line.to_owned())))
        });
        let child = started.recv_timeout(Duration::from_secs(60)).unwrap();
        end_all();
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
        let more = Running::start(Command::new("true").process_group(0)).map(drop);
        assert!(matches!(more, Err(BootError::Interrupted)), "{more:?}");
        groups().ending = false;
    }
}

// SPDX-License-Identifier: GPL-2.0-only
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The variable in the environment of what a session starts, and of what that starts.
pub(super) const MARK: &str = "IDLEWISE_RUN";

/// A process that cannot be mistaken for a later one of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pid: i32,
    /// When it began, clock ticks since boot.
    born: u64,
}

/// Parent and birth of a process: fields 4 and 22 of /proc/PID/stat (proc(5)).
fn about(pid: i32) -> Option<(i32, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, field 2, stands in brackets and may hold anything.
    let (_, fields) = text.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(1);
    let parent = fields.next()?.parse().ok()?;
    Some((parent, fields.nth(17)?.parse().ok()?))
}

/// The numbers of all processes.
fn all() -> impl Iterator<Item = i32> {
    let folder = fs::read_dir("/proc").into_iter().flatten().flatten();
    folder.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Every process that there is, with its parent.
fn parents() -> BTreeMap<i32, i32> {
    all().filter_map(|pid| Some((pid, about(pid)?.0))).collect()
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have ended.
        let _ = kill_process(pid, signal);
    }
}

impl Process {
    pub(super) fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        Some(Self { pid, born: about(pid)?.1 })
    }

    /// The first process with `mark` as the value of [`MARK`] in the environment that it was started with (proc(5)): the others are its
    /// children.
    pub(super) fn marked(mark: &str) -> Option<Self> {
        let entry = format!("{MARK}={mark}");
        let bears = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
        };
        let marked = all().filter(bears).filter_map(|pid| Some(Self { pid, born: about(pid)?.1 }));
        marked.min_by_key(|process| (process.born, process.pid))
    }

    /// Its number and birth.
    pub(super) fn words(self) -> String {
        format!("{} {}", self.pid, self.born)
    }

    /// The process of [`Process::words`].
    pub(super) fn read(words: &str) -> Option<Self> {
        let (pid, born) = words.split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, born: born.parse().ok()? })
    }

    /// Kills it with all that it and its children have started. Gives how many processes that were; none where it has ended.
    pub(super) fn kill(self) -> usize {
        if about(self.pid).is_none_or(|(_, born)| born != self.born) {
            return 0;
        }
        // Who is stopped starts nothing more.
        let mut found = BTreeSet::from([self.pid]);
        send(self.pid, Signal::STOP);
        loop {
            let parents = parents();
            let before = found.len();
            for (pid, parent) in parents {
                if found.contains(&parent) && found.insert(pid) {
                    send(pid, Signal::STOP);
                }
            }
            if found.len() == before {
                break;
            }
        }
        found.iter().for_each(|pid| send(*pid, Signal::KILL));
        found.len()
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn it_is_killed_with_its_children_and_no_later_one_of_its_number_is() {
        let mut shell = Command::new("sh").args(["-c", "sleep 1000 & sleep 1000"]).spawn().unwrap();
        let it = Process::of(shell.id()).unwrap();
        assert_eq!(Process::read(&it.words()), Some(it));
        while parents().values().filter(|parent| **parent == it.pid).count() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(Process { born: it.born + 1, ..it }.kill(), 0);
        let children: Vec<i32> =
            parents().into_iter().filter(|(_, p)| *p == it.pid).map(|(pid, _)| pid).collect();
        assert_eq!(it.kill(), 3);
        shell.wait().unwrap();
        for child in children {
            // Who inherits it may not have waited for it yet.
            let gone =
                || fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|s| !s.contains(") Z "));
            while gone() {
                std::thread::yield_now();
            }
        }
        assert_eq!(it.kill(), 0);
    }
}

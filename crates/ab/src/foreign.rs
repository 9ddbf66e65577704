// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use idlewise_report::share;

use idlewise_live::Host;
use idlewise_live::files::names;

/// Kernel threads, in field `flags` of /proc/PID/stat (PF_KTHREAD; proc_pid_stat(5), field 9).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// How much of the CPUs' time went where, in ticks of /proc (1/100 s).
#[derive(Clone, Debug, Default)]
pub(super) struct CpuTime {
    all: u64,
    /// User, nice and system: work of processes and kernel threads, not of interrupts.
    work: u64,
    steal: u64,
    /// This process and those it has waited for.
    ours: u64,
    /// By process: its name, whether it is a kernel thread, its time.
    processes: BTreeMap<u32, (String, bool, u64)>,
}

/// What others did to the machine during a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Foreign {
    /// Time of other processes, % of all CPUs.
    pub(super) load_pct: f64,
    /// Time that the host did not give, % of all CPUs.
    pub(super) steal_pct: f64,
    /// The busiest processes of those that lived throughout.
    pub(super) by: Vec<String>,
}

impl CpuTime {
    /// Now. Where /proc tells nothing, nothing is known of others.
    pub(super) fn read(host: &Host) -> Self {
        let text = fs::read_to_string(host.proc.join("stat")).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let fields: Vec<u64> = first.split_whitespace().skip(1).filter_map(|f| f.parse().ok()).collect();
        let at = |i: usize| fields.get(i).copied().unwrap_or(0);
        let mut out = Self {
            // user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)); guest time is within user.
            all: (0..8).map(at).sum(),
            work: at(0) + at(1) + at(2),
            steal: at(7),
            ..Self::default()
        };
        if let Some(own) = Process::read(&host.proc.join("self/stat")) {
            out.ours = own.time + own.children;
        }
        for name in names(&host.proc) {
            let Ok(pid) = name.parse() else { continue };
            if let Some(p) = Process::read(&host.proc.join(&name).join("stat")) {
                out.processes.insert(pid, (p.name, p.kernel, p.time));
            }
        }
        out
    }

    /// What others did from `before` until now.
    pub(super) fn since(&self, before: &Self) -> Foreign {
        let all = self.all.saturating_sub(before.all);
        if all == 0 {
            return Foreign::default();
        }
        let pct = |ticks: u64| 100.0 * ticks as f64 / all as f64;
        let me = std::process::id();
        let mut grown: Vec<(u64, &str, bool)> = Vec::new();
        for (pid, (name, kernel, time)) in &self.processes {
            if let Some((_, _, old)) = before.processes.get(pid).filter(|_| *pid != me) {
                grown.push((time.saturating_sub(*old), name, *kernel));
            }
        }
        // Kernel threads work for whoever asks: mostly for the benchmark.
        let kernel: u64 = grown.iter().filter(|(_, _, k)| *k).map(|(t, _, _)| t).sum();
        let work = self.work.saturating_sub(before.work);
        let foreign = work.saturating_sub(self.ours.saturating_sub(before.ours) + kernel);
        grown.retain(|(time, _, kernel)| !kernel && pct(*time) >= 1.0);
        grown.sort_by(|a, b| b.cmp(a));
        let by = grown
            .iter()
            .take(3)
            .map(|(time, name, _)| format!("{name} {} %", share(pct(*time), 0)))
            .collect();
        Foreign { load_pct: pct(foreign), steal_pct: pct(self.steal.saturating_sub(before.steal)), by }
    }
}

struct Process {
    name: String,
    kernel: bool,
    time: u64,
    children: u64,
}

impl Process {
    fn read(path: &Path) -> Option<Self> {
        let text = fs::read(path).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The name is in brackets and may hold any character, brackets too.
        let (head, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // After the name: state is field 3; flags 9, utime 14, stime 15, cutime 16, cstime 17 (proc_pid_stat(5)).
        let at = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            name: head.split_once('(')?.1.to_owned(),
            kernel: at(9)? & KERNEL_THREAD != 0,
            time: at(14)? + at(15)?,
            children: at(16)? + at(17)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(user: u64, others: u64) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        for (pid, name, flags, time) in
            [("self", "ab", 0, 5), ("77", "a) b", 0, others), ("2", "kworker", KERNEL_THREAD, 3)]
        {
            fs::create_dir_all(proc.join(pid)).unwrap();
            let text = format!("1 ({name}) S 1 1 1 0 -1 {flags} 0 0 0 0 {time} 0 {} 0 20 0 1", user / 2);
            fs::write(proc.join(pid).join("stat"), text).unwrap();
        }
        fs::write(proc.join("stat"), format!("cpu  {user} 0 0 {} 0 0 0 7 0 0\n", 1000 - user)).unwrap();
        root
    }

    #[test]
    fn what_others_did_is_what_is_left() {
        let read = |t: &tempfile::TempDir| CpuTime::read(&Host::below(t.path()));
        let before = CpuTime { all: 0, ..read(&tree(0, 0)) };
        let after = CpuTime { all: 1000, ..read(&tree(400, 150)) };
        let f = after.since(&before);
        assert_eq!(f.load_pct, 20.0);
        assert_eq!(f.by, ["a) b 15 %"]);
        assert_eq!(before.since(&before), Foreign::default());
    }
}

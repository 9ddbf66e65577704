// SPDX-License-Identifier: GPL-2.0-only
//! Does WALT in user space say what it said in a kernel? A log of `walt_tracker` (kernel/modules) holds every call that
//! a scheduler caused and what the books said after it; the calls are made here once more.
//!
//! `IDLEWISE_WALT_LOGS=FOLDER` has the `.log.gz` of that folder played as well.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use idlewise_signal::walt::{Config, CpuSpec, Policy, Scaling, Walt, WaltError};

/// A line of a log: the call, its numbers, and what the kernel's books said.
struct Line {
    call: String,
    now_ns: u64,
    cpu: u32,
    task: u32,
    arg: u64,
    refused: bool,
    said: [u64; 8],
}

impl Line {
    fn parse(text: &str) -> Self {
        let mut words = text.split(' ');
        let call = words.next().unwrap().to_owned();
        let n: Vec<u64> = words.map(|w| w.parse().unwrap()).collect();
        let [now_ns, cpu, task, arg, refused, ..] = n[..] else { panic!("too short: {text}") };
        let narrow = |n: u64| u32::try_from(n).unwrap();
        let said = n[5..].try_into().unwrap_or_else(|_| panic!("13 numbers are expected: {text}"));
        Self { call, now_ns, cpu: narrow(cpu), task: narrow(task), arg, refused: refused != 0, said }
    }
}

fn config(line: &str) -> Config {
    let n: Vec<u32> = line.strip_prefix("config ").unwrap().split(' ').map(|w| w.parse().unwrap()).collect();
    let policies = [Policy::Recent, Policy::Max, Policy::MaxRecentAvg, Policy::Avg];
    let scalings = [Scaling::Frequency, Scaling::Efficiency, Scaling::Capacity];
    Config {
        window_ns: n[0],
        policy: policies[n[1] as usize],
        scaling: scalings[n[2] as usize],
        init_load_pct: n[3],
        task_demand: n[4] != 0,
        follow_tasks: n[5] != 0,
        account_wait_time: n[6] != 0,
        freq_account_wait_time: n[7] != 0,
        io_is_busy: n[8] != 0,
        place_by_busy_time: n[9] != 0,
        exact_util: n[10] != 0,
    }
}

/// The kernel's numbers of tasks, and ours.
struct Player {
    walt: Walt,
    tasks: BTreeMap<u32, u32>,
    cpus: u32,
}

impl Player {
    fn number(&self, theirs: u32) -> u32 {
        if theirs < self.cpus { theirs } else { self.tasks[&theirs] }
    }

    fn play(&mut self, line: &Line) -> Result<(), WaltError> {
        let (walt, now, cpu) = (&mut self.walt, line.now_ns, line.cpu);
        match line.call.as_str() {
            "start" => walt.start(now),
            "tick" => walt.tick(cpu, now),
            "irq" => walt.irq(cpu, line.arg, now),
            "freq" => walt.set_frequency(cpu, u32::try_from(line.arg).unwrap(), now),
            "new" => walt.add_task(cpu, None).map(|ours| {
                self.tasks.insert(line.task, ours);
            }),
            call => {
                let task = self.number(line.task);
                let walt = &mut self.walt;
                match call {
                    "wake" => walt.waking(task, now),
                    "migrate" => walt.migrate(task, cpu, now),
                    "enqueue" => walt.enqueue(task),
                    "switch" => walt.switch(cpu, task, line.arg != 0, now),
                    "exit" => walt.exit(task),
                    "forget" => walt.forget(task),
                    _ => panic!("a call that nobody knows: {call}"),
                }
            }
        }
    }

    fn says(&self, line: &Line) -> [u64; 8] {
        let cpu = self.walt.cpus()[line.cpu as usize];
        let task = match line.call.as_str() {
            "start" | "tick" | "irq" | "freq" => cpu.curr,
            _ => self.number(line.task),
        };
        let task = self.walt.task(task).unwrap();
        [
            cpu.window_start_ns,
            cpu.prev_sum_ns,
            cpu.curr_sum_ns,
            cpu.demand_sum_ns,
            task.sum_ns.into(),
            task.demand_ns.into(),
            task.prev_ns.into(),
            task.curr_ns.into(),
        ]
    }
}

/// Plays a log and compares after every call; how many there were of each kind, and windows that ended busy.
fn play(path: &Path) -> (BTreeMap<String, u32>, u32) {
    let name = path.display();
    let file = File::open(path).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut lines = BufReader::new(GzDecoder::new(file)).lines().map(Result::unwrap);
    let cpus = lines.next().unwrap();
    let cpus: u32 = cpus.strip_prefix("walt ").unwrap().strip_suffix(" cpus").unwrap().parse().unwrap();
    let config = config(&lines.next().unwrap());
    assert!(lines.next().unwrap().starts_with("call now_ns cpu task arg refused window_start_ns"));

    let lines: Vec<Line> = lines.map(|l| Line::parse(&l)).collect();
    let (machine, calls): (Vec<_>, Vec<_>) = lines.iter().partition(|l| l.call == "cpu");
    let specs: Vec<CpuSpec> = machine
        .iter()
        .map(|l| CpuSpec { capacity: u32::try_from(l.arg).unwrap(), max_freq_khz: l.task })
        .collect();
    assert_eq!(specs.len(), cpus as usize);
    let mut player = Player { walt: Walt::new(config, &specs).unwrap(), tasks: BTreeMap::new(), cpus };

    let (mut kinds, mut busy) = (BTreeMap::<String, u32>::new(), 0);
    let mut windows = vec![0; specs.len()];
    for (number, line) in (1..).zip(&calls) {
        let at = || format!("{name}, call {number}: {} at {} ns", line.call, line.now_ns);
        assert_eq!(player.play(line).is_err(), line.refused, "{}", at());
        assert_eq!(player.says(line), line.said, "{}", at());
        *kinds.entry(line.call.clone()).or_default() += 1;
        let window = &mut windows[line.cpu as usize];
        busy += u32::from(*window != line.said[0] && line.said[1] > 0);
        *window = line.said[0];
    }
    (kinds, busy)
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|p| p.to_str().unwrap().ends_with(".log.gz"));
    found.sort();
    assert!(!found.is_empty(), "no logs in {}", folder.display());
    found
}

#[test]
fn a_kernels_calls_give_the_kernels_books() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/walt");
    for path in logs(&folder) {
        let (kinds, busy) = play(&path);
        for call in ["tick", "irq", "freq", "new", "wake", "migrate", "enqueue", "switch", "exit", "forget"] {
            assert!(kinds.get(call).is_some_and(|n| *n >= 3), "{}: {call} in {kinds:?}", path.display());
        }
        assert!(busy > 20, "{}: {busy} busy windows", path.display());
    }
}

#[test]
fn logs_of_other_runs_too() {
    let Some(folder) = std::env::var_os("IDLEWISE_WALT_LOGS") else {
        eprintln!("skipped: IDLEWISE_WALT_LOGS names no folder with logs of walt_tracker");
        return;
    };
    for path in logs(Path::new(&folder)) {
        let (kinds, busy) = play(&path);
        eprintln!("{}: {} calls, {busy} busy windows", path.display(), kinds.values().sum::<u32>());
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Does every file that comes with rt-app load, and mean what rt-app makes of it?

use std::path::PathBuf;

use idlewise_workload::{
    Distribution, Event, Fault, Policy, ResourceKind, SleepTimer, TimerMode, Workload, WorkloadError,
    read_files,
};

/// The folder with rt-app's own files, where this machine has it.
fn rt_app(path: &str) -> Option<PathBuf> {
    let file = idlewise_checkout::shared().join("traces/rt-app").join(path);
    if !file.exists() {
        eprintln!("skipped: {path} is not here (set IDLEWISE_SHARED)");
        return None;
    }
    Some(file)
}

fn load(path: &str) -> Option<Workload> {
    rt_app(path).map(|file| read_files(&[file]).unwrap_or_else(|e| panic!("{e}")))
}

fn constant(us: u64) -> Distribution {
    Distribution::Constant(us * 1000)
}

#[test]
fn every_file_of_today_s_grammar_loads() {
    let Some(root) = rt_app("") else { return };
    let mut files: Vec<PathBuf> = ["", "tutorial", "cpufreq_governor_efficiency"]
        .iter()
        .flat_map(|d| std::fs::read_dir(root.join(d)).unwrap())
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{files:?}");
    for file in files {
        let workload = read_files(&[&file]).unwrap_or_else(|e| panic!("{e}"));
        assert!(workload.instances() > 0, "{}", file.display());
        assert!(workload.tasks.iter().all(|t| t.phases.iter().any(|p| !p.events.is_empty())));
    }
}

#[test]
fn the_old_grammar_is_refused_by_name_alone_and_merged() {
    let Some(root) = rt_app("merge") else { return };
    let files: Vec<PathBuf> =
        ["global", "resources", "thread0", "thread1"].map(|n| root.join(format!("{n}.json"))).to_vec();
    for files in [&files[..], &files[2..3]] {
        let error = read_files(files).unwrap_err();
        assert!(
            matches!(&error, WorkloadError::At { fault: Fault::NotModelled, line: 4, column: 10, path, .. }
            if path == "tasks/thread0/exec"),
            "{error}"
        );
        assert!(error.to_string().contains("thread0.json:4:10: tasks/thread0/exec: `exec`"), "{error}");
    }
    let error = read_files(&files[..2]).unwrap_err();
    assert!(
        matches!(&error, WorkloadError::Lacks { files, .. } if files.contains("resources.json")),
        "{error}"
    );
}

#[test]
fn events_that_repeat_keep_their_order_and_an_empty_suspend_waits_for_the_task_s_own_name() {
    let Some(video) = load("video-short.json") else { return };
    let looper = video.tasks.iter().find(|t| t.name == "CodecLooper1").unwrap();
    let Some(Event::Suspend { queue, mutex }) = looper.phases[0].events.first() else { panic!() };
    let names = [queue, mutex].map(|id| video.resource(*id).unwrap());
    assert!(names.iter().all(|r| r.name == "CodecLooper1"));
    assert_eq!(names.map(|r| r.kind), [ResourceKind::Queue, ResourceKind::Mutex]);
    let times: Vec<u64> = looper.phases[0]
        .events
        .iter()
        .filter_map(|e| match e {
            Event::Run { work: Distribution::Constant(ns) }
            | Event::Sleep { time: Distribution::Constant(ns), timer: SleepTimer::Hrtimer } => {
                Some(ns / 1000)
            }
            _ => None,
        })
        .collect();
    assert_eq!(times, [230, 80, 150, 210, 330, 900, 170, 670, 125]);
    assert_eq!(looper.sched.policy, Policy::Other { nice: -15, slice_ns: None });
    assert_eq!((looper.loops, video.global.duration_ns), (None, Some(6_000_000_000)));
    // One name, three uses: `resume` of the queue wakes who waits there in `sync`.
    let driver: Vec<ResourceKind> =
        video.resources.iter().filter(|r| r.name == "NuPlayerDriver").map(|r| r.kind).collect();
    assert_eq!(driver, [ResourceKind::Mutex, ResourceKind::Queue]);
}

#[test]
fn loops_timers_barriers_and_forks_are_as_documented() {
    let (Some(two), Some(five), Some(seven), Some(nine)) = (
        load("tutorial/example2.json"),
        load("tutorial/example5.json"),
        load("tutorial/example7.json"),
        load("tutorial/example9.json"),
    ) else {
        return;
    };
    assert_eq!(two.resources[0].kind, ResourceKind::TaskTimer);
    let events = &two.tasks[0].phases[0].events;
    assert_eq!(events[0], Event::Run { work: constant(10_000) });
    assert!(matches!(events[1], Event::Timer { period_ns: 100_000_000, mode: TimerMode::Relative, .. }));
    // Without phases, `loop` is the task's.
    assert_eq!((five.tasks[1].loops, five.tasks[1].phases[0].loops), (Some(3), Some(1)));
    assert_eq!((five.tasks[0].loops, five.tasks[0].phases[1].loops), (Some(1), Some(8)));
    assert_eq!(five.tasks[1].cpus, Some(vec![1]));
    assert_eq!(seven.resources.len(), 3);
    assert!(seven.resources.iter().all(|r| r.kind == ResourceKind::Barrier { parties: 2 }));
    assert_eq!(nine.tasks.iter().map(|t| t.instances).collect::<Vec<_>>(), [1, 0, 1]);
    let forked = |phase: usize| nine.tasks[2].phases[phase].events[0].clone();
    assert!(matches!((forked(0), forked(1)), (Event::Fork { task: a }, Event::Fork { task: b })
        if (a.index(), b.index()) == (0, 1)));
}

#[test]
fn a_custom_slice_and_a_deadline_come_from_the_same_key() {
    let Some(slice) = load("custom-slice.json") else { return };
    let policies: Vec<Policy> = slice.tasks.iter().map(|t| t.sched.policy).collect();
    let ns = 200_000_000;
    assert_eq!(
        policies,
        [
            Policy::Other { nice: -19, slice_ns: Some(100_000_000) },
            Policy::Deadline { runtime_ns: ns, deadline_ns: ns, period_ns: ns }
        ]
    );
}

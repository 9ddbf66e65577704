// SPDX-License-Identifier: GPL-2.0-only
//! Is every shape of CTF 1.8 understood: both byte orders, each header, fields of any size and place, clocks, tasks and
//! losses, and does babeltrace2 agree where it can read the trace?

use crate::common;

use common::babeltrace::babeltrace_agrees;
use idlewise_madetraces::ctf::{Files, Lttng, events, has_bt2, idle_event, open, store, write_with_bt2};
use idlewise_model::{
    Asked, Event, EventKind, GovernorName, HealthKind, HrtimerMode, Ipi, TimerFlags, Vector,
};
use idlewise_trace::TraceFile;

fn event(ts_ns: u64, cpu: u32, pid: i32, kind: EventKind) -> Event {
    Event { ts_ns, cpu, pid, kind }
}

/// One event of every kind, on two CPUs.
fn every_kind() -> Vec<Event> {
    let switch = |prev_pid, next_pid| EventKind::SchedSwitch {
        prev_pid,
        prev_prio: 120,
        prev_state: 4096,
        next_pid,
        next_prio: 97,
    };
    let mut kinds = vec![
        switch(0, 7),
        EventKind::CpuFrequency { cpu: 1, khz: 2_400_000 },
        EventKind::PmQosUpdateTarget { prev_value: 2_000_000_000, curr_value: -1 },
        EventKind::PmQosRequest { value: 30 },
        EventKind::GuestHaltPollNs { grow: true, new: 20_000, old: 10_000 },
        EventKind::SchedWaking { pid: 9, target_cpu: 1 },
        EventKind::SchedWakeup { pid: 9, target_cpu: 1, new: false },
        EventKind::SchedWakeup { pid: 10, target_cpu: 0, new: true },
        EventKind::SchedMigrateTask { pid: 9, orig_cpu: 0, dest_cpu: 1 },
        EventKind::SchedBlockedReason { pid: 9, io_wait: true },
        EventKind::BlockRqIssue { dev: 0xfe0_0000, sector: 1 << 40, sectors: 8 },
        EventKind::BlockRqComplete { dev: 0xfe0_0000, sector: 1 << 40, sectors: 8 },
        EventKind::SchedStat { pid: 9, io_wait: true },
        EventKind::SchedStat { pid: 9, io_wait: false },
        EventKind::PeltCfs { cpu: 1, util: 513 },
        EventKind::SchedWakeIdleWithoutIpi { cpu: 1 },
        EventKind::IrqEntry { irq: 19 },
        EventKind::IrqExit { irq: 19 },
        EventKind::SoftirqRaise { vec: 1 },
        EventKind::SoftirqEntry { vec: 1 },
        EventKind::SoftirqExit { vec: 1 },
        EventKind::IpiEntry { ipi: Ipi::Reschedule },
        EventKind::IpiExit { ipi: Ipi::TimerBroadcast },
        EventKind::IpiSendCpu { cpu: 1 },
        EventKind::HrtimerStart {
            hrtimer: 0xffff_8880_1234_5678,
            function: 0xffff_ffff_8110_2030,
            expires: i64::MAX,
            softexpires: 4_000_000_123,
            mode: HrtimerMode(10),
            was_armed: None,
        },
        EventKind::HrtimerStart {
            hrtimer: 1,
            function: 2,
            expires: 3,
            softexpires: -4,
            mode: HrtimerMode(0),
            was_armed: Some(true),
        },
        EventKind::HrtimerCancel { hrtimer: u64::MAX },
        EventKind::HrtimerExpireEntry { hrtimer: 1, function: 2, now: 3 },
        EventKind::HrtimerExpireExit { hrtimer: 1 },
        EventKind::TimerStart {
            timer: 5,
            function: 6,
            expires: 4_294_900_007,
            bucket_expiry: Some(4_294_900_008),
            now: 4_294_900_000,
            flags: TimerFlags(0x18_0001),
        },
        EventKind::TimerStart {
            timer: 5,
            function: 6,
            expires: 7,
            bucket_expiry: None,
            now: 1,
            flags: TimerFlags(0),
        },
        EventKind::TimerCancel { timer: 5 },
        EventKind::TimerExpireEntry { timer: 5, function: 6, now: 8 },
        EventKind::TimerExpireExit { timer: 5 },
        EventKind::SuspendResume { begins: true },
        EventKind::CpuHotplug { cpu: 3 },
        EventKind::HrtimerRearm { next_event: i64::MAX, deferred: true },
        EventKind::TimerBaseIdle { is_idle: true, cpu: 0 },
        EventKind::TmigrCpuIdle { cpu: 0, nextevt: u64::MAX, wakeup: 77 },
        EventKind::TickStop { success: false, dependency: 8 },
        EventKind::IdleEnabled { cpu: 1, capacity: 446, states: 3, governor: GovernorName::new(b"iw-teo") },
        EventKind::IdleAsked {
            cpu: 1,
            asked: Asked(Asked::SLEEP_LENGTH | Asked::CLOCK),
            sleep_length: -5,
            delta_tick: i64::MAX,
            latency_limit: 1 << 40,
            clock: u64::MAX,
        },
        EventKind::IdleChosen {
            cpu: 1,
            state: 2,
            stop_tick: true,
            tick_stopped: false,
            poll_time_limit: true,
            disabled: 0x201,
            residency: 1 << 33,
            poll_limit: 200_000,
            util: 77,
            iowait: 3,
            random: u32::MAX,
        },
        EventKind::IdleReflected {
            cpu: 1,
            state: 2,
            got_tick: true,
            poll_time_limit: false,
            asked: Asked(Asked::GOT_TICK),
            residency: 1 << 34,
            clock: 1 << 35,
        },
        switch(7, 0),
        EventKind::CpuIdle { cpu: 0, state: Some(2) },
        EventKind::CpuIdle { cpu: 0, state: None },
        EventKind::CpuIdleMiss { cpu: 0, state: 2, below: true },
    ];
    for vector in [
        Vector::LocalTimer,
        Vector::Reschedule,
        Vector::CallFunction,
        Vector::CallFunctionSingle,
        Vector::IrqWork,
        Vector::Other,
    ] {
        kinds.extend([EventKind::VectorEntry { vector }, EventKind::VectorExit { vector }]);
    }
    let mut task = 0;
    let mut all = Vec::new();
    for (i, kind) in kinds.into_iter().enumerate() {
        let at = 5_000_000_000 + 1_000 * i as u64;
        let pid = match kind {
            EventKind::SchedSwitch { prev_pid, next_pid, .. } => {
                task = next_pid;
                prev_pid
            }
            _ => task,
        };
        all.push(event(at, 0, pid, kind));
        if i % 5 == 0 {
            all.push(event(at, 1, 0, EventKind::CpuIdle { cpu: 1, state: Some(1) }));
        }
    }
    all
}

#[test]
fn every_kind_of_event_comes_back_from_every_kind_of_trace() {
    let all = every_kind();
    for big in [false, true] {
        for large in [false, true] {
            for (plain, tid) in [(false, false), (true, true)] {
                let trace = Lttng { big, large, plain, tid, ..Lttng::default() };
                let files = trace.write(&all);
                assert_eq!(events(files.clone()), all, "big {big}, large {large}, plain {plain}, tid {tid}");
                babeltrace_agrees(&files);
            }
        }
    }
}

#[test]
fn every_kind_of_event_comes_back_from_babeltraces_own_writer() {
    if !has_bt2() {
        println!("skipped: no python3-bt2");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("written");
    write_with_bt2(&every_kind(), &path);
    let file = TraceFile::open(&path).unwrap();
    assert_eq!(file.events().unwrap().collect::<Vec<_>>(), every_kind());
    assert_eq!((file.meta().clock.as_str(), file.meta().cpus.as_slice()), ("mono", &[0, 1][..]));
}

#[test]
fn what_the_metadata_says_is_kept() {
    let file = open(Lttng { big: true, ..Lttng::default() }.write(&every_kind()));
    let meta = file.meta();
    assert_eq!(meta.format, "CTF 1.8 big-endian, lttng-modules 2.13.9");
    assert_eq!((meta.kernel.as_str(), meta.clock.as_str()), ("6.12.0", "mono"));
    assert_eq!((meta.recorder.as_str(), meta.long_size), ("lttng-modules 2.13.9", 8));
    assert_eq!(meta.cpus, [0, 1]);
    assert!(meta.event_id("timer:hrtimer_start").is_some() && meta.event_id("irq:softirq_entry").is_some());
    assert!(meta.notes.is_empty() && meta.health.is_empty(), "{:?}", meta.notes);
    let mut events = file.events().unwrap();
    events.by_ref().for_each(drop);
    assert_eq!(events.irq_name(19), Some("handler-19"));
    assert_eq!((events.comm(7), events.comm(10), events.comm(0)), (Some("task-7"), Some("task-10"), None));
    let counts: u64 = events.counts().values().sum();
    assert_eq!(counts, every_kind().len() as u64);
}

#[test]
fn functions_are_named_where_the_kernels_symbols_lie_beside_the_trace() {
    let symbols = b"ffffffff81102000 T before\nffffffff81102030 t tick_nohz_handler\n".to_vec();
    let mut files = Lttng::default().write(&every_kind());
    let bare = open(files.clone());
    assert_eq!(bare.meta().function(0xffff_ffff_8110_2030), None);
    let dir = tempfile::tempdir().unwrap();
    store(&dir.path().join("kernel"), &files);
    std::fs::write(dir.path().join("kallsyms"), &symbols).unwrap();
    files.insert("kallsyms".into(), symbols);
    for file in [open(files), TraceFile::open(dir.path()).unwrap()] {
        assert_eq!(file.meta().function(0xffff_ffff_8110_2030), Some("tick_nohz_handler"));
        assert_eq!(file.events().unwrap().symbol(0xffff_ffff_8110_2030), Some("tick_nohz_handler"));
        assert!(file.meta().hash != bare.meta().hash && file.meta().notes.is_empty());
    }
}

#[test]
fn the_hash_covers_every_file() {
    let trace = Lttng::default();
    let hash = |files: &Files| open(files.clone()).meta().hash.clone();
    let files = trace.write(&every_kind());
    let one = hash(&files);
    assert_eq!(one, hash(&files));
    for name in ["metadata", "k_0", "k_1"] {
        let mut changed = files.clone();
        // Behind the content of the last packet.
        *changed.get_mut(name).unwrap().last_mut().unwrap() ^= 1;
        assert_ne!(one, hash(&changed), "{name}");
    }
}

#[test]
fn short_times_wrap_and_long_gaps_have_full_times() {
    for large in [false, true] {
        let wrap = if large { 1u64 << 32 } else { 1 << 27 };
        let steps = [1, wrap - 1, 1, wrap / 2, wrap / 2, wrap / 2, wrap, 3 * wrap + 5, 7, wrap - 1, wrap - 1];
        let mut at = (1 << 40) - 3;
        let all: Vec<Event> = steps
            .iter()
            .map(|step| {
                at += step;
                event(at, 0, 0, EventKind::CpuIdle { cpu: 0, state: Some(0) })
            })
            .collect();
        // Three in a packet: the clock goes on from packet to packet.
        let files = Lttng { large, per_packet: 3, ..Lttng::default() }.write(&all);
        assert_eq!(events(files.clone()), all);
        babeltrace_agrees(&files);
    }
}

#[test]
fn ticks_of_any_length_become_nanoseconds() {
    let at = [0, 1_000, 52_000, 2_000_000_000_000_000_000 / 52 * 52];
    let all: Vec<Event> =
        at.iter().map(|at| event(*at, 0, 0, EventKind::CpuIdle { cpu: 0, state: None })).collect();
    // 19.2 MHz is the counter of many phones: 52.083 ns a tick.
    let trace = Lttng { freq: 19_200_000, clock: "arch_counter", ..Lttng::default() };
    let file = open(trace.write(&all));
    let times: Vec<u64> = file.events().unwrap().map(|e| e.ts_ns).collect();
    let ns = |at: u64| (u128::from(at) * 19_200_000 / 1_000_000_000 * 1_000_000_000 / 19_200_000) as u64;
    assert_eq!(times, at.map(ns));
    assert_eq!(file.meta().clock, "arch_counter");
}

#[test]
fn the_current_task_is_followed_and_never_guessed() {
    let switch = |prev_pid, next_pid| EventKind::SchedSwitch {
        prev_pid,
        prev_prio: 120,
        prev_state: 1,
        next_pid,
        next_prio: 120,
    };
    let softirq = EventKind::SoftirqEntry { vec: 1 };
    let all = [
        event(1, 0, -1, softirq),
        event(2, 0, 5, switch(5, 6)),
        event(3, 0, 6, softirq),
        event(4, 1, -1, softirq),
        event(5, 1, 0, EventKind::CpuIdle { cpu: 1, state: Some(0) }),
        event(6, 1, 0, softirq),
        // An event that CPU 1 writes about CPU 0 does not make CPU 1 idle.
        event(7, 1, 8, switch(8, 9)),
        event(8, 1, 9, EventKind::CpuIdle { cpu: 0, state: Some(0) }),
        event(9, 0, 6, switch(6, 0)),
        event(10, 0, 0, softirq),
        event(11, 0, -1, EventKind::Lost { count: 3 }),
        event(11, 0, -1, softirq),
        event(12, 0, 0, switch(0, 4)),
        event(13, 0, 4, softirq),
    ];
    assert_eq!(events(Lttng::default().write(&all)), all);
    // With the task noted, nothing needs to be followed.
    let noted = [event(1, 0, 77, softirq), event(2, 0, 0, softirq), event(3, 0, 78, softirq)];
    assert_eq!(events(Lttng { tid: true, ..Lttng::default() }.write(&noted)), noted);
}

#[test]
fn lost_events_and_packets_are_told() {
    let idle = |at| event(at, 2, 0, EventKind::CpuIdle { cpu: 2, state: Some(1) });
    let lost = |at, count| event(at, 2, -1, EventKind::Lost { count });
    let all = [idle(10), lost(20, 41), idle(20), lost(30, 0), idle(30), lost(40, 1), idle(40)];
    let file = open(Lttng::default().write(&all));
    let mut stream = file.events().unwrap();
    assert_eq!(stream.by_ref().collect::<Vec<_>>(), all);
    // 41 and 1 were counted, the packet was not.
    assert_eq!(stream.health().count(HealthKind::LostEvents), 43);
    // A recording that begins in the middle has lost nothing of itself before.
    let later = Lttng::default();
    let mut packet = later.packet(2, 5, 100, 1_000);
    packet.event(0, 10).int(1, 32).int(2, 32);
    let text = later.head() + &idle_event("uint32_t _state; uint32_t _cpu_id;");
    let files =
        Files::from([("metadata".into(), later.metadata(&text)), ("k_2".into(), packet.finish(4096))]);
    assert_eq!(events(files), [idle(10)]);
}

#[test]
fn streams_of_one_cpu_share_its_task() {
    let trace = Lttng::default();
    let head = trace.head();
    let second = head.split("stream {").nth(1).unwrap().replace("id = 0", "id = 1");
    let text = head.clone()
        + "stream {"
        + &second
        + "event { name = irq_softirq_entry; id = 0; stream_id = 1; fields := struct { uint32_t _vec; }; };
           event { name = sched_switch; id = 0; stream_id = 0; fields := struct { uint32_t _prev_tid;
               uint32_t _prev_prio; uint32_t _prev_state; uint32_t _next_tid; uint32_t _next_prio; }; };";
    let mut switches = trace.packet(3, 1, 0, 0);
    switches.event(0, 10).int(0, 32).int(20, 32).int(0, 32).int(44, 32).int(20, 32);
    let mut softirqs = trace.packet(3, 1, 0, 0);
    // The number of the stream in the packet's header.
    softirqs.bits.bytes[20] = 1;
    for at in [9, 11] {
        softirqs.event(0, at).int(7, 32);
    }
    let files = Files::from([
        ("metadata".into(), trace.metadata(&text)),
        ("a_3".into(), softirqs.finish(4096)),
        ("b_3".into(), switches.finish(4096)),
    ]);
    let pids: Vec<(u64, i32)> = events(files.clone()).iter().map(|e| (e.ts_ns, e.pid)).collect();
    assert_eq!(pids, [(9, -1), (10, 0), (11, 44)]);
    babeltrace_agrees(&files);
}

#[test]
fn perfs_names_and_contexts_are_understood() {
    // As `perf data convert --to-ctf` describes them: the kernel's names, and the sample as a context.
    let trace = Lttng { clock: "perf_clock", ..Lttng::default() };
    let context = "\tevent.context := struct { uint32_t perf_tid; uint32_t perf_pid; };\n};\n\n";
    let text = trace.head().trim_end().strip_suffix("};").unwrap().replace("lttng-modules", "perf")
        + context
        + "event { name = \"sched:sched_switch\"; id = 0; stream_id = 0; fields := struct { uint32_t common_pid;
               string prev_comm; uint32_t prev_pid; uint32_t prev_prio; uint64_t prev_state; string next_comm;
               uint32_t next_pid; uint32_t next_prio; }; };
           event { name = \"timer:tick_stop\"; id = 1; stream_id = 0;
               fields := struct { uint32_t success; uint32_t dependency; }; };";
    let mut packet = trace.packet(1, 1, 0, 0);
    let bits = packet.event(0, 10).int(31, 32).int(30, 32).int(31, 32).text("a").int(31, 32).int(120, 32);
    bits.int(1, 64).text("swapper/1").int(0, 32).int(120, 32);
    packet.event(1, 12).int(0, 32).int(0, 32).int(1, 32).int(0, 32);
    let files = Files::from([
        ("metadata".into(), trace.metadata(&text)),
        ("perf_stream_1".into(), packet.finish(4096)),
    ]);
    let file = open(files);
    assert_eq!(file.meta().clock, "perf");
    let mut stream = file.events().unwrap();
    let switch =
        EventKind::SchedSwitch { prev_pid: 31, prev_prio: 120, prev_state: 1, next_pid: 0, next_prio: 120 };
    assert_eq!(
        stream.by_ref().collect::<Vec<_>>(),
        [event(10, 1, 31, switch), event(12, 1, 0, EventKind::TickStop { success: true, dependency: 0 })]
    );
    assert_eq!(stream.comm(31), Some("a"));
}

#[test]
fn reading_twice_gives_the_same() {
    let file = open(Lttng::default().write(&every_kind()));
    let (mut first, mut second) = (file.events().unwrap(), file.events().unwrap());
    // At the same time, too.
    for event in first.by_ref() {
        assert_eq!(Some(event), second.next());
    }
    assert!(second.next().is_none());
    assert_eq!(first.counts(), second.counts());
}

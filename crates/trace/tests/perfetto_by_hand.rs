// SPDX-License-Identifier: GPL-2.0-only
//! Does the reader of Perfetto traces make of each message what it says, and is everything else counted and named?

use crate::common;

use std::io::Write;
use std::path::Path;

use common::proto::{Message, bundle, cpu_idle, described, event, message, packet, sched_switch, trace};
use idlewise_model::{Event, EventKind, HealthKind, HrtimerMode, Ipi, TimerFlags, Vector};
use idlewise_trace::TraceFile;

fn open(packets: Vec<Message>) -> TraceFile {
    TraceFile::from_bytes(Path::new("it.perfetto-trace"), trace(packets)).unwrap()
}

fn events(file: &TraceFile) -> Vec<Event> {
    let first: Vec<Event> = file.events().unwrap().collect();
    let second: Vec<Event> = file.events().unwrap().collect();
    assert_eq!(first, second, "a second reading gives the same");
    first
}

fn kinds(file: &TraceFile) -> Vec<EventKind> {
    events(file).into_iter().map(|e| e.kind).collect()
}

/// How often each kind of dirt was met while all events were read, and where first.
fn dirt(file: &TraceFile) -> Vec<(HealthKind, u64, String)> {
    let mut stream = file.events().unwrap();
    stream.by_ref().for_each(drop);
    let mut health = file.meta().health.clone();
    health.merge(stream.health());
    health.iter().map(|(kind, c)| (kind, c.count, c.first.clone())).collect()
}

#[test]
fn every_event_that_means_something() {
    let idle = u32::MAX;
    let rows = vec![
        (13, message().n(1, idle).n(2, 3), EventKind::CpuIdle { cpu: 3, state: None }),
        (13, message().n(1, 2).n(2, 3), EventKind::CpuIdle { cpu: 3, state: Some(2) }),
        (11, message().n(1, 1_800_000).n(2, 5), EventKind::CpuFrequency { cpu: 5, khz: 1_800_000 }),
        (
            20,
            message().b(1, "sh").n(2, 9).n(3, 120).n(5, 1),
            EventKind::SchedWaking { pid: 9, target_cpu: 1 },
        ),
        (17, message().n(2, 9).n(5, 1), EventKind::SchedWakeup { pid: 9, target_cpu: 1, new: false }),
        (114, message().n(2, 9).n(5, 1), EventKind::SchedWakeup { pid: 9, target_cpu: 1, new: true }),
        (
            491,
            message().n(2, 9).n(4, 1).n(5, 2),
            EventKind::SchedMigrateTask { pid: 9, orig_cpu: 1, dest_cpu: 2 },
        ),
        (18, message().n(1, 9).n(2, 77).n(3, 1), EventKind::SchedBlockedReason { pid: 9, io_wait: true }),
        (36, message().n(1, 30).b(2, "arch_timer"), EventKind::IrqEntry { irq: 30 }),
        (37, message().n(1, 30).n(2, 1), EventKind::IrqExit { irq: 30 }),
        (24, message().n(1, 1), EventKind::SoftirqEntry { vec: 1 }),
        (25, message().n(1, 1), EventKind::SoftirqExit { vec: 1 }),
        (26, message().n(1, 9), EventKind::SoftirqRaise { vec: 9 }),
        (21, message().b(1, "Rescheduling interrupts"), EventKind::IpiEntry { ipi: Ipi::Reschedule }),
        (22, message().b(1, "CPU stop interrupts"), EventKind::IpiExit { ipi: Ipi::Other }),
        (559, message().n(1, 236), EventKind::VectorEntry { vector: Vector::LocalTimer }),
        (560, message().n(1, 236), EventKind::VectorExit { vector: Vector::LocalTimer }),
        (
            551,
            message().n(1, 1u64 << 40).n(2, u64::MAX - 4095).n(3, 5_000_000).n(4, -1).n(5, 10),
            EventKind::HrtimerStart {
                hrtimer: 1 << 40,
                function: u64::MAX - 4095,
                expires: 5_000_000,
                softexpires: -1,
                mode: HrtimerMode(10),
                was_armed: None,
            },
        ),
        (552, message().n(1, 7), EventKind::HrtimerCancel { hrtimer: 7 }),
        (
            553,
            message().n(1, 7).n(2, 55).n(3, 0),
            EventKind::HrtimerExpireEntry { hrtimer: 7, function: 0, now: 55 },
        ),
        (554, message().n(1, 7), EventKind::HrtimerExpireExit { hrtimer: 7 }),
        (
            555,
            message().n(1, 8).n(2, 0).n(3, 4_294_900_000u64).n(4, 4_294_899_000u64).n(6, 0x8_0003),
            EventKind::TimerStart {
                timer: 8,
                function: 0,
                expires: 4_294_900_000,
                bucket_expiry: None,
                now: 4_294_899_000,
                flags: TimerFlags(0x8_0003),
            },
        ),
        (556, message().n(1, 8), EventKind::TimerCancel { timer: 8 }),
        (
            557,
            message().n(1, 8).n(2, 5).n(3, 0),
            EventKind::TimerExpireEntry { timer: 8, function: 0, now: 5 },
        ),
        (558, message().n(1, 8), EventKind::TimerExpireExit { timer: 8 }),
        (
            3,
            message().n(1, 99).b(2, "cpu_frequency_devlib: state=450000 cpu_id=5\n"),
            EventKind::CpuFrequency { cpu: 5, khz: 450_000 },
        ),
    ];
    let messages = rows.iter().zip(1000u64..).map(|((n, m, _), ts)| event(ts, 12, *n, m.clone())).collect();
    let file = open(vec![packet(bundle(3, messages))]);
    let wanted: Vec<Event> = rows
        .into_iter()
        .zip(1000u64..)
        .map(|((.., kind), ts_ns)| Event { ts_ns, cpu: 3, pid: 12, kind })
        .collect();
    assert_eq!(events(&file), wanted);
    assert_eq!(dirt(&file), []);
    let mut stream = file.events().unwrap();
    stream.by_ref().for_each(drop);
    assert_eq!((stream.irq_name(30), stream.counts().values().sum::<u64>()), (Some("arch_timer"), 26));
}

#[test]
fn a_switch_is_read_as_the_kernel_wrote_it() {
    let file = open(vec![packet(bundle(1, vec![sched_switch(5, 7, 0x402, 0), sched_switch(6, 0, 0, 7)]))]);
    assert_eq!(
        kinds(&file),
        [
            EventKind::SchedSwitch {
                prev_pid: 7,
                prev_prio: 120,
                prev_state: 0x402,
                next_pid: 0,
                next_prio: 98
            },
            EventKind::SchedSwitch { prev_pid: 0, prev_prio: 120, prev_state: 0, next_pid: 7, next_prio: 98 },
        ]
    );
    let mut stream = file.events().unwrap();
    stream.by_ref().for_each(drop);
    assert_eq!((stream.comm(7), stream.comm(0)), (Some("after"), None));
    let mut stream = file.events().unwrap();
    stream.next();
    assert_eq!(stream.comm(7), Some("after"), "a bundle is understood as a whole");
}

#[test]
fn compact_events_stand_among_the_others_with_the_task_that_ran() {
    let compact = message()
        .b(5, "sh")
        .b(5, "swapper/2")
        .packed(1, &[1000, 500, 100])
        .packed(2, &[1, 0, 2])
        .packed(3, &[42, 0, 43])
        .packed(4, &[120, 120, 98])
        .packed(6, &[0, 1, 0])
        .packed(7, &[1200, 300])
        .packed(8, &[42, 99])
        .packed(9, &[2, 0])
        .packed(10, &[120, 120])
        .packed(11, &[0, 0])
        .packed(12, &[1, 0]);
    let other = bundle(2, vec![cpu_idle(1510, 2, 1), cpu_idle(1590, 2, u32::MAX)]);
    let file = open(vec![packet(other.m(4, compact))]);
    let switch = |prev: (i32, i32), prev_state, next: (i32, i32)| EventKind::SchedSwitch {
        prev_pid: prev.0,
        prev_prio: prev.1,
        prev_state,
        next_pid: next.0,
        next_prio: next.1,
    };
    let got: Vec<(u64, i32, EventKind)> = events(&file).iter().map(|e| (e.ts_ns, e.pid, e.kind)).collect();
    assert_eq!(
        got,
        [
            // Nobody told who ran before the first switch.
            (1000, -1, switch((-1, -1), 1, (42, 120))),
            (1200, 42, EventKind::SchedWaking { pid: 42, target_cpu: 2 }),
            (1500, 42, switch((42, 120), 0, (0, 120))),
            (1500, 0, EventKind::SchedWaking { pid: 99, target_cpu: 0 }),
            (1510, 0, EventKind::CpuIdle { cpu: 2, state: Some(1) }),
            (1590, 0, EventKind::CpuIdle { cpu: 2, state: None }),
            (1600, 0, switch((0, 120), 2, (43, 98))),
        ]
    );
    assert_eq!(dirt(&file), []);
    // A column that is too short: the rows that are whole are read.
    let short =
        message().packed(1, &[10, 10, 10]).packed(2, &[0, 0]).packed(3, &[1, 2, 3]).packed(4, &[1, 1, 1]);
    let file = open(vec![packet(bundle(0, vec![]).m(4, short))]);
    assert_eq!((events(&file).len(), dirt(&file)[0].0, dirt(&file)[0].1), (2, HealthKind::BadEvent, 1));
}

#[test]
fn bundles_of_all_cpus_come_merged_in_time() {
    let idle = |cpu: u32, times: &[u64]| bundle(cpu, times.iter().map(|ts| cpu_idle(*ts, cpu, 0)).collect());
    let file = open(vec![
        packet(idle(1, &[10, 40])),
        packet(idle(0, &[10, 20])),
        packet(idle(0, &[30, 50])),
        // Within a bundle times may be out of order.
        packet(idle(1, &[60, 45])),
    ]);
    let got: Vec<(u64, u32)> = events(&file).iter().map(|e| (e.ts_ns, e.cpu)).collect();
    assert_eq!(got, [(10, 0), (10, 1), (20, 0), (30, 0), (40, 1), (45, 1), (50, 0), (60, 1)]);
    assert_eq!(file.meta().cpus, [0, 1]);
    // A CPU whose next bundle is older than the one before: the clock went back.
    let file =
        open(vec![packet(idle(0, &[10, 40])), packet(idle(0, &[20])), packet(idle(0, &[4_000_000_000_000]))]);
    let found: Vec<(HealthKind, u64)> = dirt(&file).iter().map(|d| (d.0, d.1)).collect();
    assert_eq!(found, [(HealthKind::ClockBackwards, 1), (HealthKind::ClockJump, 1)]);
}

#[test]
fn events_without_a_message_are_read_by_their_descriptions() {
    let tick_stop = described(65536, "timer", "tick_stop", &[("success", 4), ("dependency", 4)]);
    let reschedule = described(65537, "", "reschedule_entry", &[("vector", 4)]);
    let path = described(65538, "lisa", "sched_load_cfs_rq", &[("cpu", 5), ("path", 9), ("util", 4)]);
    let file = open(vec![packet(
        bundle(
            0,
            vec![
                event(1, 0, 65536, message().n(1, 0).n(2, 4)),
                event(2, 0, 65537, message().n(1, 253)),
                event(3, 0, 65538, message().n(1, 6).b(2, "/").n(3, 512)),
                event(4, 0, 65538, message().n(1, 6).b(2, "/sub").n(3, 512)),
            ],
        )
        .m(11, tick_stop)
        .m(11, reschedule)
        .m(11, path),
    )]);
    let id = file.meta().event_id("lisa:sched_load_cfs_rq").unwrap();
    assert_eq!(
        kinds(&file),
        [
            EventKind::TickStop { success: false, dependency: 4 },
            EventKind::VectorEntry { vector: Vector::Reschedule },
            EventKind::PeltCfs { cpu: 6, util: 512 },
            EventKind::Other { id },
        ]
    );
    assert_eq!(dirt(&file), []);
}

#[test]
fn one_number_with_two_descriptions_is_not_guessed() {
    let one = described(65536, "timer", "tick_stop", &[("success", 4), ("dependency", 4)]);
    let other = described(65536, "power", "cpu_idle_miss", &[("cpu_id", 4), ("state", 4), ("below", 4)]);
    let stop = event(1, 0, 65536, message().n(1, 0).n(2, 4));
    let file = open(vec![packet(bundle(0, vec![stop]).m(11, one)), packet(bundle(0, vec![]).m(11, other))]);
    assert!(matches!(kinds(&file)[..], [EventKind::Other { .. }]));
    let found: Vec<(HealthKind, u64)> = dirt(&file).iter().map(|d| (d.0, d.1)).collect();
    assert_eq!(found, [(HealthKind::UnknownEvent, 1), (HealthKind::Ignored, 1)]);
}

#[test]
fn events_with_their_names_in_them_are_read() {
    let generic = |name: &str, fields: &[(&str, u32, i64)]| {
        let fields = fields.iter().map(|(name, kind, value)| message().b(1, name).n(*kind, *value));
        fields.fold(message().b(1, name), |m, field| m.m(2, field))
    };
    let text = message().b(1, "whatever").m(2, message().b(1, "key").b(3, "value"));
    let miss = generic("cpu_idle_miss", &[("cpu_id", 5, 1), ("state", 5, 2), ("below", 4, 1)]);
    let lacking = generic("cpu_idle_miss", &[("cpu_id", 5, 1), ("state", 5, 2)]);
    let file = open(vec![packet(bundle(
        1,
        vec![event(1, 0, 327, miss), event(2, 0, 327, text), event(3, 0, 327, lacking)],
    ))]);
    let got = kinds(&file);
    assert_eq!(got[0], EventKind::CpuIdleMiss { cpu: 1, state: 2, below: true });
    let mut stream = file.events().unwrap();
    stream.by_ref().for_each(drop);
    let EventKind::Other { id } = got[1] else { panic!("{got:?}") };
    assert_eq!(stream.event_name(id), Some("whatever"));
    let EventKind::Other { id } = got[2] else { panic!("{got:?}") };
    assert_eq!(stream.event_name(id), Some("power:cpu_idle_miss"));
    let dirt = dirt(&file);
    assert!(
        dirt[0].0 == HealthKind::BadEvent && dirt[0].2.contains("no below in power:cpu_idle_miss"),
        "{dirt:?}"
    );
}

#[test]
fn unknown_numbers_are_counted_and_never_taken_for_something() {
    let file = open(vec![
        packet(
            bundle(
                0,
                vec![
                    // An event that came later than the table, a field that came later, a field that is missing.
                    event(1, 0, 900, message().n(1, 1).n(2, 0)),
                    event(2, 0, 13, message().n(1, 1).n(2, 0).n(3, 7)),
                    event(3, 0, 13, message().n(1, 1)),
                    // A number where the message should be, and a text where a number should be.
                    message().n(1, 4u32).n(2, 0).n(13, 5),
                    event(5, 0, 13, message().b(1, "deep").n(2, 0)),
                ],
            )
            .n(13, 1),
        ),
        message().b(4321, "news"),
        message().b(4321, "news"),
    ]);
    let got = events(&file);
    assert_eq!(got[1].kind, EventKind::CpuIdle { cpu: 0, state: Some(1) });
    let others = got.iter().filter(|e| matches!(e.kind, EventKind::Other { .. })).count();
    assert_eq!((got.len(), others), (5, 4));
    let dirt = dirt(&file);
    let found: Vec<(HealthKind, u64)> = dirt.iter().map(|d| (d.0, d.1)).collect();
    assert_eq!(found, [(HealthKind::UnknownEvent, 1), (HealthKind::BadEvent, 3), (HealthKind::Ignored, 1)]);
    assert!(dirt[0].2.contains("CPU 0 at 0.000000001 s: field 900"), "{dirt:?}");
    assert!(dirt[2].2.contains("field 3 of power:cpu_idle"), "{dirt:?}");
    let notes = file.meta().notes.iter().map(|n| n.words.as_str()).collect::<Vec<_>>().join("\n");
    assert!(
        notes.contains("4321 (2 times)") && notes.contains("unknown fields of bundles left out: 13"),
        "{notes}"
    );
}

#[test]
fn functions_get_the_names_of_their_writers_tables() {
    let symbols = |all: &[(u64, &str)]| {
        all.iter().fold(message(), |m, (iid, name)| m.m(26, message().n(1, *iid).b(2, name)))
    };
    let expire = |ts, function: u64| event(ts, 0, 553, message().n(1, 7).n(2, 55).n(3, function));
    let file = open(vec![
        packet(bundle(0, vec![expire(1, 5)])).m(12, symbols(&[(5, "tick_nohz_handler")])),
        packet(bundle(0, vec![expire(2, 6), expire(3, 0xffff_8000_0000_1234)])),
        // The tables begin anew: 5 is another function.
        packet(bundle(0, vec![expire(4, 5)])).n(13, 1).m(12, symbols(&[(5, "hrtimer_wakeup")])),
        // Another writer has tables of its own.
        message().m(1, bundle(0, vec![expire(5, 5)])).n(10, 2),
    ]);
    let mut stream = file.events().unwrap();
    let mut names = Vec::new();
    while let Some(event) = stream.next() {
        let EventKind::HrtimerExpireEntry { function, .. } = event.kind else { panic!("{event:?}") };
        names.push((function, stream.symbol(function).map(str::to_owned)));
    }
    let got: Vec<Option<&str>> = names.iter().map(|n| n.1.as_deref()).collect();
    assert_eq!(got, [Some("tick_nohz_handler"), None, None, Some("hrtimer_wakeup"), None]);
    assert_eq!((names[1].0, names[2].0, names[4].0), (0, 0xffff_8000_0000_1234, 0));
}

#[test]
fn packed_packets_are_read_like_others() {
    let plain = vec![
        packet(bundle(0, vec![cpu_idle(10, 0, 1), cpu_idle(40, 0, u32::MAX)])),
        packet(bundle(1, vec![cpu_idle(20, 1, 1), cpu_idle(30, 1, u32::MAX)])),
    ];
    let wanted = events(&open(plain.clone()));
    let bytes = trace(plain.clone());
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(&bytes).unwrap();
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    raw.write_all(&bytes).unwrap();
    let zstd = zstd::encode_all(&bytes[..], 1).unwrap();
    for (field, packed, words) in
        [(50, zlib.finish().unwrap(), "deflate"), (50, raw.finish().unwrap(), "deflate"), (133, zstd, "zstd")]
    {
        let file = open(vec![message().b(field, packed.clone())]);
        assert_eq!((events(&file), dirt(&file)), (wanted.clone(), vec![]));
        assert_eq!(file.meta().format, format!("Perfetto protobuf, {words}"));
        // Damage in a block leaves the rest of the file.
        let broken = message().b(field, &packed[..packed.len() / 2]);
        let file = open(vec![broken, plain[1].clone()]);
        assert_eq!((events(&file).len(), dirt(&file)[0].0), (2, HealthKind::BadPage));
    }
}

#[test]
fn a_block_that_unpacks_to_too_much_is_left_out() {
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&vec![0; 40 << 20]).unwrap();
    let file =
        open(vec![message().b(50, zlib.finish().unwrap()), packet(bundle(0, vec![cpu_idle(1, 0, 0)]))]);
    assert_eq!(events(&file).len(), 1);
    assert!(dirt(&file)[0].2.contains("when unpacked"), "{:?}", dirt(&file));
}

#[test]
fn lost_events_and_the_kernels_errors_are_counted() {
    let idle = |ts| cpu_idle(ts, 2, 0);
    let file = open(vec![
        packet(bundle(2, vec![idle(10)])),
        packet(bundle(2, vec![idle(20)]).n(3, 1)),
        packet(bundle(2, vec![idle(30)]).m(8, message().n(1, 25).n(2, 13)).m(8, message().n(1, 25).n(2, 1))),
    ]);
    let got = events(&file);
    assert_eq!(got[1], Event { ts_ns: 20, cpu: 2, pid: -1, kind: EventKind::Lost { count: 0 } });
    assert_eq!(got.len(), 4);
    assert_eq!(
        dirt(&file),
        [
            (HealthKind::LostEvents, 1, "CPU 2 before 0.000000020 s".to_owned()),
            (HealthKind::BadPage, 1, "CPU 2: the recorder met error 13 in the kernel's buffer".to_owned()),
        ]
    );
    // After a gap nobody knows who runs.
    let compact =
        |deltas: &[i64]| message().packed(1, deltas).packed(2, &[0; 1]).packed(3, &[5; 1]).packed(4, &[1; 1]);
    let file = open(vec![
        packet(bundle(0, vec![]).m(4, compact(&[10]))),
        packet(bundle(0, vec![]).m(4, compact(&[20]))),
        packet(bundle(0, vec![]).m(4, compact(&[30])).n(3, 1)),
    ]);
    let pids: Vec<i32> = events(&file).iter().map(|e| e.pid).collect();
    assert_eq!(pids, [-1, 5, -1, -1]);
}

#[test]
fn what_the_trace_says_about_itself() {
    let clocks = |boot: u64, mono: u64| {
        let clock = |id: u32, time: u64| message().n(1, id).n(2, time);
        message().m(6, message().m(1, clock(6, boot)).m(1, clock(3, mono)).n(2, 6))
    };
    let info = message()
        .m(1, message().b(1, "Linux").b(3, "6.6.30-android15").b(4, "aarch64"))
        .n(3, 100)
        .b(4, "Perfetto v48");
    let tree = message()
        .m(1, message().n(1, 1).b(3, "/sbin/init").n(2, 0))
        .m(1, message().n(1, 40).b(3, "kworker/0:1").n(9, 1))
        .m(2, message().n(1, 77).b(2, "RenderThread").n(3, 70));
    let ftrace = message().b(1, "power/cpu_idle").b(1, "timer_migration/tmigr_cpu_idle").b(1, "sched/*");
    let config = message().m(2, message().m(1, message().b(1, "linux.ftrace").m(100, ftrace)));
    let stats = |phase: u32, overrun: u64| {
        let cpu = message().n(1, 3).n(2, 9).n(3, overrun).n(4, 2).n(8, 1).n(9, 77);
        message().m(34, message().n(1, phase).m(2, cpu).b(7, "timer/tick_stop"))
    };
    let file = open(vec![
        clocks(1_000_000_000, 900_000_000),
        message().m(45, info),
        message().m(2, tree),
        message().m(33, config),
        stats(1, 0),
        packet(bundle(3, vec![cpu_idle(5, 3, 0)])),
        clocks(9_000_000_000, 6_900_000_000),
        stats(2, 12),
    ]);
    let meta = file.meta();
    assert_eq!(meta.kernel, "6.6.30-android15 aarch64");
    assert_eq!((meta.recorder.as_str(), meta.clock.as_str()), ("Perfetto v48", "boot"));
    assert_eq!((meta.cpus.as_slice(), meta.format.as_str()), (&[3][..], "Perfetto protobuf"));
    let comms: Vec<(i32, &str)> = meta.comms.iter().map(|(pid, name)| (*pid, name.as_str())).collect();
    assert_eq!(comms, [(40, "kworker/0:1"), (77, "RenderThread")]);
    assert!(meta.event_id("timer_migration:tmigr_cpu_idle").is_some());
    let stats = &meta.cpu_stats[&3];
    assert_eq!((stats.overrun, stats.commit_overrun, stats.dropped, stats.read_events), (12, 2, 1, 77));
    let notes = meta.notes.iter().map(|n| n.words.as_str()).collect::<Vec<_>>().join("\n");
    assert!(
        notes.contains("suspended for 2 s") && notes.contains("could not give: timer/tick_stop"),
        "{notes}"
    );
}

#[test]
fn other_clocks_and_other_machines_are_told() {
    let idle = |cpu| bundle(cpu, vec![cpu_idle(5, cpu, 0)]);
    let file = open(vec![packet(idle(0).n(5, 2))]);
    assert_eq!(file.meta().clock, "global");
    let file = open(vec![packet(idle(0).n(5, 2)), packet(idle(1))]);
    assert_eq!(file.meta().clock, "");
    assert!(
        file.meta()
            .notes
            .iter()
            .map(|n| n.words.as_str())
            .collect::<Vec<_>>()
            .join("\n")
            .contains("different clocks (boot, global)")
    );
    let file = open(vec![packet(idle(0)), packet(idle(1)).n(98, 5), message().m(1, idle(2)).n(10, 7)]);
    assert_eq!((file.meta().cpus.as_slice(), events(&file).len()), (&[0, 2][..], 2));
    let notes = file.meta().notes.iter().map(|n| n.words.as_str()).collect::<Vec<_>>().join("\n");
    assert!(notes.contains("1 packets of other machines") && notes.contains("2 ftrace sources"), "{notes}");
}

#[test]
fn a_file_that_breaks_off_is_read_up_to_there() {
    let whole = trace(vec![
        packet(bundle(0, vec![cpu_idle(10, 0, 1)])),
        packet(bundle(0, vec![cpu_idle(20, 0, u32::MAX)])),
    ]);
    let read = |bytes: &[u8]| TraceFile::from_bytes(Path::new("it"), bytes.to_vec()).unwrap();
    for cut in [1, 3, 10] {
        let file = read(&whole[..whole.len() - cut]);
        assert_eq!((events(&file).len(), dirt(&file)[0].0), (1, HealthKind::Truncated), "{cut}");
    }
    let file = read(&[&whole[..], b"\x0f?"].concat());
    assert_eq!((events(&file).len(), dirt(&file)[0].0), (2, HealthKind::BadPage));
    // A bundle that breaks off in its last event.
    let mut bytes = packet(bundle(0, vec![cpu_idle(10, 0, 1), cpu_idle(20, 0, 1)])).0;
    bytes[1] -= 2;
    bytes.drain(bytes.len() - 4..bytes.len() - 2);
    let file = read(&message().m(1, message().n(3, 1)).b(1, bytes).0);
    assert_eq!((events(&file).len(), dirt(&file)[0].0), (1, HealthKind::BadPage));
}

#[test]
fn text_is_not_taken_for_packets() {
    for text in [&b"\n\x0bhello, you\n"[..], b"\n# tracer: nop\n#\n# entries\n", b"\n\n\n\n", b"\n"] {
        let opened = TraceFile::from_bytes(Path::new("it"), text.to_vec());
        let taken = opened.is_ok_and(|f| f.meta().format.contains("Perfetto"));
        assert!(!taken, "{:?}", String::from_utf8_lossy(text));
    }
}

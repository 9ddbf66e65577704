// SPDX-License-Identifier: GPL-2.0-only
//! Is each way to write an event, a loss, a heading understood, and is dirt counted?

use std::io::Write;
use std::path::Path;

use EventKind::{
    BlockRqComplete, BlockRqIssue, CpuFrequency, CpuHotplug, CpuIdle, CpuIdleMiss, GuestHaltPollNs,
    HrtimerExpireEntry, HrtimerRearm, HrtimerStart, IpiEntry, IpiRaise, IpiSendCpumask, IrqEntry, Lost,
    Other, PeltCfs, PmQosRequest, PmQosUpdateTarget, SchedBlockedReason, SchedStat, SchedSwitch, SchedWakeup,
    SchedWaking, SoftirqRaise, SuspendResume, TickStop, TimerBaseIdle, TimerStart, TmigrCpuIdle, VectorEntry,
    VectorExit,
};
use idlewise_model::{CpuMask, Event, EventKind, Health, HealthKind, HrtimerMode, Ipi, TimerFlags, Vector};
use idlewise_trace::{TraceError, TraceFile};

pub(crate) fn open(bytes: &[u8]) -> TraceFile {
    TraceFile::from_bytes(Path::new("text"), bytes.to_vec()).unwrap()
}

pub(crate) fn read(text: impl AsRef<[u8]>) -> (Vec<Event>, Health) {
    let file = open(text.as_ref());
    let mut events = file.events().unwrap();
    let all = events.by_ref().collect();
    (all, events.health().clone())
}

/// One event, as the kernel writes it.
pub(crate) fn one(event: &str) -> EventKind {
    let (events, health) = read(format!("# tracer: nop\n   a-1   [000] d..1.   1.000000: {event}\n"));
    assert!(events.len() == 1 && health.is_empty(), "{event}: {events:?} {health:?}");
    events[0].kind
}

/// One event of which the reader can make nothing.
pub(crate) fn bad(event: &str) {
    let (events, health) = read(format!("# tracer: nop\n   a-1   [000] d..1.   1.000000: {event}\n"));
    assert!(matches!(events[..], [Event { kind: Other { .. }, .. }]), "{event}: {events:?}");
    assert_eq!(health.count(HealthKind::BadEvent), 1, "{event}");
}

pub(crate) fn switch(
    prev_pid: i32,
    prev_prio: i32,
    prev_state: u64,
    next_pid: i32,
    next_prio: i32,
) -> EventKind {
    SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio }
}

#[test]
fn idle_and_frequency() {
    assert_eq!(one("cpu_idle: state=4294967295 cpu_id=3"), CpuIdle { cpu: 3, state: None });
    assert_eq!(one("cpu_idle: state=0xffffffff (-1) cpu_id=0x3 (3)"), CpuIdle { cpu: 3, state: None });
    assert_eq!(one("cpu_idle:             state=2 cpu_id=0"), CpuIdle { cpu: 0, state: Some(2) });
    let miss = |below| CpuIdleMiss { cpu: 1, state: 2, below };
    assert_eq!(one("cpu_idle_miss: cpu_id=1 state=2 type=above"), miss(false));
    assert_eq!(one("cpu_idle_miss: cpu_id=1 state=2 type=below"), miss(true));
    assert_eq!(one("cpu_idle_miss: cpu_id=1 state=2 below=1"), miss(true));
    assert_eq!(one("cpu_frequency: state=600000 cpu_id=4"), CpuFrequency { cpu: 4, khz: 600_000 });
    assert_eq!(
        one("guest_halt_poll_ns: halt_poll_ns 0 (shrink 50)"),
        GuestHaltPollNs { grow: false, new: 0, old: 50 }
    );
    assert_eq!(
        one("guest_halt_poll_ns: halt_poll_ns 9 (grow 3)"),
        GuestHaltPollNs { grow: true, new: 9, old: 3 }
    );
    assert_eq!(one("guest_halt_poll_ns: grow=1 new=9 old=3"), GuestHaltPollNs { grow: true, new: 9, old: 3 });
    assert_eq!(
        one("pm_qos_update_target: action=ADD_REQ prev_value=2000000000 curr_value=0"),
        PmQosUpdateTarget { prev_value: 2_000_000_000, curr_value: 0 }
    );
    assert_eq!(
        one("pm_qos_update_target: action=1 prev_value=0 curr_value=-1"),
        PmQosUpdateTarget { prev_value: 0, curr_value: -1 }
    );
    for request in [
        "dev_pm_qos_add_request: device=cpu0 type=DEV_PM_QOS_RESUME_LATENCY new_value=30",
        "pm_qos_update_request: CPU_DMA_LATENCY value=30",
    ] {
        assert_eq!(one(request), PmQosRequest { value: 30 });
    }
}

#[test]
fn switches_whatever_the_tasks_are_called() {
    for (state, bits) in
        [("S", 1), ("R", 0), ("R+", 0x100), ("D", 2), ("I", 0x80), ("D|K", 0x82), ("Z", 0x20)]
    {
        for (prev, next) in
            [("a", "b"), ("a b", "x=1"), ("p prev_pid=7", "n prev_pid=8"), ("==> next", "==> x"), ("", "")]
        {
            let line = format!(
                "sched_switch: prev_comm={prev} prev_pid=12 prev_prio=120 prev_state={state} ==> next_comm={next} next_pid=34 next_prio=-1"
            );
            assert_eq!(one(&line), switch(12, 120, bits, 34, -1), "{line}");
        }
    }
    assert_eq!(
        one(
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=2 prev_state=4096 next_comm=b next_pid=3 next_prio=4"
        ),
        switch(1, 2, 4096, 3, 4)
    );
    for (prev, next) in [("swapper/5", "foo"), ("a:b", "c [1]"), ("x ==> y:1 [2]", "a b")] {
        let line = format!("sched_switch:   {prev}:0 [120] R ==> {next}:123 [98]");
        assert_eq!(one(&line), switch(0, 120, 0, 123, 98), "{line}");
    }
    assert_eq!(one("sched_switch: a:1 [120] D|W ==> b:2 [98]"), switch(1, 120, 0x82, 2, 98));
    // A state that nobody knows is that of a task that sleeps.
    assert_eq!(
        one(
            "sched_switch: prev_comm=a prev_pid=1 prev_prio=2 prev_state=? ==> next_comm=b next_pid=3 next_prio=4"
        ),
        switch(1, 2, 1, 3, 4)
    );
    bad("sched_switch: a:1 [120] S =>");
}

#[test]
fn wakeups() {
    let up = |pid, target_cpu, new| SchedWakeup { pid, target_cpu, new };
    assert_eq!(one("sched_wakeup: comm=a pid=1 prio=120 success=1 target_cpu=010"), up(1, 10, false));
    assert_eq!(one("sched_wakeup: comm=a pid=9 b pid=1 prio=120 target_cpu=002"), up(1, 2, false));
    assert_eq!(one("sched_wakeup: a:b:1 [120] success=1 CPU:003"), up(1, 3, false));
    assert_eq!(one("sched_wakeup: a:1 [120] CPU:003"), up(1, 3, false));
    assert_eq!(one("sched_wakeup: a:1 [120]<CANT FIND FIELD success>CPU:000"), up(1, 0, false));
    assert_eq!(one("sched_wakeup_new: a:1 [120] CPU:003"), up(1, 3, true));
    assert_eq!(
        one("sched_waking: comm=a pid=1 prio=120 target_cpu=001"),
        SchedWaking { pid: 1, target_cpu: 1 }
    );
    assert_eq!(
        one("sched_blocked_reason: pid=6 iowait=1 caller=a+0x1/0x2 [m]"),
        SchedBlockedReason { pid: 6, io_wait: true }
    );
    assert_eq!(one("sched_stat_iowait: comm=a b pid=6 delay=1200 [ns]"), SchedStat { pid: 6, io_wait: true });
    assert_eq!(one("sched_stat_blocked: comm=a pid=6 delay=1200 [ns]"), SchedStat { pid: 6, io_wait: false });
    let (dev, sector, sectors) = (254 << 20 | 1, 12345, 8);
    for fields in [
        "254,1 WS 4096 () 12345 + 8 none,0,0 [a + b]",
        "254,1 R 4096 () 12345 + 8 [fio]",
        "dev=266338305 sector=12345 nr_sector=8 bytes=4096 ioprio=0",
    ] {
        assert_eq!(one(&format!("block_rq_issue: {fields}")), BlockRqIssue { dev, sector, sectors });
    }
    assert_eq!(
        one("block_rq_complete: 254,1 WS () 12345 + 8 none,0,0 [0]"),
        BlockRqComplete { dev, sector, sectors }
    );
    bad("block_rq_issue: 254,1 WS 4096 () 12345");
    assert_eq!(one("sched_load_cfs_rq: cpu=2 path=/ load=0 util=7"), PeltCfs { cpu: 2, util: 7 });
    assert!(matches!(one("sched_load_cfs_rq: cpu=2 path=/a load=0 util=7"), Other { .. }));
    bad("sched_wakeup: comm=a pid=x prio=120 target_cpu=001");
    bad("sched_wakeup: ");
}

#[test]
fn interrupts() {
    assert_eq!(one("softirq_raise: vec=1 [action=TIMER]"), SoftirqRaise { vec: 1 });
    assert_eq!(one("local_timer_entry: vector=236"), VectorEntry { vector: Vector::LocalTimer });
    assert_eq!(
        one("call_function_single_exit: vector=251"),
        VectorExit { vector: Vector::CallFunctionSingle }
    );
    assert_eq!(one("ipi_entry: (Rescheduling interrupts)"), IpiEntry { ipi: Ipi::Reschedule });
    assert_eq!(one("ipi_entry: reason=Function call interrupts"), IpiEntry { ipi: Ipi::CallFunction });
    let cpus = |cpus: &[u32]| cpus.iter().copied().collect::<CpuMask>();
    assert_eq!(
        one("ipi_raise: target_mask=00000001,00000002 (Rescheduling interrupts)"),
        IpiRaise { cpus: cpus(&[1, 32]), ipi: Ipi::Reschedule }
    );
    let sent =
        |mask: &str| one(&format!("ipi_send_cpumask: cpumask={mask} callsite=0xffffffff81 callback=0x0"));
    assert_eq!(sent("00000000,80000001"), IpiSendCpumask { cpus: cpus(&[0, 31]) });
    // As libtraceevent prints it.
    assert_eq!(sent("0,2-4,70"), IpiSendCpumask { cpus: cpus(&[0, 2, 3, 4, 70]) });
    assert_eq!(sent("9-4294967295"), IpiSendCpumask { cpus: (9..=256).collect() });
    assert_eq!(sent(&["00000001"; 9].join(",")), IpiSendCpumask { cpus: (0..288).step_by(32).collect() });
    assert_eq!(sent("2-,x,-"), IpiSendCpumask { cpus: cpus(&[]) });
    let file = open(b"# tracer: nop\n a-1 [000] 1.0: irq_handler_entry: irq=24 name=a name=b c\n a-1 [000] 1.0: irq_handler_entry: irq=24 name=x\n");
    let mut events = file.events().unwrap();
    assert!(events.by_ref().all(|e| e.kind == IrqEntry { irq: 24 }));
    assert_eq!(events.irq_name(24), Some("a name=b c"));
}

#[test]
fn timers() {
    let timer = |now, flags| TimerStart {
        timer: 0xffff_c900_0007_fdf8,
        function: 1,
        expires: 4_296_521_595,
        bucket_expiry: Some(4_296_521_596),
        now,
        flags: TimerFlags(flags),
    };
    let words = "timer_start: timer=ffffc9000007fdf8 function=process_timeout expires=4296521595 [timeout=1] bucket_expiry=4296521596 cpu=1 idx=60";
    assert_eq!(one(&format!("{words} flags=")), timer(4_296_521_594, 60 << 22 | 1));
    assert_eq!(one(&format!("{words} flags=D|P|I")), timer(4_296_521_594, 60 << 22 | 0x38_0001));
    assert_eq!(
        one(
            "timer_start: timer=0xffffc9000007fdf8 function=process_timeout expires=4296521595 bucket_expiry=4296521596 now=0x10017913b flags=251658241"
        ),
        timer(0x1_0017_913b, 251_658_241)
    );
    // Overdue.
    assert_eq!(
        one(&format!("{} flags=", words.replace("timeout=1", "timeout=-2"))),
        timer(4_296_521_597, 60 << 22 | 1)
    );
    let start = |mode, was_armed| HrtimerStart {
        hrtimer: 0xedc6_10d4,
        function: 1,
        expires: 21_766_112_000_000,
        softexpires: 21_766_112_000_001,
        mode: HrtimerMode(mode),
        was_armed,
    };
    let fields = "expires=21766112000000 softexpires=21766112000001";
    assert_eq!(
        one(&format!(
            "hrtimer_start: hrtimer=00000000edc610d4 function=tick_nohz_handler {fields} mode=ABS|PINNED|HARD was_armed=0"
        )),
        start(10, Some(false))
    );
    assert_eq!(
        one(&format!("hrtimer_start: hrtimer=0xedc610d4 function=tick_nohz_handler/0x0 {fields}")),
        start(0, None)
    );
    assert_eq!(
        one(&format!(
            "hrtimer_start: hrtimer=0xedc610d4 function=tick_nohz_handler+0x0/0x140 (-2126388048) {fields} mode=0x1 (1) was_armed=(1)"
        )),
        start(1, Some(true))
    );
    assert_eq!(
        one("hrtimer_rearm: next_event=9223372036854775807 deferred=1"),
        HrtimerRearm { next_event: i64::MAX, deferred: true }
    );
    assert_eq!(one("suspend_resume: machine_suspend[3] begin"), SuspendResume { begins: true });
    assert_eq!(one("suspend_resume: dpm_resume_user[16]  end"), SuspendResume { begins: false });
    assert_eq!(one("suspend_resume: action=sync_filesystems val=0 start=1"), SuspendResume { begins: true });
    bad("suspend_resume: machine_suspend[3]");
    for step in [
        "cpuhp_enter: cpu: 0003 target:   0 step:  88 (takedown_cpu)",
        "cpuhp_multi_enter: cpu: 0003 target: 139 step: 150 (x)",
        "cpuhp_exit:  cpu: 0003  state:  88 step:  88 ret: 0",
        "cpuhp_enter: cpu=3 target=0 idx=88 fun=0x9",
    ] {
        assert_eq!(one(step), CpuHotplug { cpu: 3 }, "{step}");
    }
    bad("cpuhp_enter: target: 0");
    assert_eq!(one("tick_stop: success=1 dependency=NONE"), TickStop { success: true, dependency: 0 });
    assert_eq!(one("tick_stop: success=0 dependency=SCHED"), TickStop { success: false, dependency: 4 });
    assert_eq!(
        one("tick_stop: success=no msg=more than 1 task in runqueue"),
        TickStop { success: false, dependency: 0 }
    );
    assert_eq!(one("timer_base_idle: is_idle=1 cpu=2"), TimerBaseIdle { is_idle: true, cpu: 2 });
    assert_eq!(one("(+12) timer_base_idle:      is_idle=1 cpu=2"), TimerBaseIdle { is_idle: true, cpu: 2 });
    assert_eq!(
        one("tmigr_cpu_idle: cpu=0 parent=0000000028a7ad2c nextevt=6517652000000 wakeup=9223372036854775807"),
        TmigrCpuIdle { cpu: 0, nextevt: 6_517_652_000_000, wakeup: i64::MAX as u64 }
    );
    bad("timer_cancel: timer=zz");
    let expires = |timer: &str, function: &str| {
        one(&format!("hrtimer_expire_entry: hrtimer={timer} function={function} now=50000005000"))
    };
    let unknown = |function| HrtimerExpireEntry { hrtimer: 0, function, now: 50_000_005_000 };
    for word in ["(ptrval)", "(____ptrval____)", "(null)", "(efault)"] {
        assert_eq!(expires(word, "tick_sched_timer"), unknown(1), "{word}");
        assert_eq!(expires(word, word), unknown(0), "{word}");
    }
    assert_eq!(one("hrtimer_expire_entry: hrtimer=(ptrval) now=50000005000"), unknown(0));
}

#[test]
fn flags_that_say_nothing_are_not_believed() {
    let line = |flags: &str| {
        format!(
            "  a-1 [000] 1.0: timer_start: timer=0x1 function=f expires=5 [timeout=1] cpu=0 idx=0 flags={flags}\n"
        )
    };
    let flags = |text: String| match open(text.as_bytes()).events().unwrap().next().unwrap().kind {
        TimerStart { flags, .. } => flags,
        kind => panic!("{kind:?}"),
    };
    let report = format!("cpus=1\n{}{}", line("D|P|I"), line("D|P|I"));
    assert!(open(report.as_bytes()).meta().notes.iter().any(|n| n.contains("D|P|I")));
    assert!(!flags(report).deferrable());
    assert!(flags(format!("cpus=1\n{}{}", line("D|P|I"), line("I"))).deferrable());
    assert!(flags(format!("# tracer: nop\n{}", line("D|P|I"))).deferrable());
}

#[test]
fn a_function_that_expires_by_address_is_named_as_it_was_armed() {
    let text = " a-1 [000] 1.0: hrtimer_expire_entry: hrtimer=0x1 now=5 function=0xffffffff814352e0\n \
                a-1 [000] 1.1: hrtimer_start: hrtimer=0x1 function=tick_nohz_handler expires=9 softexpires=9 mode=0\n \
                a-1 [000] 1.2: hrtimer_expire_entry: hrtimer=0x1 now=9 function=0xffffffff814352e0\n \
                a-1 [000] 1.3: hrtimer_expire_entry: hrtimer=0x2 now=9 function=0xffffffff81700000\n";
    let file = open(text.as_bytes());
    let mut events = file.events().unwrap();
    let functions: Vec<_> = events
        .by_ref()
        .filter_map(|e| match e.kind {
            HrtimerExpireEntry { function, .. } | HrtimerStart { function, .. } => Some(function),
            _ => None,
        })
        .collect();
    let names: Vec<_> = functions.iter().map(|f| events.symbol(*f)).collect();
    assert_eq!(
        names,
        [Some("tick_nohz_handler"), Some("tick_nohz_handler"), Some("tick_nohz_handler"), None]
    );
    assert_eq!(functions[3], 0xffff_ffff_8170_0000);
}

#[test]
fn markers_and_events_of_no_meaning() {
    let frequency = CpuFrequency { cpu: 5, khz: 450_000 };
    for event in [
        "tracing_mark_write: cpu_frequency_devlib: state=450000 cpu_id=5",
        "print:                tracing_mark_write: cpu_frequency_devlib:        state=450000 cpu_id=5",
        "print:                 ip=tracing_mark_write buf=cpu_frequency_devlib:        state=450000 cpu_id=5",
        "0: cpu_frequency_devlib: state=450000 cpu_id=5",
    ] {
        assert_eq!(one(event), frequency, "{event}");
    }
    for event in [
        "tracing_mark_write: B|12|a b: c",
        "tracing_mark_write: E",
        "0: C|124|VSYNC|1",
        "my_event: a=1",
        "bputs: 0xffs: x",
    ] {
        assert!(matches!(one(event), Other { .. }), "{event}");
    }
    let file =
        open(b" a-1 [000] 1.0: sched_stat_wait: comm=x\n a-1 [000] 1.0: my_event: \n a-1 [000] 1.0: 0: E\n");
    let mut events = file.events().unwrap();
    events.by_ref().for_each(drop);
    let names: Vec<_> = (0..3).map(|id| events.event_name(id).unwrap_or("")).collect();
    assert_eq!(names, ["sched:sched_stat_wait", "my_event", "ftrace:print"]);
    assert_eq!(events.counts().into_iter().collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 1)]);
    assert_eq!(
        (file.meta().event_id("sched:sched_stat_wait"), file.meta().event_id("ftrace:print")),
        (Some(0), Some(2))
    );
}

#[test]
fn raw_fields_of_events_that_were_not_parsed_are_read() {
    assert_eq!(one("cpu_idle: [FAILED TO PARSE] state=1 cpu_id=0"), CpuIdle { cpu: 0, state: Some(1) });
    let text = "cpus=1\n a-1 [000] 1.0: hrtimer_start: hrtimer=0x1 function=f/0x0 expires=1 softexpires=1\n \
                a-1 [000] 1.1: hrtimer_start: [FAILED TO PARSE] hrtimer=0x1 function=0xffffffff81000000 expires=1 softexpires=1 mode=1\n";
    let (events, health) = read(text);
    assert!(events.len() == 2 && health.is_empty(), "{health:?}");
}

#[test]
fn ends_of_lines_and_of_the_file() {
    let lines = [
        "# tracer: nop",
        "#",
        "",
        "   a-1 [000] d..1 1.000001: cpu_idle: state=1 cpu_id=0",
        "   a-1 [000] d..1 1.000002: cpu_idle: state=4294967295 cpu_id=0",
    ];
    let (expected, _) = read(lines.join("\n"));
    assert_eq!(expected.len(), 2);
    for text in [
        lines.join("\n") + "\n",
        lines.join("\r\n"),
        lines.join("\r\n") + "\r\n",
        lines.join("\n\n\n"),
        format!("\u{feff}{}", lines.join("\r\n")),
        lines.join("\\n\\\n"),
        // The first line alone may carry the mark.
        format!("\u{feff}{}\n{}\n", lines[3], lines[4]),
    ] {
        let (events, health) = read(&text);
        assert_eq!(events, expected, "{text}");
        assert!(health.is_empty(), "{text}: {health:?}");
    }
}

#[test]
fn losses_are_told_before_the_next_event() {
    let text = "cpus=4\nCPU 3 is empty\n a-1 [002] 1.0: x: \nCPU:2 [LOST 123 EVENTS]\nCPU:1 [7 EVENTS DROPPED]\n \
                a-1 [002] 2.0: x: \nCPU:2 [LOST EVENTS]\n a-1 [002] 3.0: x: \nCPU:0 [EVENTS DROPPED]\n \
                [warning] Tracer discarded 9 events between [1] and [2] in trace UUID 12 at path: \"/x_1/k\", within stream id 3, at relative path: \"channel0_3\".\n";
    let (events, health) = read(text);
    let got: Vec<_> = events.iter().map(|e| (e.ts_ns / 1_000_000_000, e.cpu, e.kind)).collect();
    let x = Other { id: 0 };
    assert_eq!(
        got,
        [
            (1, 2, x),
            (2, 2, Lost { count: 123 }),
            (2, 1, Lost { count: 7 }),
            (2, 2, x),
            (3, 2, Lost { count: 0 }),
            (3, 2, x),
            (3, 0, Lost { count: 0 }),
            (3, 3, Lost { count: 9 })
        ]
    );
    assert_eq!(health.count(HealthKind::LostEvents), 141);
    assert_eq!(open(text.as_bytes()).meta().cpus, [0, 1, 2, 3]);
}

#[test]
fn between_two_recordings_in_one_file_something_was_lost_on_every_cpu() {
    let one = "# tracer: nop\n#\n a-1 [002] 1.0: x: \n a-1 [000] 1.5: x: \n";
    let two = "# tracer: nop\n#\n a-1 [002] 9.0: x: \n a-1 [001] 9.5: x: \n";
    let (events, health) = read(format!("{one}{two}"));
    let got: Vec<_> = events.iter().map(|e| (e.cpu, e.kind)).collect();
    let (x, lost) = (Other { id: 0 }, Lost { count: 0 });
    assert_eq!(got, [(2, x), (0, x), (0, lost), (2, lost), (2, x), (1, x)]);
    let told: Vec<_> = health.iter().map(|(kind, c)| (kind, c.count, c.first.as_str())).collect();
    assert_eq!(told, [(HealthKind::NewRecording, 1, "line 5")]);
    assert!(read(one).1.is_empty());
}

#[test]
fn lines_whose_fields_were_left_out_are_no_dirt() {
    let text = " a-1 [000] 1.0: sched_load_cfs_rq:\n a-1 [000] 2.0: cpu_idle:\n a-1 [000] 3.0: cpu_idle: state=1 cpu_id=0\n";
    let (events, health) = read(text);
    assert!(
        matches!(events[..], [_, _, Event { kind: CpuIdle { cpu: 0, state: Some(1) }, .. }]),
        "{events:?}"
    );
    assert!(health.is_empty(), "{health:?}");
    let (_, health) = read(text.replace("cfs_rq:", "cfs_rq: cpu=0"));
    assert_eq!(health.count(HealthKind::BadEvent), 1, "{health:?}");
}

#[test]
fn times_that_no_clock_can_reach_are_named_as_what_is_wrong() {
    let at = |s: u64| {
        let text = format!("# tracer: nop\n a-1 [000] d..1. {s}.000000: cpu_idle: state=1 cpu_id=0\n");
        TraceFile::from_bytes(Path::new("text"), text.into_bytes()).map(|t| {
            let mut events = t.events().unwrap();
            (events.by_ref().count(), events.health().count(HealthKind::BadEvent))
        })
    };
    assert_eq!(at(2_305_843_009).unwrap(), (1, 0));
    // It fits into 64 bits, and no clock of a kernel gets there.
    assert_eq!(at(2_305_843_010).unwrap(), (0, 1));
    assert_eq!(at(18_446_744_072).unwrap(), (0, 1));
    for s in [18_446_744_848, u64::MAX] {
        let error = at(s).unwrap_err().to_string();
        assert!(error.contains("times below 18446744073 s"), "{error}");
    }
}

#[test]
fn stacks_between_events_do_no_harm() {
    let text = " a-1 [000] ..... 5.1: x: \n a-1 [000] ..... 5.2: <stack trace>\n => schedule\n => \n\
                 a-1 [000] ..... 5.3: <user stack trace>\n =>  <00007f4d0a531353>\n a-1 [000] ..... 5.4: x: \n";
    let (events, health) = read(text);
    assert_eq!(events.iter().map(|e| e.ts_ns / 100_000_000).collect::<Vec<_>>(), [51, 54]);
    assert!(health.is_empty(), "{health:?}");
}

#[test]
fn clocks_that_go_back_or_leap_are_counted_for_each_cpu() {
    let text = " a-1 [000] 5.0: x: \n a-1 [001] 4.0: x: \n a-1 [000] 4.9: x: \n a-1 [000] 4.9: x: \n a-1 [001] 9999.0: x: \n";
    let (events, health) = read(text);
    assert_eq!(events.iter().map(|e| e.ts_ns / 100_000_000).collect::<Vec<_>>(), [50, 40, 49, 49, 99_990]);
    assert_eq!((health.count(HealthKind::ClockBackwards), health.count(HealthKind::ClockJump)), (1, 1));
    assert!(health.iter().any(|(_, c)| c.first.contains("line 3, CPU 0")), "{health:?}");
}

#[test]
fn perf_scripts_lines_with_call_chains_and_other_samples() {
    let text = "# ========\n# os release : 6.18.44\n# arch : x86_64\n# ========\n#\n\
                perf 31560 [000] 21788.847712243: sched:sched_switch: prev_comm=perf prev_pid=31560 prev_prio=120 prev_state=D ==> next_comm=m/0 next_pid=18 next_prio=0\n\
                \tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])\n\t    7fa400000080 [unknown] ([unknown])\n\n\
                a b 18/19 [000] 21788.848366258:     250000          cpu-clock:u: \n\
                \tffffffff813a2413 finish_task_switch.isra.0+0x93 ([kernel.kallsyms])\n\n\
                m/0    18 [000] 21788.848366259:  1  power:cpu_idle: state=1 cpu_id=0\n\
                m/0    18 [000] 21788.848366260: PERF_RECORD_LOST lost 12\n\
                swapper 0 [000] 21788.848366261: power:cpu_idle: state=4294967295 cpu_id=0\n\
                swapper 0 [000] 21788.848366262:     250000  cycles:ppp: ";
    let (events, health) = read(text);
    let got: Vec<_> = events.iter().map(|e| (e.ts_ns, e.pid, e.kind)).collect();
    assert_eq!(
        got,
        [
            (21_788_847_712_243, 31560, switch(31560, 120, 2, 18, 0)),
            (21_788_848_366_259, 18, CpuIdle { cpu: 0, state: Some(1) }),
            (21_788_848_366_261, -1, Lost { count: 12 }),
            (21_788_848_366_261, 0, CpuIdle { cpu: 0, state: None }),
        ]
    );
    assert_eq!((health.count(HealthKind::Ignored), health.count(HealthKind::LostEvents)), (2, 12));
    let file = open(text.as_bytes());
    assert_eq!((file.meta().format.as_str(), file.meta().kernel.as_str()), ("perf script", "6.18.44 x86_64"));
    assert!(file.meta().notes.is_empty());
}

#[test]
fn the_kernels_latency_format_counts_from_its_start() {
    let text = "# tracer: nop\n#\n# nop latency trace v1.1.5 on 6.18.44\n# latency: 0 us, #4/4, CPU#0 | (M:PREEMPT VP:0)\n#\n\
                    a b-30684   10d.h1. 16258us!: cpu_idle: state=1 cpu_id=10\n    <...>-7     0..... 16259us : x: y\n";
    let file = open(text.as_bytes());
    let events: Vec<_> = file.events().unwrap().collect();
    assert_eq!((events[0].ts_ns, events[0].cpu, events[0].pid), (16_258_000, 10, 30684));
    assert_eq!(events[1].ts_ns, 16_259_000);
    assert_eq!(
        (file.meta().format.as_str(), file.meta().kernel.as_str()),
        ("ftrace text, latency format", "6.18.44")
    );
    assert!(file.meta().notes[0].contains("from the start"));
}

#[test]
fn headings_say_what_is_missing() {
    let notes = |text: &str| {
        open(text.as_bytes()).meta().notes.iter().map(|n| n.words.as_str()).collect::<Vec<_>>().join("; ")
    };
    assert!(
        notes("# tracer: nop\n# entries-in-buffer/entries-written: 478/2665   #P:2\n")
            .contains("2187 of 2665")
    );
    assert_eq!(notes("# tracer: nop\n# entries-in-buffer/entries-written: 478/478   #P:8\n"), "");
    assert!(notes(" a-1 [000] ...1.           12: x: y\n").contains("no unit"));
    assert!(notes(" a-1 [000] 1.000001: x: y\n").contains("microsecond"));
    assert_eq!(notes(" a-1 [000] 1.000000001: x: y\n"), "");
}

#[test]
fn trace_options_that_hide_tasks_and_times_are_refused_by_name() {
    for line in [
        "30684 1 21759216843705 type: 461",
        "cpu_idle: state=1 cpu_id=0",
        "bash   30684   1 0 00000000 00000000 [5118028b2] 16.111ms (+0.000ms): x: y",
    ] {
        let text = format!("# tracer: nop\n#\n{line}\n").into_bytes();
        let error = TraceFile::from_bytes(Path::new("it"), text).err().unwrap();
        assert!(
            matches!(error, TraceError::Unsupported { .. })
                && error.to_string().contains("it: line 3: ftrace text without tasks or times")
                && error.to_string().contains("turn these options off"),
            "{error}"
        );
    }
    assert!(read("# tracer: nop\n#\n").0.is_empty());
}

#[test]
fn lines_of_the_wakeup_tracers_are_wakeups_and_switches() {
    let up = SchedWakeup { pid: 5882, target_cpu: 2, new: false };
    for (line, kind) in [
        ("<idle>-0       2d.h4 2590us :      0:120:R   + [002]  5882: 94:R job", up),
        ("<idle>-0       2d..3 2606us :      0:120:R ==> [002]  5882: 94:R job", switch(0, 120, 0, 5882, 94)),
        (
            "bash-7         2d..3 2606us+:      7:120:D ==> [002]     0:120:R <idle>",
            switch(7, 120, 2, 0, 120),
        ),
        ("<idle>-0     [002] d.h4  9.002590:      0:120:R   + [002]  5882: 94:R job", up),
    ] {
        let (events, health) = read(format!("# tracer: wakeup_rt\n#\n  {line}\n"));
        assert!(events.len() == 1 && health.is_empty(), "{line}: {events:?} {health:?}");
        assert_eq!((events[0].kind, events[0].cpu), (kind, 2), "{line}");
    }
    // Cut off from its time it is no event, and stops nothing.
    let (events, health) = read(
        "# tracer: wakeup\n  0:120:R   + [002]  5882: 94:R job\n <idle>-0 2d..1 1us : cpu_idle: state=1 cpu_id=2\n",
    );
    assert_eq!((events.len(), health.count(HealthKind::Ignored)), (1, 1));
}

#[test]
fn lines_without_a_task_are_read_and_the_switches_tell_it() {
    let text = " [000] 154.892148: ipi_raise: target_mask=00000000,00000080 (Function call interrupts)\n \
                [007] 154.892162: cpu_idle: state=2 cpu_id=7\n[007] 154.892208: cpu_idle: state=4294967295 cpu_id=7\n \
                [007] 154.892211: irq_handler_entry: irq=2 name=IPI\n";
    let file = open(text.as_bytes());
    assert_eq!(file.meta().format, "ftrace text");
    let mut events = file.events().unwrap();
    let got: Vec<_> = events.by_ref().map(|e| (e.cpu, e.pid, e.ts_ns / 1000 % 1000)).collect();
    assert_eq!(got, [(0, -1, 148), (7, 0, 162), (7, 0, 208), (7, 0, 211)]);
    assert!(events.health().is_empty());
    // perf script -F time,cpu,event,trace
    let text = "[007] 154.892162: power:cpu_idle: state=2 cpu_id=7\n   12 [007] 154.9: power:cpu_idle: state=1 cpu_id=7\n";
    assert_eq!(
        read(text).0.iter().map(|e| e.kind).collect::<Vec<_>>(),
        [2, 1].map(|state| CpuIdle { cpu: 7, state: Some(state) })
    );
}

#[test]
fn names_of_tasks_come_from_the_lines() {
    let file = open(b" <...>-7 [000] 1.0: x: \n a b-7 [000] 1.1: x: \n kworker/u8:2-wr-24819 (  611) [001] 1.2: x: \n <idle>-0 [001] 1.3: x: \n");
    let mut events = file.events().unwrap();
    events.by_ref().for_each(drop);
    assert_eq!(
        (events.comm(7), events.comm(24819), events.comm(0)),
        (Some("a b"), Some("kworker/u8:2-wr"), None)
    );
}

#[test]
fn odd_lines_between_events_are_counted() {
    let text = b"cpus=1\n a-1 [000] 1.0: kernel_stack: <stack trace >\n=> schedule (ffff)\n => x\n a-1 [000] 1.1: x: y\nhello\n\xff\xfe\xfd\n a-1 [000] 1.2: schedule <-x\n a-1 [000] 1.3: x: y\n";
    let (events, health) = read(text);
    assert_eq!((events.len(), health.count(HealthKind::Ignored)), (3, 3));
    assert!(health.iter().all(|(_, c)| c.first == "line 6"), "{health:?}");
}

/// A page as systrace wrote and writes it.
pub(crate) fn page(body: &str) -> Vec<u8> {
    format!("<!DOCTYPE html>\n<html><head><script>var x=/^# tracer:/;if(r=='  <script class=\"trace-data\"')a-1 [000] 9.0: x: y\n</script></head><body>\n{body}\n</body></html>\n").into_bytes()
}

pub(crate) const LINES: &str = "# tracer: nop\n#\n a-1 [000] 1.0: cpu_idle: state=1 cpu_id=0\n a-1 [000] 2.0: cpu_idle: state=4294967295 cpu_id=0\n";

#[test]
fn systrace_pages() {
    let (expected, _) = read(LINES);
    let packed = |gzip: bool| {
        let mut out = Vec::new();
        if gzip {
            let mut w = flate2::write::GzEncoder::new(&mut out, flate2::Compression::default());
            w.write_all(LINES.as_bytes()).unwrap();
            w.finish().unwrap();
        } else {
            let mut w = flate2::write::ZlibEncoder::new(&mut out, flate2::Compression::default());
            w.write_all(LINES.as_bytes()).unwrap();
            w.finish().unwrap();
        }
        out
    };
    for (body, what) in [
        (
            format!("  <script class=\"trace-data\" type=\"application/text\">\n{LINES}  </script>"),
            "ftrace text, in a systrace page",
        ),
        (
            format!(
                "  <script>\n  var linuxPerfData = \"\\\n{}\\n\";\n  </script>",
                LINES.trim_end().replace('\n', "\\n\\\n")
            ),
            "ftrace text, in a systrace page",
        ),
        (
            format!(
                "<script class=\"trace-data\" type=\"application/text\">\n{{\"a\": 1}}\n</script>\n<script class=\"trace-data\" type=\"application/text\">\n{}\n</script>",
                base64(&packed(true))
            ),
            "ftrace text, in a systrace page, compressed",
        ),
        (
            format!("<script class=\"trace-data\">{}</script>", base64(&packed(false))),
            "ftrace text, in a systrace page, compressed",
        ),
    ] {
        let page = page(&body);
        let file = open(&page);
        assert_eq!(file.meta().format, what, "{body}");
        let mut events = file.events().unwrap();
        assert_eq!(events.by_ref().collect::<Vec<_>>(), expected, "{body}");
        assert!(events.health().is_empty(), "{body}: {:?}", events.health());
    }
    let twice = format!("<script class=\"trace-data\">\n{LINES}</script>\n").repeat(2);
    let file = open(&page(&twice));
    assert!(
        file.events().unwrap().count() == 2 && file.meta().notes.iter().any(|n| n.contains("second trace"))
    );
    let error = TraceFile::from_bytes(Path::new("it"), page("nothing")).err().unwrap();
    assert!(error.to_string().contains("an HTML page without ftrace text"), "{error}");
}

#[test]
fn atrace_output_plain_and_compressed() {
    let (expected, _) = read(LINES);
    let (plain, health) = read(format!("capturing trace... done\nTRACE:\n{LINES}"));
    assert!(plain == expected && health.is_empty());
    let mut packed = b"capturing trace... done\nTRACE:\n".to_vec();
    let mut w = flate2::write::ZlibEncoder::new(&mut packed, flate2::Compression::default());
    w.write_all(LINES.as_bytes()).unwrap();
    w.finish().unwrap();
    let file = open(&packed);
    assert_eq!(file.meta().format, "ftrace text, from atrace, compressed");
    assert_eq!(file.events().unwrap().collect::<Vec<_>>(), expected);
    let error = TraceFile::from_bytes(Path::new("it"), packed[..packed.len() - 20].to_vec()).err().unwrap();
    assert!(
        error.to_string().contains("packed with zlib") && error.to_string().contains("cut off"),
        "{error}"
    );
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for (i, three) in bytes.chunks(3).enumerate() {
        let word = three.iter().chain(&[0, 0]).take(3).fold(0, |w, b| w << 8 | u32::from(*b));
        for k in 0..=three.len() {
            out.push(DIGITS[(word >> (18 - 6 * k) & 63) as usize] as char);
        }
        out.push_str(&"=".repeat(3 - three.len()));
        if i % 19 == 18 {
            out.push('\n');
        }
    }
    out
}

// SPDX-License-Identifier: GPL-2.0-only
//! Are written events the events that were read?

use crate::common;

use std::path::{Path, PathBuf};

use common::proto::{bundle, cpu_idle, described, event, message, packet, sched_switch, trace};
use common::{perfettos_opinion, python_perfetto, recordings};
use idlewise_model::{Event, EventKind, Vector};
use idlewise_trace::write::{FtraceText, Note, PerfettoWriter, Slice};
use idlewise_trace::{Events, TraceFile};

fn perfetto(file: &TraceFile) -> Vec<u8> {
    let mut writer = PerfettoWriter::new(Vec::new(), file.meta()).unwrap();
    let mut events = file.events().unwrap();
    while let Some(event) = events.next() {
        writer.event(&event, &events).unwrap();
    }
    writer.finish().unwrap()
}

fn text(file: &TraceFile) -> String {
    let mut writer = FtraceText::new(Vec::new(), file.meta()).unwrap();
    let mut events = file.events().unwrap();
    while let Some(event) = events.next() {
        writer.event(&event, &events).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn read(bytes: Vec<u8>) -> TraceFile {
    TraceFile::from_bytes(Path::new("written"), bytes).unwrap()
}

/// An event with the names behind its numbers, and without what is not written.
fn named(event: &Event, events: &Events<'_>) -> (Event, Vec<String>) {
    let mut event = *event;
    let mut names = Vec::new();
    match &mut event.kind {
        EventKind::HrtimerStart { function, .. }
        | EventKind::HrtimerExpireEntry { function, .. }
        | EventKind::TimerStart { function, .. }
        | EventKind::TimerExpireEntry { function, .. } => {
            if let Some(name) = events.symbol(*function) {
                names.push(name.to_owned());
                *function = 0;
            }
        }
        EventKind::Other { id } => {
            names.push(events.event_name(*id).unwrap_or("unknown").to_owned());
            *id = 0;
        }
        EventKind::Lost { count } => *count = 0,
        EventKind::IrqEntry { irq } => names.extend(events.irq_name(*irq).map(str::to_owned)),
        _ => {}
    }
    (event, names)
}

/// Compares all events of two traces; says how many there were.
fn same_events(a: &TraceFile, b: &TraceFile, what: &str) -> u64 {
    let (mut ours, mut theirs) = (a.events().unwrap(), b.events().unwrap());
    let mut n = 0;
    loop {
        let (one, other) = (ours.next(), theirs.next());
        let one = one.map(|e| named(&e, &ours));
        assert_eq!(one, other.map(|e| named(&e, &theirs)), "{what}, event {n}");
        if one.is_none() {
            return n;
        }
        n += 1;
    }
}

fn test_data() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    ["mixed.dat", "sleeploop.dat"].iter().map(|name| dir.join(name)).collect()
}

#[test]
fn perfetto_gives_back_every_event_of_every_recording() {
    for path in test_data().into_iter().chain(recordings()) {
        let file = TraceFile::open(&path).unwrap();
        let bytes = perfetto(&file);
        let len = bytes.len();
        let written = read(bytes);
        let n = same_events(&file, &written, &path.display().to_string());
        let (then, now) = (file.meta(), written.meta());
        assert_eq!(now.kernel, then.kernel);
        assert_eq!(now.clock, then.clock, "{}", path.display());
        println!("{}: {n} events the same, {} bytes from {}", path.display(), len, then.bytes);
    }
}

#[test]
fn perfetto_gives_back_the_clock_also_one_that_it_does_not_know() {
    let line = "          <idle>-0       [000] d..1.   100.000001: cpu_idle: state=1 cpu_id=0\n";
    let named = ["mono", "boot", "local", "global", "mono_raw", "x86-tsc", "uptime"];
    let heads =
        named.iter().map(|clock| (*clock, format!("# clock : {clock}\n"))).chain([("", String::new())]);
    for (clock, head) in heads {
        let file = read(format!("# tracer: nop\n#\n{head}{line}").into_bytes());
        assert_eq!(file.meta().clock, clock, "by the text");
        let written = read(perfetto(&file));
        assert_eq!(written.meta().clock, clock);
        assert_eq!(written.meta().recorder, concat!("idlewise ", env!("CARGO_PKG_VERSION")));
    }
}

/// A trace with every kind of event that idlewise understands, and some that it does not.
fn everything() -> TraceFile {
    let generic = [
        ("power", "cpu_idle_miss", &["cpu_id", "state", "below"][..]),
        ("power", "pm_qos_update_target", &["prev_value", "curr_value"]),
        ("power", "guest_halt_poll_ns", &["grow", "new", "old"]),
        ("sched", "sched_load_avg_cpu", &["cpu", "util_avg"]),
        ("sched", "sched_wake_idle_without_ipi", &["cpu"]),
        ("irq_vectors", "reschedule_entry", &["vector"]),
        ("irq_vectors", "thermal_apic_exit", &["vector"]),
        ("ipi", "ipi_send_cpu", &["cpu"]),
        ("timer", "timer_base_idle", &["is_idle", "cpu"]),
        ("timer_migration", "tmigr_cpu_idle", &["cpu", "nextevt", "wakeup"]),
        ("timer", "tick_stop", &["success", "dependency"]),
        ("timer", "hrtimer_start", &["hrtimer", "function", "expires", "softexpires", "mode", "was_armed"]),
        ("kvm", "kvm_entry", &["vcpu"]),
        ("idlewise", "idle_asked", &["cpu", "asked", "sleep_length", "delta_tick", "latency_limit", "clock"]),
        (
            "idlewise",
            "idle_chosen",
            &[
                "cpu",
                "state",
                "stop_tick",
                "tick_stopped",
                "residency",
                "poll_time_limit",
                "poll_limit",
                "util",
                "iowait",
                "random",
                "disabled",
            ],
        ),
        (
            "idlewise",
            "idle_reflected",
            &["cpu", "state", "residency", "poll_time_limit", "got_tick", "clock", "asked"],
        ),
        ("timer", "hrtimer_rearm", &["next_event", "deferred"]),
        ("power", "suspend_resume", &["start"]),
        ("cpuhp", "cpuhp_enter", &["cpu"]),
        ("power", "dev_pm_qos_add_request", &["new_value"]),
    ];
    let mut whole = message().n(1, 2);
    let mut events = vec![
        sched_switch(1_000_000_000, 7, 0x100, 0),
        cpu_idle(1_000_000_100, 2, 1),
        cpu_idle(1_000_000_200, 2, u32::MAX),
        event(1_000_000_300, 0, 11, message().n(1, 1_800_000).n(2, 5)),
        event(1_000_000_301, 0, 20, message().n(2, 9).n(5, 1)),
        event(1_000_000_302, 9, 114, message().n(2, 9).n(5, 1)),
        event(1_000_000_303, 9, 491, message().n(2, 9).n(4, 1).n(5, 2)),
        event(1_000_000_304, 9, 18, message().n(1, 9).n(2, 77).n(3, 1)),
        event(1_000_000_305, 9, 36, message().n(1, 30).b(2, "arch_timer")),
        event(1_000_000_306, 9, 37, message().n(1, 30).n(2, 1)),
        event(1_000_000_307, 9, 24, message().n(1, 1)),
        event(1_000_000_308, 9, 25, message().n(1, 77)),
        event(1_000_000_309, 9, 26, message().n(1, 9)),
        event(1_000_000_310, 9, 21, message().b(1, "IRQ work interrupts")),
        event(1_000_000_311, 9, 22, message().b(1, "CPU stop interrupts")),
        event(1_000_000_312, 9, 559, message().n(1, 236)),
        event(1_000_000_313, 9, 551, message().n(1, 1u64 << 40).n(2, 5).n(3, 5_000_000).n(4, -1).n(5, 10)),
        event(1_000_000_314, 9, 552, message().n(1, 7)),
        event(1_000_000_315, 9, 553, message().n(1, 7).n(2, 55).n(3, 5)),
        event(1_000_000_316, 9, 554, message().n(1, 7)),
        event(1_000_000_317, 9, 555, message().n(1, 8).n(2, 6).n(3, 1234).n(4, 1200).n(6, 0x1a8_0003)),
        event(1_000_000_318, 9, 555, message().n(1, 8).n(2, 6).n(3, 1234).n(4, 1300).n(6, 0).n(7, 1240)),
        event(1_000_000_319, 9, 556, message().n(1, 8)),
        event(1_000_000_320, 9, 557, message().n(1, 8).n(2, 1250).n(3, 6)),
        event(1_000_000_321, 9, 558, message().n(1, 8)),
        event(1_000_000_322, 9, 3, message().n(1, 8).b(2, "hello")),
        event(1_000_000_323, 9, 9999, message().n(1, 8)),
    ];
    for (i, (system, name, keys)) in generic.into_iter().enumerate() {
        let fields: Vec<(&str, u32)> = keys.iter().map(|key| (*key, 4)).collect();
        whole = whole.m(11, described(65536 + i as u32, system, name, &fields));
        let values = (1..).zip(keys).fold(message(), |m, (n, _)| m.n(n, if n == 2 { 77 } else { 1 }));
        events.push(event(1_000_001_000 + i as u64, 3, 65536 + i as u32, values));
    }
    let fields = [("governor", 9), ("cpu", 4), ("capacity", 4), ("states", 4)];
    whole = whole.m(11, described(65600, "idlewise", "idle_enabled", &fields));
    let enabled = message().b(1, "teo-6.1").n(2, 3).n(3, 1024).n(4, 2);
    events.push(event(1_000_001_900, 3, 65600, enabled));
    let masks = [
        ("ipi_raise", "target_mask", "00000000,00000006"),
        ("ipi_send_cpumask", "cpumask", "00000001,00000000"),
    ];
    for (i, (name, key, cpus)) in (0..).zip(masks) {
        whole = whole.m(11, described(65601 + i, "ipi", name, &[(key, 9), ("reason", 9)]));
        let values = message().b(1, cpus).b(2, "Timer broadcast interrupts");
        events.push(event(1_000_001_910 + u64::from(i), 3, 65601 + i, values));
    }
    let whole = events.into_iter().fold(whole, |bundle, event| bundle.m(2, event));
    let symbol = |iid: u32, name: &str| message().n(1, iid).b(2, name);
    let symbols = message().m(26, symbol(5, "tick_nohz_handler")).m(26, symbol(6, "process_timeout"));
    let late = bundle(2, vec![cpu_idle(1_000_002_000, 2, 0)]).n(3, 1);
    // A clock that went back.
    let back = bundle(2, vec![cpu_idle(1_000_001_500, 2, u32::MAX)]);
    read(trace(vec![packet(whole).m(12, symbols), packet(late), packet(back)]))
}

#[test]
fn perfetto_gives_back_every_kind_of_event() {
    let file = everything();
    let bytes = perfetto(&file);
    let written = read(bytes);
    assert_eq!(same_events(&file, &written, "everything"), 53);
    // And so does what is written of that.
    assert_eq!(same_events(&file, &read(perfetto(&written)), "everything twice"), 53);
}

#[test]
fn text_is_what_the_kernel_prints() {
    let text = text(&everything());
    let body: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
    assert!(text.starts_with("# tracer: nop\n#\n"), "{text}");
    for line in [
        "          before-7       [002] .....     1.000000000: sched_switch: prev_comm=before prev_pid=7 prev_prio=120 \
         prev_state=R+ ==> next_comm=swapper next_pid=0 next_prio=98",
        "          <idle>-0       [002] .....     1.000000100: cpu_idle: state=1 cpu_id=2",
        "          <idle>-0       [002] .....     1.000000200: cpu_idle: state=4294967295 cpu_id=2",
        "           <...>-9       [002] .....     1.000000305: irq_handler_entry: irq=30 name=arch_timer",
        "           <...>-9       [002] .....     1.000000307: softirq_entry: vec=1 [action=TIMER]",
        "           <...>-9       [002] .....     1.000000308: softirq_exit: vec=77",
        "           <...>-9       [002] .....     1.000000310: ipi_entry: (IRQ work interrupts)",
        "           <...>-9       [002] .....     1.000000312: local_timer_entry:",
        "           <...>-9       [002] .....     1.000000313: hrtimer_start: hrtimer=0x10000000000 \
         function=tick_nohz_handler expires=5000000 softexpires=-1 mode=ABS|PINNED|HARD",
        "           <...>-9       [002] .....     1.000000317: timer_start: timer=0x8 function=process_timeout \
         expires=1234 [timeout=34] cpu=3 idx=6 flags=D|I",
        "           <...>-9       [002] .....     1.000000318: timer_start: timer=0x8 function=process_timeout \
         expires=1234 [timeout=-66] bucket_expiry=1240 cpu=0 idx=0 flags=",
        "           <...>-9       [002] .....     1.000000322: print:",
        "           <...>-3       [002] .....     1.000001000: cpu_idle_miss: cpu_id=1 state=77 type=below",
        "           <...>-3       [002] .....     1.000001010: tick_stop: success=1 dependency=77",
        "           <...>-3       [002] .....     1.000001013: idle_asked: cpu=1 asked=0x4d sleep_length=1 delta_tick=1 \
         latency_limit=1 clock=1",
        "           <...>-3       [002] .....     1.000001014: idle_chosen: cpu=1 state=77 stop_tick=1 tick_stopped=1 \
         residency=1 poll_time_limit=1 poll_limit=1 util=1 iowait=1 random=1 disabled=0x1",
        "           <...>-3       [002] .....     1.000001015: idle_reflected: cpu=1 state=77 residency=1 \
         poll_time_limit=1 got_tick=1 clock=1 asked=0x1",
        "           <...>-3       [002] .....     1.000001016: hrtimer_rearm: next_event=1 deferred=1",
        "           <...>-3       [002] .....     1.000001900: idle_enabled: governor=teo-6.1 cpu=3 capacity=1024 states=2",
        "           <...>-3       [002] .....     1.000001910: ipi_raise: target_mask=00000000,00000006 \
         (Timer broadcast interrupts)",
        "           <...>-3       [002] .....     1.000001911: ipi_send_cpumask: cpumask=00000001,00000000",
        "CPU:2 [LOST EVENTS]",
    ] {
        assert!(body.contains(&line), "no line\n{line}\nin\n{text}");
    }
    assert_eq!(body.len(), 53);
}

/// As [`named`], of what a line of text tells: systems of other events and unknown vectors are not in it.
fn told(event: &Event, events: &Events<'_>) -> (Event, Vec<String>) {
    let (mut event, mut names) = named(event, events);
    names.iter_mut().for_each(|n| *n = n.rsplit(':').next().unwrap_or_default().to_owned());
    if let EventKind::VectorEntry { vector: Vector::Other } = event.kind {
        (event.kind, names) = (EventKind::Other { id: 0 }, vec!["other_entry".to_owned()]);
    }
    if let EventKind::VectorExit { vector: Vector::Other } = event.kind {
        (event.kind, names) = (EventKind::Other { id: 0 }, vec!["other_exit".to_owned()]);
    }
    (event, names)
}

#[test]
fn text_gives_back_every_event_of_every_recording() {
    for path in test_data().into_iter().chain(recordings()) {
        let file = TraceFile::open(&path).unwrap();
        let text = text(&file);
        let (lines, bytes) = (text.lines().count(), text.len());
        let written = read(text.into_bytes());
        let (mut ours, mut theirs) = (file.events().unwrap(), written.events().unwrap());
        let mut n = 0;
        loop {
            let one = ours.next().map(|e| told(&e, &ours));
            let other = theirs.next().map(|e| told(&e, &theirs));
            assert_eq!(other, one, "{}, event {n}", path.display());
            if one.is_none() {
                break;
            }
            n += 1;
        }
        println!("{}: {n} events the same, {lines} lines, {bytes} bytes", path.display());
    }
}

#[test]
fn perfettos_own_messages_hold_what_was_written() {
    let Some(python) = python_perfetto() else {
        println!("skipped: no Perfetto in Python (tools/python-perfetto.sh)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.perfetto-trace");
    let file = everything();
    let mut writer = PerfettoWriter::new(Vec::new(), file.meta()).unwrap();
    let mut events = file.events().unwrap();
    while let Some(event) = events.next() {
        writer.event(&event, &events).unwrap();
    }
    let parent = writer.track("teo-6.1", None).unwrap();
    let track = writer.track("CPU 3", Some(parent)).unwrap();
    let notes = [("tick", Note::Text("kept")), ("latency_ns", Note::Number(-5))];
    let mark = Some((2_500, "too deep"));
    let slice =
        Slice { start_ns: 1_000, end_ns: 3_000, name: "1 c2", category: "right", notes: &notes, mark };
    writer.slice(track, &slice).unwrap();
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(perfettos_opinion(&python, &["check", path]), Ok("\n".to_owned()));
    assert_eq!(
        perfettos_opinion(&python, &["tracks", path]).unwrap(),
        "teo-6.1/CPU 3\tbegin\t1000\t1 c2\ttick=kept\tlatency_ns=-5\n\
         teo-6.1/CPU 3\tinstant\t2500\ttoo deep\n\
         teo-6.1/CPU 3\tend\t3000\t\n"
    );
    // What Perfetto reads of it prints as the same events.
    let printed = perfettos_opinion(&python, &["print", path]).unwrap();
    assert_eq!(printed.lines().count(), 52);
    assert!(
        printed.contains("hrtimer_expire_entry: hrtimer=7 now=55 function=tick_nohz_handler"),
        "{printed}"
    );
    // Tracks are no events.
    let written = TraceFile::open(Path::new(path)).unwrap();
    assert_eq!(same_events(&file, &written, "everything"), 53);
}

// SPDX-License-Identifier: GPL-2.0-only
//! Who, where, when and what: is the start of a line understood, whatever tool wrote it?

use std::path::Path;

use idlewise_model::Event;
use idlewise_trace::TraceFile;

/// So many lines are looked at to know whether people quoted or wrapped them.
const LOOKED_AT: usize = 10_000;

#[derive(Debug, PartialEq, Eq)]
enum Style {
    Ftrace,
    Latency,
    Perf,
}

fn open(text: &str) -> TraceFile {
    TraceFile::from_bytes(Path::new("text"), text.as_bytes().to_vec()).unwrap()
}

/// What one line tells: its task, where that is known by name, and its event; pid, CPU and time. None where it has no event.
fn read(line: &str) -> Option<(String, i32, u32, u64)> {
    let first = "           first-77    [005] d..1.     0.500000: first: x\n";
    let file = open(&format!("# tracer: nop\n#\n{}{line}\n", first.repeat(LOOKED_AT)));
    let mut events = file.events().unwrap();
    let all: Vec<Event> = events.by_ref().collect();
    let mut ours = all.iter().filter(|e| e.ts_ns != 500_000_000);
    let one = ours.next()?;
    assert!(ours.next().is_none() && all.len() == LOOKED_AT + 1, "{line}: {}", all.len());
    let names: Vec<&str> = events.counts().keys().filter_map(|id| events.event_name(*id)).collect();
    let [name] = names.iter().filter(|name| **name != "first").collect::<Vec<_>>()[..] else {
        panic!("{line}: {names:?}")
    };
    let comm = events.comm(one.pid).unwrap_or_default();
    Some((format!("{comm}|{name}"), one.pid, one.cpu, one.ts_ns))
}

/// Whose spelling a line has that stands alone.
fn style(line: &str) -> Style {
    match open(&format!("{line}\n")).meta().format.as_str() {
        "perf script" => Style::Perf,
        "ftrace text, latency format" => Style::Latency,
        format => {
            assert!(format.starts_with("ftrace text"), "{line}: {format}");
            Style::Ftrace
        }
    }
}

#[test]
fn every_tools_line_is_understood() {
    use Style::{Ftrace, Latency, Perf};
    for (line, comm, pid, cpu, ns, style_of_it) in [
        (
            "          <idle>-0     [002] d..2.  1.000002: cpu_idle: state=1 cpu_id=2",
            "<idle>|cpu_idle",
            0,
            2,
            1_000_002_000,
            Ftrace,
        ),
        ("<...>-0 (-----) [000] ...2  1.5: x: y", "<...>|x", 0, 0, 1_500_000_000, Ftrace),
        (
            "a b-3   (  611) [004] ...1 514769.085985: tracing_mark_write: E",
            "a b|tracing_mark_write",
            3,
            4,
            514_769_085_985_000,
            Ftrace,
        ),
        (
            "kworker/u8:2-wr-24819   [001]  10.000000001: e:  x",
            "kworker/u8:2-wr|e",
            24819,
            1,
            10_000_000_001,
            Ftrace,
        ),
        ("x [001] y-12 [002] 7.000000: e: [3]", "x [001] y|e", 12, 2, 7_000_000_000, Ftrace),
        ("(a) b-12 [1023] 7.0: e:", "(a) b|e", 12, 1023, 7_000_000_000, Ftrace),
        ("a-12 [001] d..1. 763619,464429: e: x", "a|e", 12, 1, 763_619_464_429_000, Ftrace),
        ("a 12 [001] 7,000000005: power:cpu_idle: x", "a|power:cpu_idle", 12, 1, 7_000_000_005, Perf),
        (
            "bash-30684   [000] .....            3: hrtimer_setup: h=1",
            "bash|hrtimer_setup",
            30684,
            0,
            3,
            Ftrace,
        ),
        (
            "     idlestat/vex-tc2  [000] d...  1000.000000: cpu_idle: state=0",
            "idlestat/vex-tc2|cpu_idle",
            -1,
            0,
            1_000_000_000_000,
            Ftrace,
        ),
        (
            "  python-10732   1d..2.  6517.434713: sched_switch: x",
            "python|sched_switch",
            10732,
            1,
            6_517_434_713_000,
            Latency,
        ),
        (
            "  <idle>-0       0-0x10  6517.740028: softirq_exit: vec=7",
            "<idle>|softirq_exit",
            0,
            0,
            6_517_740_028_000,
            Latency,
        ),
        (
            "   a-1 b-30684    10d.h1. 17176us+: hrtimer_expire_exit: x",
            "a-1 b|hrtimer_expire_exit",
            30684,
            10,
            17_176_000,
            Latency,
        ),
        ("   bash-30684     0..... 16100us : e: x", "bash|e", 30684, 0, 16_100_000, Latency),
        (
            "            perf   47449 [000]  4709.475642: sched:sched_wakeup: m:18",
            "perf|sched:sched_wakeup",
            47449,
            0,
            4_709_475_642_000,
            Perf,
        ),
        (
            " kworker/u8:2-wr 24819/24820 [001] 1.000000001:     1 timer:t: x",
            "kworker/u8:2-wr|timer:t",
            24820,
            1,
            1_000_000_001,
            Perf,
        ),
        (
            "     lto cgu.0.r 31545 [000] 1.0:     250000          cpu-clock: ",
            "lto cgu.0.r|",
            31545,
            0,
            1_000_000_000,
            Perf,
        ),
        (
            "             :-1 31719/-1    [000] 1.0: ipi:ipi_send_cpu: ",
            ":-1|ipi:ipi_send_cpu",
            -1,
            0,
            1_000_000_000,
            Perf,
        ),
        ("  kworker/-1 [000] 1.0: e: x", "kworker/|e", 1, 0, 1_000_000_000, Ftrace),
        ("             :-1    -1 [000] 1.0: a:b: ", ":-1|a:b", -1, 0, 1_000_000_000, Perf),
        (" [007] 154.892162: cpu_idle: state=2", "|cpu_idle", -1, 7, 154_892_162_000, Ftrace),
        ("[007] 1.5: power:cpu_idle: state=2", "|power:cpu_idle", -1, 7, 1_500_000_000, Ftrace),
        ("   12 [007] 1.5: power:cpu_idle: state=2", "|power:cpu_idle", 12, 7, 1_500_000_000, Perf),
        ("Web Content [007] 1.5: a:b: x", "Web Content|a:b", -1, 7, 1_500_000_000, Ftrace),
        (
            "  <idle>-0       2d.h4 2590us :      0:120:R   + [002]  5882: 94:R job",
            "<idle>|sched_wakeup",
            0,
            2,
            2_590_000,
            Latency,
        ),
        (
            "  <idle>-0     [003] d..3 26.5:      0:120:R ==> [003]  2448: 94:R sleep",
            "<idle>|sched_switch",
            0,
            3,
            26_500_000_000,
            Ftrace,
        ),
    ] {
        // The idle task and what has no number have no name of their own; an event has that of its system.
        let (comm, event) = comm.rsplit_once('|').unwrap();
        let comm = if pid > 0 && comm != "<...>" { comm } else { "" };
        let system = match event {
            "cpu_idle" => "power:",
            "hrtimer_setup" | "hrtimer_expire_exit" => "timer:",
            "sched_switch" | "sched_wakeup" => "sched:",
            "softirq_exit" => "irq:",
            _ => "",
        };
        let event = if event == "tracing_mark_write" { "ftrace:print" } else { event };
        let expected = (!event.is_empty()).then(|| (format!("{comm}|{system}{event}"), pid, cpu, ns));
        assert_eq!(read(line), expected, "{line}");
        assert_eq!(style(line), style_of_it, "{line}");
    }
}

#[test]
fn other_lines_have_no_head() {
    for line in [
        "",
        "[",
        "[000]",
        "# tracer: nop",
        "cpus=8",
        " => schedule",
        "[    0.123456] pci: [8086:0d57] type 00",
        "a-1 [000]",
        "a-1 [000] d..1 x",
        "a-1 [99999999999] 1.0: e: x",
        "a-1 [000] 99999999999999999999.0: e: x",
        "a-1 [000] 1.0000000000: e: x",
        "a-1 [000] 12,345: e: x",
        "a-1 [000] d...............................1 1.0: e: x",
        "a-99999999999 [000] 1.0: e: x",
        "d.h4 2590us :      0:120:R   + [002]  5882: 94:R job",
        // Here the start is understood, and no event follows it.
        "a-1 [000] 1.0: schedule <-x: y",
        "a 1 [000] 1.0: cycles",
        "a 1 [000] 1.0: cycles:",
        "a 1 [000] 1.0: cycles:u:",
        "a 1 [000] 1.0: cycles:ppp:",
        "a 1 [000] 1.0: PERF_RECORD_LOST lost 1",
    ] {
        assert_eq!(read(line), None, "{line}");
    }
}

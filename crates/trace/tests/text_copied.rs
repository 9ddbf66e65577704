// SPDX-License-Identifier: GPL-2.0-only
//! Is text that mail, grep, the kernel's log, JSON or babeltrace carried read as what the tracer printed?

use crate::common;

use std::path::Path;
use std::process::Command;

use common::shared;
use idlewise_model::{Event, EventKind, Health, HealthKind};
use idlewise_trace::{TraceError, TraceFile};

const LINES: &str = "# tracer: nop
#
          <idle>-0     [003] d..1. 763619.464429: cpu_idle: state=2 cpu_id=3
          <idle>-0     [003] dN.1. 763619.464641: cpu_idle: state=4294967295 cpu_id=3
          <idle>-0     [003] .N.1. 763619.464642: cpu_idle_miss: cpu_id=3 state=2 type=above
     Web Content-12    [003] d..1. 763619.464700: sched_switch: prev_comm=Web Content prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/3 next_pid=0 next_prio=120
          <idle>-0     [003] d.h1. 763619.464750: ipi_raise: target_mask=00000000,00000080 (Function call interrupts)
          <idle>-0     [003] d.h1. 763619.464760: hrtimer_expire_entry: hrtimer=00000000edc610d4 function=tick_nohz_handler now=763619464755000
          <idle>-0     [003] d.h1. 763619.464761: softirq_raise: vec=1 [action=TIMER]
          <idle>-0     [003] d..1. 763619.464764: cpu_idle: state=2 cpu_id=3
          <idle>-0     [003] dN.1. 763619.465975: cpu_idle: state=4294967295 cpu_id=3
";

fn read(text: impl AsRef<[u8]>) -> (Vec<Event>, Health) {
    let file = TraceFile::from_bytes(Path::new("text"), text.as_ref().to_vec()).unwrap();
    let mut events = file.events().unwrap();
    let all = events.by_ref().collect();
    (all, events.health().clone())
}

/// Asserts that `text` holds what [`LINES`] does.
fn same(what: &str, text: &str) {
    let (expected, _) = read(LINES);
    let (events, health) = read(text);
    assert_eq!(events, expected, "{what}:\n{text}");
    assert!(health.is_empty(), "{what}: {health:?}\n{text}");
}

/// Each line as `change` makes it of its number and its text.
fn each(change: impl Fn(usize, &str) -> String) -> String {
    LINES.lines().enumerate().map(|(i, line)| change(i + 1, line) + "\n").collect()
}

/// Breaks each line that is longer before the last blank that fits, as mail programs do.
fn wrapped(line: &str, width: usize) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while rest.len() > width {
        // No program breaks in the blanks at the start.
        let Some(at) = rest.get(..=width).unwrap().rfind(' ').filter(|at| !rest[..*at].trim().is_empty())
        else {
            break;
        };
        out.push_str(rest[..at].trim_end());
        out.push_str(" \n");
        rest = rest[at..].trim_start();
    }
    out + rest
}

#[test]
fn wrapped_lines_are_joined_at_any_width() {
    for width in 62..130 {
        same(&format!("wrapped at {width}"), &each(|_, line| wrapped(line, width)));
        let trimmed = each(|_, line| wrapped(line.trim_start(), width));
        same(&format!("trimmed and wrapped at {width}"), &trimmed);
        let bare = trimmed.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>();
        same(&format!("wrapped at {width} without blanks at ends"), &bare);
    }
}

/// Breaks each line after so many characters, wherever that is.
fn folded(line: &str, width: usize) -> String {
    let pieces: Vec<_> =
        line.as_bytes().chunks(width).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    pieces.join("\n")
}

#[test]
fn lines_that_are_broken_within_words_are_joined_at_any_width() {
    for width in 50..130 {
        same(&format!("folded at {width}"), &each(|_, line| folded(line, width)));
        let quoted =
            each(|_, line| folded(line, width)).lines().map(|line| format!("> {line}\n")).collect::<String>();
        same(&format!("folded at {width} and quoted"), &quoted);
        let trimmed = each(|_, line| folded(line.trim_start(), width));
        same(&format!("trimmed and folded at {width}"), &trimmed);
    }
    // Blanks at the ends are gone, as where the same line is wrapped again and again.
    let line = LINES.lines().nth(2).unwrap();
    let [one, two] =
        [line, &line.replace("cpu_id=3", "\ncpu_id=3")].map(|line| format!("{line}\n").repeat(3));
    let two = two.replace(" \n", "\n");
    assert_eq!(read(two), read(one));
}

#[test]
fn a_workers_name_is_not_cut_off_as_a_files_name() {
    let line = "kworker/0:1H-21    [000] d..2   100.000100: cpu_idle: state=1 cpu_id=0\n";
    let waking = "kworker/u:1-21    [000] d..2   100.000300: sched_switch: prev_comm=kworker/u:1 prev_pid=21 prev_prio=120 \
                  prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n";
    let file = TraceFile::from_bytes(Path::new("text"), format!("{line}{waking}").into_bytes()).unwrap();
    let mut events = file.events().unwrap();
    let pids: Vec<_> = events.by_ref().map(|e| e.pid).collect();
    assert_eq!((pids, events.comm(21)), (vec![21, 21], Some("kworker/u:1")));
}

#[test]
fn quotation_marks_line_numbers_and_times_of_the_log_are_left_out() {
    same("quoted", &each(|_, line| format!("> {line}")));
    same("quoted without a blank", &each(|_, line| format!(">{line}")));
    same("quoted twice", &each(|_, line| format!("> > {line}")));
    same("quoted three times", &each(|_, line| format!(">>> {line}")));
    same("grep -n", &each(|n, line| format!("{n}:{line}")));
    same("grep -n of several files", &each(|n, line| format!("logs/trace.txt:{n}:{line}")));
    same("grep of several files", &each(|_, line| format!("logs/trace.txt:{line}")));
    same("dmesg", &each(|n, line| format!("[   12.34567{n}] {line}")));
    same("the journal", &each(|_, line| format!("Nov 28 08:00:01 host kernel: {line}")));
    let quoted =
        each(|_, line| wrapped(line, 76)).lines().map(|line| format!("> {line}\n")).collect::<String>();
    same("wrapped and quoted", &quoted);
    same("below a mail's text", &format!("On Friday somebody wrote:\n{quoted}").replacen("On", "#", 1));
    // As a mail is stored.
    let soft = |line: &str| {
        let text = line.replace('=', "=3D");
        let (mut out, mut rest) = (String::new(), text.as_str());
        while rest.len() > 75 {
            let at = if rest[..75].ends_with('=') {
                74
            } else if rest[..75].ends_with("=3") {
                73
            } else {
                75
            };
            out += &format!("{}=\n", &rest[..at]);
            rest = &rest[at..];
        }
        out + rest
    };
    same("quoted-printable", &each(|_, line| soft(line)));
    same("quoted-printable and quoted", &each(|_, line| soft(&format!("> {line}"))));
    // The name of a task is its own.
    let text = each(|_, line| format!("> {line}"));
    let file = TraceFile::from_bytes(Path::new("text"), text.into_bytes()).unwrap();
    let mut events = file.events().unwrap();
    events.by_ref().for_each(drop);
    assert_eq!(events.comm(12), Some("Web Content"));
    assert_eq!(file.meta().format, "ftrace text, quoted, numbered or wrapped");
}

#[test]
fn a_damaged_line_stops_nothing_and_is_counted() {
    let lines: Vec<_> = LINES.lines().collect();
    let (expected, _) = read(LINES);
    for odd in
        ["\0\0\0\0", "  <id", "\u{fffd}\u{fffd}", "[003] d..1. 7636", "-- snip --", "state=", "(", "Regards,"]
    {
        for at in 2..lines.len() {
            let mut all = lines.clone();
            all.insert(at, odd);
            let (events, health) = read(all.join("\n"));
            assert_eq!(events, expected, "{odd} at {at}");
            assert!(health.iter().all(|(kind, _)| kind == HealthKind::Ignored), "{odd} at {at}: {health:?}");
        }
    }
}

#[test]
fn an_event_keeps_the_number_of_its_line() {
    let text = each(|_, line| wrapped(line, 76)) + " x-1 [003] 763619.5: cpu_idle: state=1\n";
    let (_, health) = read(&text);
    let told: Vec<_> = health.iter().map(|(kind, c)| (kind, c.first.clone())).collect();
    let line = text.lines().count();
    assert_eq!(told, [(HealthKind::BadEvent, format!("line {line}, cpu_idle: no usable field cpu_id"))]);
}

/// A string of JSON.
fn string(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => "\\n".to_owned(),
            '<' => "\\u003c".to_owned(),
            '/' => "\\/".to_owned(),
            '"' => "\\\"".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

#[test]
fn text_in_json_is_read_wherever_it_is() {
    let text = string(LINES);
    let plain = LINES.replace('\n', "\\n");
    for json in [
        format!("{{\"traceEvents\": [], \"systemTraceEvents\": \"{plain}\"}}"),
        format!(
            "{{\"systemTraceEvents\":\"{text}\",\"traceEvents\":[{{\"args\":{{\"a\":[1,{{}}]}},\"name\":\"x\"}}]}}"
        ),
        format!(
            "\n {{ \"a\" : {{\"b\": \"{}\"}}, \"systemTraceEvents\" : \"{text}\" }}\n",
            "\\\\ \\\" : ".repeat(20)
        ),
        format!("{{\"traceEvents\": [{}], \"systemTraceEvents\": \"{text}", "{},".repeat(30_000)),
    ] {
        same("JSON", &json);
        let file = TraceFile::from_bytes(Path::new("it"), json.into_bytes()).unwrap();
        assert_eq!(file.meta().format, "ftrace text, in JSON");
        assert!(file.meta().notes.iter().all(|note| !note.contains("JSON")));
    }
    // A list of lines, with and without their ends.
    for end in ["", "\\n"] {
        let lines: Vec<_> = LINES.lines().map(|line| format!("\"{}{end}\"", string(line))).collect();
        for json in [
            format!("{{\"traceEvents\": [], \"systemTraceEvents\": [{}]}}", lines.join(",")),
            format!(
                "{{\"systemTraceEvents\": [\n {}\n], \"x\": [\"{}\", 7]}}",
                lines.join(" ,\n "),
                "y".repeat(50)
            ),
            format!("{{\"systemTraceEvents\": [{}", lines.join(", ")),
        ] {
            same("JSON", &json);
        }
    }
    let two = format!("{{\"a\": [\"{text}\", \"x\", \"{text}\"]}}");
    same("JSON", &two);
    let file = TraceFile::from_bytes(Path::new("it"), two.into_bytes()).unwrap();
    assert!(file.meta().notes.iter().any(|note| note.contains("a second trace in the JSON, \"a\"")));
    let elsewhere = format!("[{{\"systrace\": {{\"text\": \"{text}\"}}}}, {{\"other\": \"{text}\"}}]");
    same("JSON", &elsewhere);
    let file = TraceFile::from_bytes(Path::new("it"), elsewhere.into_bytes()).unwrap();
    for words in ["\"systrace.text\" of the JSON", "a second trace in the JSON, \"other\""] {
        assert!(
            file.meta().notes.iter().any(|note| note.contains(words)),
            "{words}: {:?}",
            file.meta().notes
        );
    }
    let refusal =
        |json: &str| TraceFile::from_bytes(Path::new("it"), json.as_bytes().to_vec()).err().unwrap();
    let error = refusal("{\"traceEvents\": [], \"metadata\": {\"a\": \"b\"}}");
    assert!(matches!(error, TraceError::NotATrace { .. }));
    for words in ["\"traceEvents\", \"metadata\"", "\"systemTraceEvents\""] {
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(refusal("[]").to_string().contains("JSON without ftrace text; "));
}

/// As babeltrace2 prints an LTTng trace, with fields of other kinds, over midnight.
#[test]
fn what_babeltrace_prints_of_lttng_is_read() {
    let text = "[23:59:59.900000001] (+?.?????????) host sched_switch: { cpu_id = 2 }, { prev_comm = \"a, \\\"b\\\" }\", prev_tid = 7, prev_prio = 20, prev_state = ( \"TASK_INTERRUPTIBLE\" : container = 1 ), next_comm = \"swapper/2\", next_tid = 0, next_prio = 20 }
[23:59:59.900000002] (+0.000000001) host power_cpu_idle: { cpu_id = 2 }, { state = 1, cpu_id = 2 }
[00:00:00.100000000] (+0.199999998) host syscall_entry_poll: { cpu_id = 1 }, { fds = [ [0] = { fd = 3, events = { POLLIN = 1, POLLPRI = 0 } } ], ufds = 0x1 }
[00:00:00.100000005] (+0.000000005) host timer_hrtimer_start: { cpu_id = 1 }, { tid = 9, procname = \"x y\" }, { hrtimer = 0xFFFF90C30AE4BA68, function = 0xFFFFFFFF8F701BE0, expires = 443232635701621, softexpires = 443232635380622, mode = 0 }
[00:00:00.200000000] (+0.099999995) host power_cpu_idle: { cpu_id = 2 }, { state = 4294967295, cpu_id = 2 }
";
    let (events, health) = read(text);
    assert!(health.is_empty(), "{health:?}");
    let day = 86_400_000_000_000;
    let got: Vec<_> = events.iter().map(|e| (e.ts_ns, e.cpu, e.pid, e.kind)).collect();
    let idle = |state| EventKind::CpuIdle { cpu: 2, state };
    assert_eq!(got.len(), 5);
    assert_eq!(
        got[0],
        (
            day - 99_999_999,
            2,
            7,
            EventKind::SchedSwitch {
                prev_pid: 7,
                prev_prio: 120,
                prev_state: 1,
                next_pid: 0,
                next_prio: 120
            }
        )
    );
    assert_eq!(got[1], (day - 99_999_998, 2, 0, idle(Some(1))));
    assert!(matches!(got[2], (_, 1, -1, EventKind::Other { .. })), "{got:?}");
    assert!(
        matches!(
            got[3],
            (
                _,
                1,
                9,
                EventKind::HrtimerStart { expires: 443_232_635_701_621, hrtimer: 0xffff_90c3_0ae4_ba68, .. }
            )
        ),
        "{got:?}"
    );
    assert_eq!(got[4], (day + 200_000_000, 2, 0, idle(None)));
    let file = TraceFile::from_bytes(Path::new("it"), text.into()).unwrap();
    assert_eq!(file.meta().format, "babeltrace text");
}

/// What the two programs that read a CTF trace make of its idle and scheduler events.
#[test]
fn babeltraces_text_of_a_real_trace_is_the_trace() {
    let archive = shared().map(|dir| dir.join("traces/ctf/ctf_uneven-streams.tar.zst"));
    let found = archive.filter(|path| path.is_file());
    let (Some(archive), true) = (found, Command::new("babeltrace2").arg("--version").output().is_ok()) else {
        println!("skipped: no CTF traces in ../shared (IDLEWISE_SHARED), or no babeltrace2");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Command::new("tar").arg("xf").arg(archive).arg("-C").arg(folder.path()).status().unwrap().success()
    );
    let trace = folder.path().join("uneven-streams");
    let ctf = TraceFile::open(&trace).unwrap();
    let text = Command::new("babeltrace2").args(["--clock-seconds"]).arg(&trace).output().unwrap().stdout;
    let text = TraceFile::from_bytes(Path::new("text"), text).unwrap();
    let kinds = |file: &TraceFile| {
        let known = |e: &Event| !matches!(e.kind, EventKind::Other { .. } | EventKind::Lost { .. });
        file.events().unwrap().filter(known).map(|e| (e.cpu, e.kind)).collect::<Vec<_>>()
    };
    let (expected, got) = (kinds(&ctf), kinds(&text));
    println!("{} events", expected.len());
    assert!(!expected.is_empty());
    assert_eq!(got.len(), expected.len());
}

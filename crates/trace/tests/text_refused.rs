// SPDX-License-Identifier: GPL-2.0-only
//! Is text that lacks what an event needs refused for that reason, and is what a tracer prints between its functions read?

use std::path::Path;

use idlewise_model::EventKind::CpuIdle;
use idlewise_model::HealthKind;
use idlewise_trace::TraceFile;

use crate::text_lines::{open, read, switch};

/// The refusal of a text.
fn refused(text: &str) -> String {
    match TraceFile::from_bytes(Path::new("it"), text.as_bytes().to_vec()) {
        Ok(file) => panic!("was read: {}", file.events().unwrap().count()),
        Err(e) => e.to_string(),
    }
}

#[test]
fn text_of_perf_without_cpus_is_refused_for_that() {
    for lines in [
        "         swapper     0  4709.475642: power:cpu_idle: state=1 cpu_id=3\n",
        "         swapper     0  4709.475642123:          1 power:cpu_idle: state=1 cpu_id=3\n",
        "swapper 4709.475642: cpu_idle: state=1 cpu_id=3\n",
        "4709.475642: power:cpu_idle: state=1 cpu_id=3\n",
    ] {
        let error = refused(lines);
        for words in ["it: line 1: a time without the CPU before it", "perf script -F +cpu", "perf record -a"]
        {
            assert!(error.contains(words), "{lines}: {error}");
        }
        let error = refused(&format!("# captured on: x\n\n{lines}"));
        assert!(error.contains("line 3: a time without the CPU"), "{error}");
    }
    // A line that lost its CPU stops nothing.
    let line = "         swapper     0 [003]  4709.475642: power:cpu_idle: state=1 cpu_id=3\n";
    let (events, health) = read(format!("{line}{}", line.replace("[003]", "")));
    assert_eq!((events.len(), health.count(HealthKind::Ignored)), (1, 1));
}

/// As the tracer `function_graph` prints events, with its options funcgraph-proc and funcgraph-abstime or without.
fn graph(tasks: bool, times: bool) -> String {
    let column = |shown: bool, text: &str| if shown { text.to_owned() } else { String::new() };
    let line = |us: u32, cpu: u32, task: &str, rest: &str| {
        let (time, task) =
            (column(times, &format!(" 1526.{us:06} |  ")), column(tasks, &format!("  {task}  |")));
        format!("{time} {cpu}){task}{rest}\n")
    };
    [
        "# tracer: function_graph\n#\n#     TIME        CPU  DURATION                  FUNCTION CALLS\n".to_owned(),
        "#      |          |     |   |                     |   |   |   |\n".to_owned(),
        line(100, 1, " <idle>-0 ", "               |  do_idle() {"),
        line(101, 1, " <idle>-0 ", "   0.123 us    |    tick_nohz_idle_enter();"),
        line(110, 1, " <idle>-0 ", "               |    /* cpu_idle: state=2 cpu_id=1 */"),
        line(111, 0, "  a-b-12  ", " + 10.123 us   |  } /* do_syscall_64 */"),
        line(500, 1, " <idle>-0 ", "               |    /* cpu_idle: state=4294967295 cpu_id=1 */"),
        " ------------------------------------------\n 0)    a-b-12    =>    <idle>-0   \n\n".to_owned(),
        line(
            520,
            0,
            "  a-b-12  ",
            "               |  /* sched_switch: prev_comm=a-b prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/0 \
             next_pid=0 next_prio=120 */",
        ),
        "CPU:1 [LOST 7 EVENTS]\n".to_owned(),
        line(600, 1, " <idle>-0 ", " ! 500.123 us  |  }"),
        line(601, 1, " <idle>-0 ", "               |  /* what a program wrote */"),
    ]
    .concat()
}

#[test]
fn events_between_the_functions_of_a_tracer_are_read() {
    for tasks in [true, false] {
        let text = graph(tasks, true);
        let (events, health) = read(&text);
        let got: Vec<_> = events.iter().map(|e| (e.ts_ns / 1000 - 1_526_000_000, e.cpu, e.kind)).collect();
        let idle = |state| CpuIdle { cpu: 1, state };
        let expected = [(110, 1, idle(Some(2))), (500, 1, idle(None)), (520, 0, switch(12, 120, 1, 0, 120))];
        assert_eq!(got[..3], expected, "{text}");
        assert_eq!(health.count(HealthKind::LostEvents), 7, "{health:?}");
        assert_eq!(health.iter().count(), 1, "{health:?}");
        assert_eq!(events[2].pid, 12);
        assert_eq!(open(text.as_bytes()).meta().format, "ftrace text, tracer function_graph");
        let error = refused(&graph(tasks, false));
        assert!(error.contains("line 7: an event of the tracer function_graph without a time"), "{error}");
        assert!(error.contains("funcgraph-abstime"), "{error}");
    }
    let functions: Vec<_> = graph(false, true)
        .lines()
        .filter(|line| !line.contains(": ") || line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    let error = refused(&functions.concat());
    assert!(error.contains("function_graph without events") && error.contains("tracer nop"), "{error}");
    // Without the heading.
    let cut = graph(true, true).split_off(200);
    assert_eq!(read(cut).0, read(graph(true, true)).0);
}

#[test]
fn differences_of_times_are_refused_as_such() {
    let line =
        |us: u64| format!("         swapper     0 [003]     0.{us:06}: power:cpu_idle: state=1 cpu_id=3\n");
    let text = |times: &[u64]| times.iter().map(|us| line(*us)).collect::<String>();
    let short = text(&[0, 210, 3]);
    let long = text(&[0, 210, 3, 3, 1000, 4000, 5, 2, 17, 2]);
    for text in [short, long.clone(), text(&[210, 3]).repeat(20), long.replace("swapper     0", "")] {
        let error = refused(&text);
        assert!(
            error.contains("a time that goes back (0.000003") && error.contains("without --deltatime"),
            "{error}"
        );
        assert!(error.contains("after 0.00021"), "{error}");
    }
    assert!(refused(&long).contains("line 3: "), "{}", refused(&long));
    // Times since the first event (--reltime), also of two texts in one file, and of the clock.
    let since = text(&[0, 3, 10, 50, 51, 90, 97, 98, 120, 121]);
    for text in [since.clone(), since.repeat(2)] {
        assert_eq!(read(text).0.len(), 10);
    }
    assert_eq!(read(text(&[0, 3]).repeat(2)).0.len(), 2);
    let clock = text(&[5, 3]).repeat(20).replace(" 0.0", " 4709.0");
    assert!(!read(&clock).0.is_empty());
}

// SPDX-License-Identifier: GPL-2.0-only
//! Does every wrong file say where, what was expected, and the way out?

use idlewise_workload::{Fault, Workload, WorkloadError, find};

/// The message about a task with this in it, without the name of the file.
fn about(task: &str) -> String {
    message(&format!("{{ \"tasks\": {{ \"a\": {{ {task} }} }} }}"))
}

fn message(text: &str) -> String {
    let error = Workload::from_text("w.json", text).expect_err(text);
    error.to_string().replace("w.json:", "")
}

#[test]
fn a_misspelt_key_is_told_apart_from_a_numbered_one() {
    assert_eq!(
        about("\"slep\": 100"),
        "1:21: tasks/a/slep: unknown key `slep`; did you mean `sleep`?; rt-app would skip it without a word; correct \
         it, or begin it with `_` to have it skipped here"
    );
    assert!(about("\"runtme1\": 100").contains("did you mean `runtime`?"));
    assert!(about("\"idlewise-reads\": 100").contains("did you mean `idlewise-read`?"));
    assert!(about("\"run\": 1, \"priorty\": 5").contains("did you mean `priority`?"));
    let fine = "{ \"tasks\": { \"a\": { \"run1\": 5, \"sleep_b\": 5, \"_remark\": [], \"runX\": 1 } } }";
    let workload = Workload::from_text("w.json", fine).unwrap();
    assert_eq!(workload.tasks[0].phases[0].events.len(), 3);
    assert_eq!(workload.notes, ["`runX` is the event `run`, as rt-app goes by how a key begins"]);
}

#[test]
fn values_of_the_wrong_kind_or_out_of_range_name_what_was_expected() {
    for (task, expected) in [
        ("\"run\": \"5\"", "tasks/a/run: expected a whole number of microseconds from 0 to"),
        ("\"run\": 1.5", "found 1.5"),
        ("\"sleep\": -1", "found -1"),
        ("\"run\"", "found nothing"),
        ("\"run\": 99999999999999999999999", "from 0 to 1000000000000"),
        ("\"suspend\": \"\"", "a text that is not empty"),
        ("\"timer\": { \"period\": 5 }", "tasks/a/timer: no `ref`"),
        ("\"timer\": { \"ref\": \"t\", \"period\": 5, \"mode\": \"abs\" }", "\"relative\" or \"absolute\""),
        ("\"wait\": { \"ref\": \"q\" }", "no `mutex`"),
        ("\"run\": 1, \"loop\": 0", "`loop` 0"),
        ("\"run\": 1, \"cpus\": []", "at least one"),
        ("\"run\": 1, \"cpus\": 0", "a list of CPU numbers"),
        ("\"run\": 1, \"priority\": 20", "nice from -20 to 19"),
        ("\"run\": 1, \"policy\": \"SCHED_RR\", \"priority\": 0", "real-time priority from 1 to 99"),
        ("\"run\": 1, \"policy\": \"SCHED_DEADLINE\"", "give `dl-runtime`"),
        ("\"run\": 1, \"policy\": \"FIFO\"", "SCHED_FIFO"),
        ("\"run\": 1, \"util_min\": 600, \"util_max\": 500", "`util_min` is above `util_max`"),
        ("\"run\": 1, \"loop\": 1, \"loop\": 2", "here twice"),
        ("\"fork\": \"b\", \"run\": 1", "no task is called `b`; there are `a`"),
        ("\"run\": 1, \"phases\": { \"p\": { \"run\": 1 } }", "an event next to `phases`"),
        ("\"phases\": {}", "no phases"),
        ("\"phases\": { \"p\": { \"delay\": 1 } }", "move it to the task"),
        (
            "\"instance\": 60000, \"run\": 1 }, \"b\": { \"instance\": 60000, \"run\": 1",
            "more than 65536 tasks",
        ),
        ("\"idlewise-run\": { \"uniform\": [2, 1] }", "the first is above the second"),
        ("\"idlewise-run\": { \"normal\": 2 }", "unknown key `normal`; did you mean `lognormal`?"),
        ("\"idlewise-run\": { \"empirical\": [[0, 5], [0.5, 6]] }", "quantiles rising"),
        ("\"idlewise-run\": {}", "one of `constant`"),
        ("\"idlewise-read\": { \"device\": \"d\", \"bytes\": 1 }", "describes no device"),
        ("\"idlewise-take\": \"s\"", "no source is called `s`"),
        ("\"idlewise-latency-limit\": \"nothing\"", "microseconds, or \"none\""),
        ("\"idlewise-latency-limit\": -1", "expected"),
        ("\"idlewise-call-rcu\": 1", "a text, which may be empty"),
    ] {
        let message = about(task);
        assert!(message.contains(expected), "{task}: {message}");
        assert!(message.contains("; "), "{message}");
    }
}

#[test]
fn what_could_not_go_on_is_refused() {
    let stuck = "this repeats without end, and nothing in it takes time or waits";
    assert!(about("\"resume\": \"b\"").contains(stuck));
    assert!(about("\"phases\": { \"p\": { \"loop\": -1, \"yield\": \"\" } }").contains(stuck));
    assert!(about("\"sleep\": 0, \"timer\": { \"ref\": \"t\", \"period\": 0 }").contains(stuck));
    let fine = "{ \"tasks\": { \"a\": { \"loop\": 3, \"resume\": \"b\" }, \"b\": { \"suspend\" } } }";
    assert!(Workload::from_text("w.json", fine).is_ok());
}

#[test]
fn what_only_all_tasks_show_is_said_at_its_place() {
    let idlewise = "\"idlewise\": { \"frames\": { \"f\": { \"period_us\": 5 } }, \
                    \"sources\": { \"s\": { \"arrivals\": { \"poisson\": 5 } } } }";
    let with = |task: &str| message(&format!("{{ \"tasks\": {{ \"a\": {{ {task} }} }}, {idlewise} }}"));
    assert!(with("\"run\": 1, \"idlewise-frame-end\": \"f\"").contains("add `idlewise-frame-begin`"));
    assert!(with("\"run\": 1, \"idlewise-done\": \"s\"").contains("add `idlewise-take` to the same task"));
    let fork = about("\"run\": 1, \"fork\": \"b\" }, \"b\": { \"instance\": 0, \"barrier\": \"x\"");
    assert!(fork.contains("1:31: tasks/a/fork: the forked task has a barrier"), "{fork}");
}

#[test]
fn clients_of_all_sources_together_have_a_limit() {
    let with = |clients: [u32; 2]| {
        let source = |n: u32| format!("\"s{n}\": {{ \"clients\": {n}, \"think\": 100 }}");
        let sources = clients.map(source).join(", ");
        let text = format!(
            "{{ \"tasks\": {{ \"a\": {{ \"run\": 1 }} }}, \"idlewise\": {{ \"sources\": {{ {sources} }} }} }}"
        );
        Workload::from_text("w.json", &text).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(with([65_535, 1]), Ok(()));
    let said = with([65_535, 2]).unwrap_err();
    assert!(said.starts_with("w.json:1:") && said.contains("idlewise/sources/s2: "), "{said}");
    assert!(said.ends_with("all sources together have 65537 clients; give them 65536 at most"), "{said}");
}

#[test]
fn requests_come_no_faster_than_a_million_a_second() {
    let with = |arrivals: &str| {
        let text = format!(
            "{{ \"tasks\": {{ \"a\": {{ \"run\": 1 }} }}, \"idlewise\": {{ \"sources\": {{ \"s\": {{ \"arrivals\": \
             {{ {arrivals} }} }} }} }} }}"
        );
        Workload::from_text("w.json", &text).map(|_| ()).map_err(|e| e.to_string())
    };
    for fine in [
        "\"poisson\": 1000000",
        "\"periodic\": 1",
        "\"gap\": { \"uniform\": [0, 2] }",
        "\"bursts\": { \"every\": 1000, \"requests\": 1000, \"gap\": 0 }",
    ] {
        assert_eq!(with(fine), Ok(()), "{fine}");
    }
    for (fast, expected) in [
        ("\"poisson\": 1000001", "arrivals/poisson: expected requests per second from 0.001 to 1000000"),
        ("\"poisson\": 1000000000", "found 1000000000"),
        ("\"periodic\": 0.5", "arrivals/periodic: expected a mean of at least 1 us"),
        ("\"periodic\": 0", "expected a mean of at least 1 us"),
        ("\"gap\": { \"exponential\": 0.001 }", "arrivals/gap: expected a mean of at least 1 us"),
        ("\"gap\": { \"empirical\": [[0, 0], [1, 1]] }", "expected a mean of at least 1 us"),
        (
            "\"bursts\": { \"every\": 1000, \"requests\": 1048576, \"gap\": 0 }",
            "bursts/every: expected a mean of at least 1048576 us, 1 us for each request",
        ),
    ] {
        let error = with(fast).unwrap_err();
        assert!(error.contains(expected) && error.contains("; see docs"), "{fast}: {error}");
    }
}

#[test]
fn broken_json_is_told_with_its_place() {
    for (text, expected) in [
        ("", "1:1: expected an object, `{ \"tasks\": ... }`, found the end of the text"),
        ("[]", "1:1: expected an object"),
        ("{\n  \"tasks\" { } }", "2:11: expected `,` or `}`, found `{`"),
        ("{ \"tasks\": }", "1:12: expected a value, found `}`"),
        ("{ tasks: 1 }", "1:3: expected a key in quotes or `}`, found `tasks`"),
        ("{ \"a", "1:"),
        ("{ /* x", "1:"),
        ("{} {}", "1:4: something follows the object"),
        ("{ \"é\": @ }", "1:8: not JSON: "),
        ("{}", "no tasks"),
        ("{ \"task\": {} }", "did you mean `tasks`?"),
    ] {
        let message = message(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let deep = format!("{{ \"tasks\": {} }}", "[".repeat(100_000));
    assert!(message(&deep).contains("more than 32 objects and lists inside one another"));
}

#[test]
fn global_settings_are_checked_and_of_several_files_the_last_holds() {
    let task = "\"tasks\": { \"a\": { \"run\": 1 } }";
    for (global, expected) in [
        ("\"duration\": 0", "seconds from 1, or -1"),
        ("\"duration\": 1, \"duration\": 2", "here twice"),
        ("\"calibration\": \"cpu0\"", "expected \"CPU0\" (any CPU"),
        ("\"durations\": 1", "did you mean `duration`?"),
        ("\"pi_enabled\": 1", "true or false"),
    ] {
        let message = message(&format!("{{ {task}, \"global\": {{ {global} }} }}"));
        assert!(message.contains(expected) && message.contains("global/"), "{message}");
    }
    let files = [
        ("dir/one.json", "{ \"global\": { \"duration\": 1 } }"),
        ("two.json", "{ \"tasks\": { \"a\": { \"run\": 1 } }, \"global\": { \"duration\": 2 } }"),
    ];
    let merged = Workload::from_texts(&files).unwrap();
    assert_eq!((merged.name.as_str(), merged.global.duration_ns), ("one", Some(2_000_000_000)));
}

#[test]
fn a_name_that_is_neither_shipped_nor_a_file_gets_the_nearest() {
    let error = find("frame").unwrap_err();
    assert!(matches!(&error, WorkloadError::Unknown { nearest, .. } if nearest == &["frames"]), "{error}");
    assert!(error.to_string().ends_with("(did you mean `frames`?)"), "{error}");
    let error = find("no/such.json").unwrap_err();
    assert!(matches!(error, WorkloadError::Read { .. }));
    let at = |text| match Workload::from_text("w.json", text) {
        Err(WorkloadError::At { fault, .. }) => Some(fault),
        _ => None,
    };
    assert_eq!(at("{"), Some(Fault::Syntax));
    assert_eq!(at("{ \"tasks\": { \"a\": { \"lock_order\": [] } } }"), Some(Fault::NotModelled));
}

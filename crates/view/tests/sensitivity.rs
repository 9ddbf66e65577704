// SPDX-License-Identifier: GPL-2.0-only
//! Does a replay say whether its ranking depends on sleep lengths that the recording does not tell?

use idlewise_report::Format;
use idlewise_study::replay::{ReplayReport, ReplayRequest};
use idlewise_testkit::{recording, request, run};
use idlewise_view as view;

const GOVERNORS: [&str; 4] = ["menu", "teo", "shallow", "oracle"];

/// What stands at the top under "bounds".
fn bounds(report: &ReplayReport) -> String {
    let text = view::replay(report).render(Format::Table, report).unwrap();
    let mine = text.lines().skip_while(|l| !l.starts_with("bounds "));
    let own = |(i, l): &(usize, &str)| *i == 0 || l.starts_with("    ");
    mine.enumerate().take_while(own).map(|(_, l)| l.trim()).collect::<Vec<_>>().join(" ")
}

#[test]
fn without_timer_events_the_bounds_are_offered_and_tried_when_asked_for() {
    let Some(path) = recording("mt8196/trace_6_12_sleep_length.dat") else { return };
    let asked = request(&[&path], "mt8196", "", &GOVERNORS);
    let plain = run(&asked);
    assert!(plain.traces[0].sensitivity.unsure_pct() > 20.0, "{:?}", plain.traces[0].sensitivity);
    assert!(plain.traces[0].sensitivity.metrics.is_empty());
    assert!(bounds(&plain).contains("--sensitivity"), "{}", bounds(&plain));

    let tried = run(&ReplayRequest { sensitivity: true, ..asked });
    let s = &tried.traces[0].sensitivity;
    let names: Vec<&str> = s.metrics.iter().map(|m| m.metric).collect();
    assert_eq!(names, ["energy", "too_deep", "too_shallow"]);
    for m in &s.metrics {
        let who: Vec<&str> = m.governors.iter().map(|g| g.governor.as_str()).collect();
        assert_eq!(who, ["menu", "teo", "shallow"], "the oracle asks for no sleep length");
        assert!(m.governors.iter().all(|g| g.values.len() == 3), "{m:?}");
    }
    // As taped is what the tables show; the shallowest state is taken whatever the timers are.
    let energy = &s.metrics[0].governors;
    assert_eq!(energy[0].values[1], tried.traces[0].governors[0].score.energy);
    assert_eq!(energy[2].values[0], energy[2].values[2]);
    assert_ne!(energy[1].values[0], energy[1].values[2], "teo does ask");
    let text = bounds(&tried);
    assert!(text.contains("3 tried") && text.contains("ranking by energy"), "{text}");
    assert_eq!(tried, run(&tried.request), "the same again");
    assert_eq!(tried.traces[0].governors, plain.traces[0].governors, "the tables do not change");
}

#[test]
fn where_timers_are_recorded_little_hangs_on_the_rest_and_nothing_is_offered() {
    let Some(path) = recording("kvm-guest/cyclictest_cpu0.dat") else { return };
    let plain = run(&request(&[&path], "kvm-guest", "menu", &["menu", "teo"]));
    assert!(plain.traces[0].sensitivity.unsure_pct() < 1.0);
    assert_eq!(bounds(&plain), "");
}

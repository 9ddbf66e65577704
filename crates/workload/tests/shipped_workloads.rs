// SPDX-License-Identifier: GPL-2.0-only
//! Does every workload that comes with idlewise load, say what it is, and use the extension as it should?

use idlewise_workload::{Arrivals, Completion, Event, IrqCpu, find, shipped};

#[test]
fn every_file_loads_without_a_note_and_says_what_it_stands_for() {
    let names: Vec<&str> = shipped().iter().map(|(name, _)| *name).collect();
    for name in ["frames", "periodic", "pingpong", "reads", "requests", "timer", "web"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for (name, text) in shipped() {
        let workload = find(name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(workload.name, *name);
        assert!(workload.notes.is_empty(), "{name}: {:?}", workload.notes);
        assert!(!workload.about.is_empty() && workload.global.duration_ns.is_some(), "{name}");
        assert!(text.starts_with("// SPDX-License-Identifier: GPL-2.0-only\n/*\n * "), "{name}");
    }
}

#[test]
fn the_timer_workload_is_answered_by_a_wheel_timer_and_the_reads_by_interrupts() {
    let completion = |name: &str| find(name).unwrap().devices[0].completion;
    assert_eq!(completion("timer"), Completion::WheelTimer);
    assert_eq!(completion("reads"), Completion::Irq);
    assert_eq!(find("reads").unwrap().devices[0].irq_cpu, IrqCpu::Task);
    let requests = find("requests").unwrap();
    assert!(matches!(&requests.sources[0].arrivals, Arrivals::Open { gap } if gap.mean_ns() == 500_000));
    let web = find("web").unwrap();
    assert!(matches!(web.sources[0].arrivals, Arrivals::Bursts { requests: 40, .. }));
    let frames = find("frames").unwrap();
    let events: Vec<&Event> = frames.tasks.iter().flat_map(|t| &t.phases).flat_map(|p| &p.events).collect();
    assert!(events.iter().any(|e| matches!(e, Event::FrameBegin { .. })));
    assert!(events.iter().any(|e| matches!(e, Event::FrameEnd { .. })));
}

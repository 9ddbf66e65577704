// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{Event, EventKind, Span};

/// A mark farther than this is not of the recorded time, ns.
const FAR_NS: u64 = 3_600_000_000_000;

fn span(events: &[(u64, bool)]) -> Span {
    let mut span = Span::default();
    for (ts_ns, mark) in events {
        let kind =
            if *mark { EventKind::Other { id: 1 } } else { EventKind::CpuIdle { cpu: 0, state: None } };
        span.add(&Event { ts_ns: *ts_ns, cpu: 0, pid: 0, kind });
    }
    span
}

#[test]
fn only_marks_that_are_hours_away_are_left_out() {
    let at = 50_260_000_000_000;
    let far = span(&[(0, true), (at, false), (at + 5, true), (at + 3, false)]);
    assert_eq!(far.ends_ns(), Some((at, at + 5)));
    assert!(far.note().unwrap().starts_with("a mark at 0.000000000 s"));
    let near = span(&[(at - FAR_NS, true), (at, false)]);
    assert_eq!((near.ends_ns(), near.note()), (Some((at - FAR_NS, at)), None));
    let late = span(&[(at, false), (at + 2 * FAR_NS, true)]);
    assert_eq!(late.ends_ns(), Some((at, at)));
    let long = span(&[(0, false), (at, false)]);
    assert_eq!(
        (long.ends_ns(), long.note()),
        (Some((0, at)), None),
        "the kernel's own events count wherever they lie"
    );
    assert_eq!(span(&[(7, true)]).ends_ns(), Some((7, 7)));
    assert_eq!(span(&[]).ends_ns(), None);
}

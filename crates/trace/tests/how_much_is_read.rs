// SPDX-License-Identifier: GPL-2.0-only
//! How much of a trace has been read, for whoever waits for it.

use std::path::Path;

use idlewise_trace::write::{FtraceText, PerfettoWriter};
use idlewise_trace::{Meter, TraceFile};

/// What has been read before the first event, after half of them and after the last.
fn shares(trace: &TraceFile) -> [f64; 3] {
    let all = trace.events().unwrap().count();
    let meter = Meter::default();
    assert_eq!(meter.share(), None, "nothing is expected to be read");
    trace.count_into(&meter, 1);
    let mut events = trace.events().unwrap();
    let mut after = |n: usize| {
        events.by_ref().take(n).for_each(drop);
        meter.share().unwrap()
    };
    [after(0), after(all / 2), after(all)]
}

#[test]
fn the_share_that_is_read_goes_with_the_events() {
    let mixed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
    let dat = TraceFile::open(&mixed).unwrap();
    let mut text = FtraceText::new(Vec::new(), dat.meta()).unwrap();
    let mut perfetto = PerfettoWriter::new(Vec::new(), dat.meta()).unwrap();
    let mut events = dat.events().unwrap();
    while let Some(event) = events.next() {
        text.event(&event, &events).unwrap();
        perfetto.event(&event, &events).unwrap();
    }
    let text = TraceFile::from_bytes(Path::new("text"), text.finish().unwrap()).unwrap();
    let perfetto = TraceFile::from_bytes(Path::new("perfetto"), perfetto.finish().unwrap()).unwrap();
    for (name, trace) in [("trace.dat", &dat), ("text", &text), ("Perfetto", &perfetto)] {
        let [begin, middle, end] = shares(trace);
        println!("{name}: {begin:.2} {middle:.2} {end:.2}");
        assert!(begin < 0.2, "{name}: {begin} is read before the first event");
        assert!((0.3..0.7).contains(&middle), "{name}: {middle} is read after half of the events");
        assert!(end > 0.95, "{name}: {end} is read after the last event");
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Are the events of real recordings the ones that trace-cmd reports: each one, its time, CPU, name, task and numbers?

use crate::common;

use std::collections::BTreeMap;

use common::report::{Report, assert_same, next_recorded};
use common::{has_trace_cmd, recordings};
use idlewise_model::HealthKind;
use idlewise_trace::TraceFile;

#[test]
fn every_event_of_every_recording() {
    let files = recordings();
    if files.is_empty() || !has_trace_cmd() {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED), or no trace-cmd");
        return;
    }
    for path in files {
        let file = TraceFile::open(&path).unwrap();
        let meta = file.meta();
        let mut events = file.events().unwrap();
        let (mut ours, mut theirs) = (BTreeMap::<u32, u64>::new(), BTreeMap::<u32, u64>::new());
        let mut names = BTreeMap::<String, u64>::new();
        let (mut n, mut numbers) = (0u64, 0u64);
        for line in Report::run(&path) {
            let place = format!("{}, event {n}", path.display());
            let event = next_recorded(&mut events);
            let event = event.unwrap_or_else(|| panic!("{place}: we end before {line:?}"));
            numbers += u64::from(assert_same(&event, &line, meta, &events, &place));
            *ours.entry(event.cpu).or_default() += 1;
            *theirs.entry(line.cpu).or_default() += 1;
            *names.entry(line.name).or_default() += 1;
            n += 1;
        }
        assert!(events.next().is_none(), "{}: we have more than {n} events", path.display());
        assert_eq!(ours, theirs);
        let mut counted = BTreeMap::<String, u64>::new();
        for (id, count) in events.counts() {
            let name = meta.event_names[&id].split_once(':').unwrap().1;
            *counted.entry(name.to_owned()).or_default() += count;
        }
        assert_eq!(counted, names, "{}", path.display());
        assert_eq!(events.health().count(HealthKind::BadEvent), 0);
        assert!(n > 0);
        println!(
            "{}: {n} events, {numbers} numbers equal; {} kinds; {:?}",
            path.display(),
            names.len(),
            events.health()
        );
        println!(
            "   {} | {} | clock {:?} | {:?} | {:?}",
            meta.format, meta.kernel, meta.clock, meta.health, meta.notes
        );
    }
}

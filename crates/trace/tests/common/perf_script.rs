// SPDX-License-Identifier: GPL-2.0-only
//! The output of `perf script`, made to print every field as a number.

use std::path::Path;
use std::process::Command;

use idlewise_model::{Event, EventKind};
use idlewise_trace::TraceFile;

use super::report::{Line, compare_fields};

/// Prints events as trace-cmd does; numbers come before texts, which may hold spaces.
const SCRIPT: &str = "\
def line(comm, pid, cpu, time, name, fields):
    cpu = 0 if cpu == 0xffffffff else cpu
    print('%s-%d [%03d] %d.%09d: %s: %s' % (comm, pid, cpu, time // 10**9, time % 10**9, name, fields))

def trace_unhandled(name, context, fields, sample):
    number = lambda v: hex(v) if v >= 1 << 32 else str(v)
    texts = ['%s=%s' % (k, number(v)) for k, v in fields.items() if isinstance(v, int)]
    texts += ['%s=%s' % (k, v) for k, v in fields.items() if isinstance(v, str)]
    s = sample['sample']
    line(fields['common_comm'], fields['common_pid'], s['cpu'], s['time'], name.split('__', 1)[1], ' '.join(texts))

def process_event(e):
    s = e['sample']
    line(e['comm'], s['tid'], s['cpu'], s['time'], e['ev_name'].replace(':', ';'), '')
";

/// Whether perf is installed, with its Python.
pub fn has_perf() -> bool {
    let script = Command::new("perf").args(["version", "--build-options"]).output();
    script.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).lines().any(|l| l.contains("libpython: [ on")))
}

/// The events of a file by time, of equal times the lower CPU first; `None` if perf cannot read the file.
pub fn run(path: &Path) -> Option<Vec<Line>> {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("fields.py");
    std::fs::write(&script, SCRIPT).unwrap();
    let output =
        Command::new("perf").args(["script", "-f", "-s"]).arg(&script).arg("-i").arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<_> = text.lines().filter_map(Line::parse).collect();
    lines.sort_by_key(|l| (l.ts_ns, l.cpu));
    (output.status.success() && !lines.is_empty()).then_some(lines)
}

/// Compares all events of a file with what perf prints; says how many there are, and how many numbers were compared.
pub fn agrees(path: &Path) -> Option<(usize, u64)> {
    let lines = run(path)?;
    let file = TraceFile::open(path).unwrap();
    let mut events = file.events().unwrap();
    let ours: Vec<Event> = events.by_ref().filter(|e| !matches!(e.kind, EventKind::Lost { .. })).collect();
    let mut numbers = 0;
    for (i, (event, line)) in ours.iter().zip(&lines).enumerate() {
        let place = format!("{}, event {i}: {event:?} against {line:?}", path.display());
        assert_eq!((event.ts_ns, event.cpu, event.pid), (line.ts_ns, line.cpu, line.pid), "{place}");
        let counter = match event.kind {
            EventKind::Other { id } => file.meta().event_names.get(&id).map(|n| n.replace(':', ";")),
            _ => None,
        };
        let called =
            counter.as_ref() == Some(&line.name) || super::is_called(&event.kind, file.meta(), &line.name);
        assert!(called, "{place}");
        match compare_fields(event, line, file.meta(), &events) {
            Ok(n) => numbers += u64::from(n),
            Err(e) => panic!("{place}: {e}"),
        }
    }
    assert_eq!(ours.len(), lines.len(), "{}", path.display());
    Some((ours.len(), numbers))
}

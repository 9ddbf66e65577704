// SPDX-License-Identifier: GPL-2.0-only
//! Does a trace of LTTng give the stays, timers and ticks that it tells of?

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_madetraces::ctf::Lttng;
use idlewise_model::{CpuTape, Event, EventKind, Tape, TapeCpu, WakeCause};
use idlewise_testkit::recording;
use idlewise_trace::TraceFile;

/// The trace in an archive, unpacked to `dir`.
fn unpacked(name: &str, dir: &Path) -> Option<PathBuf> {
    let archive = recording(&format!("ctf/{name}"))?;
    let tar = Command::new("tar").arg("xf").arg(archive).arg("-C").arg(dir).output();
    if !tar.is_ok_and(|o| o.status.success()) {
        println!("skipped: tar cannot unpack {name} (is zstd there?)");
        return None;
    }
    Some(dir.to_path_buf())
}

fn tape(trace: &TraceFile, platform: &str) -> Tape {
    idlewise_tape::make(trace, "trace", &idlewise_platform::find(platform).unwrap(), "menu").unwrap()
}

#[test]
fn a_laptop_traced_by_lttng_gives_its_stays() {
    let dir = tempfile::tempdir().unwrap();
    let Some(path) = unpacked("ctf_uneven-streams.tar.zst", dir.path()) else { return };
    let tape = tape(&TraceFile::open(&path).unwrap(), "skylake");
    assert_eq!((tape.source.clock.as_str(), tape.source.kernel.as_str()), ("mono", "4.11.0-10-generic"));
    assert!(tape.source.format.starts_with("CTF 1.8, lttng-modules 2.10"), "{}", tape.source.format);
    // Only CPU 2 was recorded.
    let cpu = tape.cpus.iter().find(|c| c.cpu == 2).unwrap();
    assert_eq!((&cpu.usable, cpu.pieces.len()), (&TapeCpu::Usable, 744));
    assert!(tape.cpus.iter().all(|c| c.cpu == 2 || c.usable != TapeCpu::Usable));
    // As `babeltrace2 | grep power_cpu_idle` counts entries, but for the last, into state 6, which has no exit.
    let mut states = BTreeMap::new();
    let pieces = cpu.pieces.to_vec().unwrap();
    pieces.iter().for_each(|p| *states.entry(p.state).or_insert(0) += 1);
    let counted = [(1, 72), (2, 53), (3, 66), (4, 22), (5, 47), (6, 76), (7, 240), (8, 168)];
    assert_eq!(states, BTreeMap::from(counted));
    let timers = pieces.iter().filter(|p| matches!(p.cause, WakeCause::Hrtimer | WakeCause::Tick)).count();
    assert!(timers > 100, "{timers}");
}

#[test]
fn a_recording_stored_as_lttng_would_gives_the_same_tape() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
    let dat = TraceFile::open(&data).unwrap();
    let all: Vec<Event> = dat.events().unwrap().collect();
    // LTTng keeps no symbols; the tick's timer is known by its function's name.
    let functions: BTreeSet<u64> = all
        .iter()
        .filter_map(|e| match e.kind {
            EventKind::HrtimerStart { function, .. } | EventKind::HrtimerExpireEntry { function, .. } => {
                Some(function)
            }
            _ => None,
        })
        .collect();
    let symbol = |f: &u64| Some(format!("{f:x} t {}\n", dat.meta().function(*f)?));
    let kallsyms: String = functions.iter().filter_map(symbol).collect();
    let mut files = Lttng { per_packet: 1000, ..Lttng::default() }.write(&all);
    files.insert("kallsyms".to_owned(), kallsyms.into_bytes());
    let ctf = TraceFile::from_files(Path::new("mixed"), files).unwrap();
    let (ctf, dat) = (tape(&ctf, "kvm-guest"), tape(&dat, "kvm-guest"));
    // Events that LTTng has no layout for here are left out: others are farther apart, and an interrupt may seem to go on in which a
    // task is woken.
    let of_all = |tape: &Tape| -> Vec<CpuTape> {
        let cpu = |cpu: &CpuTape| CpuTape {
            event_ns: 0,
            pieces: cpu.pieces.changed(|p| p.iowait = 0),
            ..cpu.clone()
        };
        tape.cpus.iter().map(cpu).collect()
    };
    assert_eq!(of_all(&ctf), of_all(&dat));
    // Nor does it describe limits that were recorded and never came.
    let limits = |tape: &Tape| tape.inputs.iter().find(|i| i.name == "latency limit").unwrap().how.clone();
    assert_eq!([limits(&dat), limits(&ctf)].map(|how| how.contains("none came")), [true, false]);
    let others = |tape: &Tape| -> Vec<_> {
        tape.inputs.iter().filter(|i| i.name != "latency limit").cloned().collect()
    };
    assert_eq!(others(&ctf), others(&dat));
}

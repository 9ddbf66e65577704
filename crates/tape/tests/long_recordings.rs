// SPDX-License-Identifier: GPL-2.0-only
//! Is a tape whose stays are in a temporary file the tape that would be in memory?

use std::path::{Path, PathBuf};

use idlewise_madeinput::story::*;
use idlewise_model::*;
use idlewise_tape::{Limits, make_within};
use idlewise_trace::TraceFile;

const MEMORY: Limits = Limits { periods: usize::MAX, block: 512 };
/// The file is there from the first stay, in the middle, with blocks of all kinds.
const FILES: [Limits; 4] = [
    Limits { periods: 0, block: 1 },
    Limits { periods: 0, block: 7 },
    Limits { periods: 50, block: 3 },
    Limits { periods: 200, block: 64 },
];

/// Makes the tape of `trace` within all limits; whether any stay went to a file.
fn same_within_all(trace: &TraceFile, machine: &idlewise_platform::Platform, what: &str) -> bool {
    let make = |limits| make_within(limits, trace, "trace.dat", machine, "menu").unwrap();
    let memory = make(MEMORY);
    assert!(memory.cpus.iter().all(|c| c.pieces.in_memory()));
    let mut any = false;
    for limits in FILES {
        let filed = make(limits);
        for (a, b) in memory.cpus.iter().zip(&filed.cpus) {
            let [of_a, of_b] = [a, b].map(|cpu| cpu.pieces.to_vec().unwrap());
            let first = of_a.iter().zip(&of_b).position(|(a, b)| a != b);
            assert_eq!(first, None, "{what}, {limits:?}, CPU {}: the first stay that differs", a.cpu);
        }
        assert_eq!(memory, filed, "{what}, {limits:?}");
        any |= filed.cpus.iter().any(|c| !c.pieces.in_memory());
    }
    any
}

fn recordings(folder: &Path, to: &mut Vec<PathBuf>) {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    for path in all {
        if path.is_dir() && !path.join("metadata").exists() {
            recordings(&path, to);
        } else {
            to.push(path);
        }
    }
}

#[test]
fn every_recording_gives_the_same_tape() {
    let machine = &idlewise_platform::find("kvm-guest").unwrap();
    let mut paths = Vec::new();
    recordings(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data"), &mut paths);
    let mut filed = 0;
    for path in paths {
        let Ok(trace) = TraceFile::open(&path) else { continue };
        if make_within(MEMORY, &trace, "", machine, "").is_ok() {
            filed += usize::from(same_within_all(&trace, machine, &path.display().to_string()));
        }
    }
    assert!(filed >= 3, "{filed} recordings had enough stays");
}

/// Two CPUs' visits of several stays each. RCU asks for its softirq now and then, in idle and when busy for long; some
/// ticks stop, some timers are armed, some fire.
fn story() -> Story {
    let mut s = Story::new(2);
    let mut seed = 7u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for cpu in 0..2 {
        s.prelude(cpu);
        let mut at = TICK + 50 * US;
        for visit in 0..60 {
            s.switch(cpu, at, RUNNING, 100 + visit % 3);
            for _ in 0..next(4) {
                at += next(3) * MS + US;
                s.raise(cpu, at, RCU_SOFTIRQ);
            }
            at += 10 * US;
            s.rest(cpu, at);
            for _ in 0..=next(5) {
                at += 2 * US + next(30) * US;
                if next(4) == 0 {
                    s.tick_stop(cpu, at);
                }
                if next(3) == 0 {
                    s.arm(cpu, at, TIMER + u64::from(cpu), OTHER_FN, at + next(9) * MS);
                }
                at += US;
                s.idle(cpu, at, next(2) as u32);
                at += (1 + next(40)) * 100 * US;
                s.exit(cpu, at);
                at += US;
                if next(2) == 0 {
                    s.timer_irq(cpu, at);
                    if next(2) == 0 {
                        s.fire(cpu, at + US / 4, TIMER + u64::from(cpu), OTHER_FN, at);
                    }
                    s.raise(cpu, at + US / 2, RCU_SOFTIRQ);
                    s.timer_irq_end(cpu, at + US);
                    at += 2 * US;
                }
            }
            at += 5 * US;
        }
    }
    s
}

#[test]
fn made_up_recordings_of_every_kind_give_the_same_tape() {
    let lacks: [&[&str]; 6] =
        [&[], &["hrtimer"], &["tick_stop"], &["sched"], &["cpu_idle"], &["hrtimer", "cpu_idle", "tick_stop"]];
    for begins in lacks {
        let s = begins.iter().fold(story(), |s, begin| s.without(begin));
        let what = format!("without {begins:?}");
        assert!(same_within_all(&s.trace(), &machine(), &what), "{what}: no file");
        let tape = s.tape();
        let needed = stays(&tape, 0).iter().filter(|p| has(p, PieceFlags::TICK_NEEDED)).count();
        assert!((3..stays(&tape, 0).len() - 3).contains(&needed), "{what}: {needed} ticks kept for RCU");
    }
}

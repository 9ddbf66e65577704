// SPDX-License-Identifier: GPL-2.0-only
//! Does a replay come out the same when its events are put together from the tape on the way?

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use idlewise_madeinput::idle_loop::{GRID, Script, TICK, table};
use idlewise_model::{Confidence, CpuTape, Entry, Piece, PieceFlags, PieceStore, Pieces, TapeCpu, WakeCause};
use idlewise_replay::{Setting, SleepLengths, Workload, WorkloadEvent, run, unsure_waits};

/// Has 100 idle periods in a block; from block number `broken` on nothing can be read.
#[derive(Debug)]
struct Elsewhere {
    all: Vec<Piece>,
    broken: usize,
}

impl PieceStore for Elsewhere {
    fn periods(&self) -> usize {
        self.all.len()
    }

    fn blocks(&self) -> usize {
        self.all.len().div_ceil(100)
    }

    fn read(&self, n: usize) -> io::Result<Vec<Piece>> {
        match self.all.chunks(100).nth(n) {
            Some(block) if n < self.broken => Ok(block.to_vec()),
            _ => Err(io::Error::other("a worn disk")),
        }
    }
}

fn elsewhere(all: Vec<Piece>) -> Pieces {
    Pieces::stored(Elsewhere { all, broken: usize::MAX })
}

/// Visits of up to `longest` stays, of all causes.
fn stays(n: usize, longest: u64) -> Vec<Piece> {
    let mut seed = 3u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut at = TICK;
    let mut left = 0;
    let mut pieces = Vec::new();
    while pieces.len() < n {
        let mut flags = PieceFlags::default();
        if left == 0 {
            left = 1 + next(longest);
            at += next(50_000);
            flags.set(PieceFlags::VISIT_START, true);
        }
        left -= 1;
        flags.set(PieceFlags::VISIT_END, left == 0);
        flags.set(PieceFlags::REJECTED, next(50) == 0);
        flags.set_timer_confidence(Confidence::ALL[next(4) as usize]);
        let wake_ns = next(if longest > 100 { 400 } else { 3_000_000 });
        pieces.push(Piece {
            start_ns: at,
            wake_ns,
            hrtimer_ns: next(9_000_000) as i64,
            wheel_ns: next(90_000_000) as i64,
            stale_event_ns: idlewise_model::NEVER_NS,
            exit_lag_ns: next(9_000) as u32,
            response_ns: next(5_000) as u32,
            handler_ns: next(700) as u32,
            entry_lag_ns: 0,
            util: 0,
            iowait: 0,
            state: next(4) as u8,
            cause: WakeCause::ALL[next(WakeCause::ALL.len() as u64) as usize],
            flags,
        });
        at += wake_ns + 1_000;
    }
    pieces
}

fn tape(pieces: Pieces) -> CpuTape {
    CpuTape {
        cpu: 1,
        usable: TapeCpu::Usable,
        tick: GRID,
        tick_handler_ns: 3_000,
        pieces,
        latency: Vec::new(),
        disabled: Vec::new(),
        sends: None,
        event_ns: 0,
    }
}

fn events(workload: &Workload) -> Vec<WorkloadEvent> {
    workload.events.blocks().flat_map(|block| block.unwrap().into_owned()).collect()
}

#[test]
fn idle_periods_that_cannot_be_read_are_an_error() {
    let all = stays(5_000, 6);
    for broken in [0, 1, 30] {
        let why = Some("a worn disk".to_owned());
        let broken = tape(Pieces::stored(Elsewhere { all: all.clone(), broken }));
        assert_eq!(Workload::new(&broken).err().map(|e| e.why), why);
        assert_eq!(unsure_waits(&broken).err().map(|e| e.why), why);
    }
    // They can be read until the run begins.
    let worn = Arc::new(AtomicBool::new(false));
    let workload = Workload::new(&tape(Pieces::stored(Wearing(all, Arc::clone(&worn))))).unwrap();
    let ran = || {
        let mut script = Script::new(&[(2, true), (1, false)].repeat(5_000));
        run(&workload, &table(), 1024, Setting::new(true, 1), &mut script, &mut Vec::<Entry>::new())
    };
    assert!(ran().is_ok());
    worn.store(true, Ordering::Relaxed);
    assert!(ran().is_err_and(|e| e.why == "a worn disk"));
}

/// Has ten idle periods in a block; once it is worn, the last block cannot be read.
#[derive(Debug)]
struct Wearing(Vec<Piece>, Arc<AtomicBool>);

impl PieceStore for Wearing {
    fn periods(&self) -> usize {
        self.0.len()
    }

    fn blocks(&self) -> usize {
        self.0.len().div_ceil(10)
    }

    fn read(&self, n: usize) -> io::Result<Vec<Piece>> {
        if n + 1 == self.blocks() && self.1.load(Ordering::Relaxed) {
            return Err(io::Error::other("a worn disk"));
        }
        Ok(self.0.chunks(10).nth(n).unwrap().to_vec())
    }
}

#[test]
fn a_run_is_the_same_however_far_a_polling_loop_looks_ahead() {
    // The first state polls; visits of thousands of short stays fit into one polling loop.
    let answers = [(0, false), (2, true), (0, true), (1, false), (3, true), (0, false)];
    for (n, longest) in [(0, 1), (1, 1), (5_000, 1), (5_000, 6), (9_000, 3_000)] {
        let all = stays(n, longest);
        let tapes = [tape(all.clone().into()), tape(elsewhere(all))];
        assert_eq!(unsure_waits(&tapes[0]), unsure_waits(&tapes[1]));
        for lengths in [SleepLengths::Taped, SleepLengths::Least, SleepLengths::Most] {
            let [memory, elsewhere] = tapes.each_ref().map(|t| Workload::with(t, lengths).unwrap());
            assert!(memory.events.in_memory().is_some() && elsewhere.events.in_memory().is_none());
            assert_eq!(memory.events.len(), elsewhere.events.len());
            assert_eq!(events(&memory), events(&elsewhere));
            for first in 0..answers.len() {
                let ran = [&memory, &elsewhere].map(|w| {
                    let mut script =
                        Script::new(&[&answers[first..], &answers[..first]].concat().repeat(2_000));
                    let mut ledger: Vec<Entry> = Vec::new();
                    let setting = Setting::new(true, 1);
                    let counts = run(w, &table(), 1024, setting, &mut script, &mut ledger).unwrap();
                    (counts, ledger)
                });
                assert_eq!(ran[0], ran[1], "{n} stays, visits of up to {longest}, {lengths:?}");
            }
        }
    }
}

#[test]
fn what_was_worked_out_for_other_ticks_is_not_used() {
    let taken = |w: &Workload| {
        let mut script = Script::new(&[(2, true), (1, false), (3, false)].repeat(2_000));
        let mut ledger: Vec<Entry> = Vec::new();
        run(w, &table(), 1024, Setting::new(false, 1), &mut script, &mut ledger).unwrap();
        ledger
    };
    let fresh = |period_ns: u64| {
        let mut workload = Workload::new(&tape(stays(500, 1).into())).unwrap();
        workload.grid.period_ns = period_ns;
        workload
    };
    let mut workload = fresh(TICK);
    let once_a_second = taken(&workload);
    workload.grid.period_ns = 1_000_000;
    let often = taken(&workload);
    assert_eq!(often, taken(&fresh(1_000_000)));
    assert_ne!(often, once_a_second, "ticks wake where they are kept");
}

// SPDX-License-Identifier: GPL-2.0-only
//! Turns of threads that ask foreign governors.
//!
//! A call of a governor's process takes below a microsecond while both sides have a CPU for themselves and poll for their turns, and some
//! microseconds where they have to be woken. So no more governors are asked at a time than there are pairs of CPUs: the others wait some
//! dozen milliseconds, and take over. A thread that does something else loses its turn.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Calls until somebody who waits takes over, some dozen milliseconds.
const CALLS: u64 = 1 << 16;
/// How often somebody who waits looks, which takes a CPU from those who are asked.
const LOOK: Duration = Duration::from_millis(1);
/// Looks without a call until the pair is free.
const LOOKS: u32 = 3;
/// How long either side looks for its turn before it sleeps: what waking it takes.
const SPIN: Duration = Duration::from_micros(20);

/// A pair of CPUs, for one governor at a time; on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct CpuPair {
    /// The thread that has it; 0: none.
    owner: AtomicU64,
    /// Calls of its owners.
    calls: AtomicU64,
    waiting: AtomicU32,
}

fn pairs() -> &'static [CpuPair] {
    static PAIRS: OnceLock<Vec<CpuPair>> = OnceLock::new();
    PAIRS.get_or_init(|| (0..(cpus() / 2).max(1)).map(|_| CpuPair::default()).collect())
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// How often to look for a turn before sleeping; never where there is no CPU for the other side.
pub(crate) fn spins() -> u32 {
    static SPINS: OnceLock<u32> = OnceLock::new();
    *SPINS.get_or_init(|| {
        const TRIED: u32 = 500;
        if cpus() < 2 {
            return 0;
        }
        // The least of some, as others may run in between.
        let tried = (0..5).map(|_| {
            #[expect(
                clippy::disallowed_methods,
                reason = "what it takes is real time; no result depends on it"
            )]
            let start = Instant::now();
            (0..TRIED).for_each(|_| std::hint::spin_loop());
            start.elapsed().as_nanos()
        });
        let took = tried.min().unwrap_or(1).max(1);
        u32::try_from(SPIN.as_nanos() * u128::from(TRIED) / took).unwrap_or(TRIED).clamp(50, 20_000)
    })
}

thread_local! {
    static THREAD: Cell<Thread> = const { Cell::new(Thread { id: 0, calls: 0 }) };
}

/// A thread that asks governors, one at a time.
#[derive(Clone, Copy)]
struct Thread {
    /// 0 until it asks one.
    id: u64,
    calls: u64,
}

impl Thread {
    fn pair(self) -> &'static CpuPair {
        let pairs = pairs();
        &pairs[self.id as usize % pairs.len()]
    }

    #[cold]
    fn wait(self) {
        let CpuPair { owner, calls, waiting } = self.pair();
        waiting.fetch_add(1, Ordering::Relaxed);
        let (mut seen, mut still) = (0, 0);
        loop {
            let now = owner.load(Ordering::Relaxed);
            let is_free = now == 0 || still == LOOKS;
            if is_free && owner.compare_exchange(now, self.id, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                break;
            }
            let made = calls.load(Ordering::Relaxed);
            still = if made == seen { still + 1 } else { 0 };
            seen = made;
            std::thread::sleep(LOOK);
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn leave(self) {
        let _lost = self.pair().owner.compare_exchange(self.id, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Waits until this thread may ask a governor: before each call.
#[inline]
pub(crate) fn take() {
    static IDS: AtomicU64 = AtomicU64::new(1);
    let mut thread = THREAD.get();
    if thread.id == 0 {
        thread.id = IDS.fetch_add(1, Ordering::Relaxed);
    }
    thread.calls += 1;
    THREAD.set(thread);
    let pair = thread.pair();
    if pair.owner.load(Ordering::Relaxed) != thread.id {
        thread.wait();
    }
    pair.calls.store(thread.id << 32 | thread.calls & 0xffff_ffff, Ordering::Relaxed);
    if thread.calls.is_multiple_of(CALLS) && pair.waiting.load(Ordering::Relaxed) > 0 {
        thread.leave();
        std::thread::sleep(LOOK * 2);
        thread.wait();
    }
}

/// Gives up the turn of this thread.
pub(crate) fn leave() {
    let thread = THREAD.get();
    if thread.id != 0 {
        thread.leave();
    }
}

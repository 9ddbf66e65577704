// SPDX-License-Identifier: GPL-2.0-only
//! What it costs to keep PELT's books.
//!
//! Single updates of one average, by how many periods they span; and a CPU with four tasks: a context switch a third of a
//! millisecond, with wakeups, sleeps and ticks between. The figures depend on the machine; the hash is of the averages at the
//! end and does not.
//!
//! `cargo bench -p idlewise-signal --bench updating`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and stops where something is wrong"
)]

use std::time::Instant;

use idlewise_signal::pelt::{Avg, Leave, Next, Pelt, Rq, Speed, Task};

const ROUNDS: usize = 9;
const UPDATES: u64 = 2_000_000;

/// ns a call, the best of some rounds, and what came out.
fn best<T>(calls: u64, mut play: impl FnMut() -> T) -> (f64, T) {
    let mut best: Option<(f64, T)> = None;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let end = play();
        let ns = begin.elapsed().as_secs_f64() * 1e9 / calls as f64;
        if best.as_ref().is_none_or(|(least, _)| ns < *least) {
            best = Some((ns, end));
        }
    }
    best.unwrap()
}

fn updates(pelt: &Pelt, every_ns: u64) -> Avg {
    let mut avg = Avg::default();
    for k in 1..=UPDATES {
        let on = k % 3 != 0;
        if pelt.update(&mut avg, Speed::FULL, k * every_ns, u64::from(on), u64::from(on), on) {
            pelt.publish(&mut avg, 1024);
        }
    }
    avg
}

/// Calls made, and the CPU at the end.
fn schedule(pelt: &Pelt) -> (u64, Rq) {
    let (mut rq, mut calls) = (Rq::new(1024), 0);
    let mut tasks: Vec<Task> = (0..4).map(|_| Task::new(1024)).collect();
    let mut now_ns = 0;
    for k in 0..UPDATES / 16 {
        let task = &mut tasks[(k % 4) as usize];
        now_ns += 100_000;
        pelt.pass(&mut rq, now_ns, 0, 0);
        pelt.enqueue(&mut rq, task);
        pelt.switch(&mut rq, None, Next::Fair(task));
        now_ns += 333_000;
        pelt.pass(&mut rq, now_ns, 2_000, 0);
        pelt.tick(&mut rq, Some(task));
        now_ns += 50_000;
        pelt.pass(&mut rq, now_ns, 0, 0);
        pelt.dequeue(&mut rq, task, Leave::Sleeps);
        pelt.switch(&mut rq, Some(task), Next::Idle);
        calls += 8;
    }
    (calls, rq)
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

fn main() {
    let pelt = Pelt::kernel(6, 12).unwrap();
    for (name, every_ns) in
        [("30 us", 30_000), ("1 ms", 1_000_000), ("4 ms", 4_000_000), ("1 s", 1_000_000_000)]
    {
        let (ns, avg) = best(UPDATES, || updates(&pelt, every_ns));
        let end = hash(&format!("{avg:?}"));
        println!("update every {name:6} {ns:5.1} ns, {:6.1} million a second; average {end:016x}", 1e3 / ns);
    }
    let (calls, _) = schedule(&pelt);
    let (ns, (_, rq)) = best(calls, || schedule(&pelt));
    let end = hash(&format!("{rq:?}"));
    println!("scheduler's calls     {ns:5.1} ns, {:6.1} million a second; queue {end:016x}", 1e3 / ns);
}

// SPDX-License-Identifier: GPL-2.0-only
//! What holds for every tape, whoever made it: what is made of a tape may add up its times and counts, and index by its numbers.

use idlewise_model::{
    Change, CpuTape, HIGHEST_CPU, LATEST_NS, MAX_STATES, NEVER_NS, NO_LATENCY_LIMIT_NS, Piece, Tape,
};

/// A longer idle period cannot be distinguished from a clock that jumped, ns.
pub(crate) const LONGEST_STAY_NS: u64 = 3_600_000_000_000;
/// The idle periods of all CPUs together, each with the time to the next, of which an hour counts, ns: their sums fit in
/// 64 bits whatever a governor makes of them.
pub(crate) const LONGEST_TOGETHER_NS: u64 = LATEST_NS;
/// Ticks closer than this are no kernel's, ns.
const SHORTEST_TICK_NS: u64 = 10_000;
/// Nor are ticks farther apart than this.
const LONGEST_TICK_NS: u64 = 1_000_000_000;
/// What a CPU that is always busy is used for.
const UTIL_MAX: u16 = 1024;

/// What is wrong with `tape`: where, and what was expected.
pub(crate) fn check(tape: &Tape) -> Result<(), String> {
    let source = &tape.source;
    let [first_ns, last_ns] = [source.first_ns, source.last_ns];
    if first_ns > last_ns || last_ns >= LATEST_NS {
        return Err(format!(
            "it goes from {first_ns} ns to {last_ns} ns; expected times in order, below {LATEST_NS} ns"
        ));
    }
    if tape.stood_still_ns > last_ns - first_ns {
        let (still, span) = (tape.stood_still_ns, last_ns - first_ns);
        return Err(format!(
            "the machine stood still for {still} ns of {span} ns; expected no more than all"
        ));
    }
    if source.events >= LATEST_NS {
        return Err(format!("{} events; expected fewer than {LATEST_NS}", source.events));
    }
    let periods: u64 = tape.cpus.iter().map(|c| c.pieces.len() as u64).sum();
    for input in &tape.inputs {
        let all = input.counts.iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
        // One value counts for the whole tape, as that of its machine.
        if all.is_none_or(|all| all > periods.max(1)) {
            let (name, counts) = (&input.name, input.counts);
            return Err(format!(
                "input {name:?}: {counts:?} values by grade; expected no more than its {periods} idle periods"
            ));
        }
    }
    for pair in tape.cpus.windows(2) {
        let [before, after] = pair else { unreachable!("a window of two has two") };
        if before.cpu >= after.cpu {
            return Err(format!(
                "CPU {} follows CPU {}; expected each CPU once, in order",
                after.cpu, before.cpu
            ));
        }
    }
    let mut together_ns = 0u64;
    for cpu in &tape.cpus {
        let of_cpu = |why| format!("CPU {}: {why}", cpu.cpu);
        check_cpu(cpu).map_err(of_cpu)?;
        check_periods(cpu, &mut together_ns).map_err(of_cpu)?;
    }
    Ok(())
}

/// Its number, its ticks, what changes on it.
fn check_cpu(cpu: &CpuTape) -> Result<(), String> {
    if cpu.cpu > HIGHEST_CPU {
        return Err(format!("expected a number up to {HIGHEST_CPU}"));
    }
    let (period_ns, phase_ns) = (cpu.tick.period_ns, cpu.tick.phase_ns);
    if !(SHORTEST_TICK_NS..=LONGEST_TICK_NS).contains(&period_ns) || phase_ns >= period_ns {
        return Err(format!(
            "ticks every {period_ns} ns, the first at {phase_ns} ns; expected a period of {SHORTEST_TICK_NS} ns to \
             {LONGEST_TICK_NS} ns, and a first tick within it"
        ));
    }
    in_order("latency limit", &cpu.latency)?;
    in_order("disabled states", &cpu.disabled)?;
    match cpu.latency.iter().position(|c| !(0..=NO_LATENCY_LIMIT_NS).contains(&c.value)) {
        None => Ok(()),
        Some(n) => Err(format!(
            "latency limit, change {}: {} ns; expected 0 to {NO_LATENCY_LIMIT_NS} ns",
            n + 1,
            cpu.latency[n].value
        )),
    }
}

fn in_order<T>(name: &str, changes: &[Change<T>]) -> Result<(), String> {
    let mut before_ns = 0;
    for (n, change) in changes.iter().enumerate() {
        if change.at_ns < before_ns || change.at_ns >= LATEST_NS {
            let at_ns = change.at_ns;
            return Err(format!(
                "{name}, change {}: at {at_ns} ns; expected {before_ns} ns or later, below {LATEST_NS} ns",
                n + 1
            ));
        }
        before_ns = change.at_ns;
    }
    Ok(())
}

/// Its idle periods: one after the other, none longer than can be, and all that is said of each.
fn check_periods(cpu: &CpuTape, together_ns: &mut u64) -> Result<(), String> {
    let mut ended_ns = None;
    let mut n = 0;
    for block in cpu.pieces.blocks() {
        for piece in &*block.map_err(|e| e.to_string())? {
            n += 1;
            check_period(piece, ended_ns, together_ns).map_err(|what| {
                format!("idle period {n} of {}, at {} ns: {what}", cpu.pieces.len(), piece.start_ns)
            })?;
            ended_ns = Some(piece.exit_at_ns());
        }
    }
    Ok(())
}

/// One idle period; the one before it on its CPU ended at `ended_ns`.
fn check_period(piece: &Piece, ended_ns: Option<u64>, together_ns: &mut u64) -> Result<(), String> {
    let earliest_ns = ended_ns.unwrap_or(0);
    if piece.start_ns < earliest_ns || piece.exit_at_ns() >= LATEST_NS {
        return Err(format!(
            "expected {earliest_ns} ns or later, where the one before ended, and an end below {LATEST_NS} ns"
        ));
    }
    if piece.stay_ns() > LONGEST_STAY_NS {
        let stay_ns = piece.stay_ns();
        return Err(format!("{stay_ns} ns long; expected an hour at most, {LONGEST_STAY_NS} ns"));
    }
    let timers = [
        ("hrtimer", piece.hrtimer_ns),
        ("timer of the wheel", piece.wheel_ns),
        ("programmed event", piece.stale_event_ns),
    ];
    for (timer, rel_ns) in timers {
        if rel_ns != NEVER_NS && rel_ns.unsigned_abs() > LATEST_NS {
            return Err(format!(
                "a {timer} in {rel_ns} ns; expected {LATEST_NS} ns at most, or {NEVER_NS} for none"
            ));
        }
    }
    if piece.util > UTIL_MAX {
        return Err(format!("a utilisation of {}; expected {UTIL_MAX} at most", piece.util));
    }
    if piece.chosen().is_some_and(|state| state >= MAX_STATES) {
        return Err(format!("idle state {}; expected one of {MAX_STATES}", piece.state));
    }
    *together_ns += reach_ns(piece, ended_ns);
    if *together_ns >= LONGEST_TOGETHER_NS {
        return Err(format!(
            "the idle periods of all CPUs up to here are {together_ns} ns; expected fewer than {LONGEST_TOGETHER_NS}"
        ));
    }
    Ok(())
}

/// What `piece` adds to the time of all idle periods together, ns; the one before it on its CPU ended at `ended_ns`.
pub(crate) fn reach_ns(piece: &Piece, ended_ns: Option<u64>) -> u64 {
    let between_ns = ended_ns.map_or(0, |ended_ns| piece.start_ns.saturating_sub(ended_ns));
    piece.stay_ns() + between_ns.min(LONGEST_STAY_NS)
}

/// When a timer that is due at `at_ns` comes, from `start_ns` on, ns. One that lies beyond every recording never does.
pub(crate) fn timer_ns(at_ns: i64, start_ns: u64) -> i64 {
    let farthest_ns = LATEST_NS.cast_signed();
    let rel_ns = at_ns.saturating_sub(start_ns.cast_signed());
    if rel_ns > farthest_ns { NEVER_NS } else { rel_ns.max(-farthest_ns) }
}

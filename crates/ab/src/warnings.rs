// SPDX-License-Identifier: GPL-2.0-only
use std::collections::{BTreeMap, BTreeSet};

use idlewise_live::limits::{PowerLimitUse, Throttling, window};
use idlewise_model::{Note, NoteId};
use idlewise_report::share;
use idlewise_stats::{Trend, median};

use super::wakeups::{LEAST_FOR_MEDIAN, LEAST_FOR_P99};
use super::{BenchmarkReport, Head, Run, Wakeups};

/// Fewer runs of an arm than this have no interval, neither of a median nor of a change.
const FEW: usize = 6;
/// A difference is shown below this probability.
const SHOWN_P: f64 = 0.05;
/// A spread (greatest less least, of the median) that hides differences of some percent.
const NOISY: f64 = 0.25;
/// A trend is reported when it is this unlikely and this large.
const TREND_P: f64 = 0.01;
const TREND: f64 = 0.02;
/// More than this of the CPUs in others' hands, %, is reported even where it was let pass; what `--foreign` is unless given.
const FOREIGN: f64 = 8.0;

/// What makes the result doubtful, in plain words.
pub(super) fn all(head: &Head, runs: &[Run], benchmarks: &[BenchmarkReport]) -> Vec<Note> {
    let counted: Vec<&Run> = runs.iter().filter(|r| r.left_out.is_none()).collect();
    let mut out = Vec::new();
    for benchmark in benchmarks {
        few(head, benchmark, &mut out);
        noise(benchmark, &mut out);
        drift(benchmark, &counted, &mut out);
    }
    questions(benchmarks, &mut out);
    limits(head, &counted, &mut out);
    foreign(head, &counted, &mut out);
    let repeated =
        runs.iter().filter(|r| r.left_out.as_deref().is_some_and(|l| l.starts_with("foreign"))).count();
    if repeated > 0 {
        out.push(NoteId::Repeated.note(format!("{repeated} runs were repeated because of foreign load")));
    }
    power_limits(head, &counted, &mut out);
    throttling(&counted, &mut out);
    if head.request.wakeups {
        wakeups(&counted, &mut out);
    }
    out
}

/// Runs that count though others were at work: with the gate open, those that it would have kept out.
fn foreign(head: &Head, counted: &[&Run], out: &mut Vec<Note>) {
    let gate = f64::from(head.request.foreign_pct);
    let limit = gate.min(FOREIGN);
    let disturbed: Vec<&&Run> = counted.iter().filter(|r| r.foreign_pct + r.steal_pct > limit).collect();
    let by = |r: &&&Run| r.foreign_pct + r.steal_pct;
    let Some(worst) = disturbed.iter().max_by(|a, b| by(a).total_cmp(&by(b))) else { return };
    let why = if gate > limit {
        format!(": the gate was open (--foreign {gate:.0})")
    } else {
        ", at each attempt".to_owned()
    };
    out.push(NoteId::ForeignLoad.note(format!(
        "foreign load: {} of {} runs count although other processes, or the host, took more than {limit:.0} \
         % of the CPUs{why} (worst: {} % and {} %{}); end other programs, or measure later",
        disturbed.len(),
        counted.len(),
        share(worst.foreign_pct, 0),
        share(worst.steal_pct, 0),
        worst.foreign_by.first().map(|n| format!("; {n}")).unwrap_or_default()
    )));
}

/// Runs in which a limit of power held clocks, so that a governor's power is speed.
fn power_limits(head: &Head, counted: &[&Run], out: &mut Vec<Note>) {
    let uses = || {
        counted
            .iter()
            .flat_map(|r| r.limiting.iter().flat_map(move |l| l.power.iter().map(move |used| (*r, used))))
    };
    let names: BTreeSet<String> = uses().map(|(_, used)| used.name()).collect();
    for name in names {
        let own: Vec<(&Run, &PowerLimitUse)> = uses().filter(|(_, used)| used.name() == name).collect();
        let limited: Vec<&(&Run, &PowerLimitUse)> =
            own.iter().filter(|(_, used)| used.acting_pct > 0.0).collect();
        if let Some((run, used)) = limited.iter().max_by(|a, b| a.1.acting_pct.total_cmp(&b.1.acting_pct)) {
            let arm = |(i, arm): (usize, &String)| {
                let of = |runs: &mut dyn Iterator<Item = &Run>| runs.filter(|r| r.arm == i).count();
                let (held, all) = (of(&mut limited.iter().map(|l| l.0)), of(&mut own.iter().map(|o| o.0)));
                format!("{held} of {all} under {arm}")
            };
            let arms: Vec<String> = head.request.arms.iter().enumerate().map(arm).collect();
            let when = used.acting_from_s.zip(used.acting_until_s);
            let when =
                when.map_or_else(String::new, |(from, until)| format!(", from {from:.2} to {until:.2} s"));
            out.push(NoteId::PowerLimited.note(format!(
                "power limit: {name}, {:.2} W over {}, held clocks down in {} runs ({}), for {:.1} % of run {} at most\
                 {when}; there a governor's power is speed",
                used.limit_w,
                window(used.window_s),
                limited.len(),
                arms.join(", "),
                used.acting_pct,
                run.number
            )));
        }
        let unknown = own.iter().filter(|(_, used)| used.unknown_pct > 0.0).count();
        if unknown > 0 {
            out.push(NoteId::PowerLimitUnknown.note(format!(
                "power limit: whether {name} held clocks down is not known in {unknown} of {} runs: energy could not be read, or \
                 the machine was not watched for long enough to know an average over {}",
                own.len(),
                own.first().map_or_else(String::new, |(_, used)| window(used.window_s))
            )));
        }
    }
}

/// Runs in which CPUs were not as fast as they can be.
fn throttling(counted: &[&Run], out: &mut Vec<Note>) {
    let all = counted.len();
    let throttled = counted.iter().filter(|r| r.throttled > 0).count();
    if throttled > 0 {
        let shares = counted.iter().filter_map(|r| r.limiting.as_ref()?.throttling.as_ref());
        let longest = shares.map(Throttling::longest_pct).fold(0.0, f64::max);
        let longest = if longest > 0.0 {
            format!(", for {longest:.1} % of the time of a run at most")
        } else {
            String::new()
        };
        out.push(NoteId::Throttled.note(format!(
            "throttling: the CPUs were too hot in {throttled} of {all} runs and were slowed down{longest}; cool the \
             machine, or pause longer between runs (--settle)"
        )));
    }
    let mut slowed: BTreeMap<&String, usize> = BTreeMap::new();
    for what in counted.iter().flat_map(|r| &r.slowed_by) {
        *slowed.entry(what).or_default() += 1;
    }
    for (what, runs) in slowed {
        out.push(match runs {
            n if n == all => NoteId::AlwaysSlow
                .note(format!("slowed down: {what}, after all runs: heat, or a limit that was set before")),
            n => NoteId::SlowedDown.note(format!(
                "throttling: {what}, after {n} of {all} runs, not after the others; cool the machine, pause \
                 longer between runs (--settle), or find what sets the limit"
            )),
        });
    }
}

/// What the traced wakeups do not tell.
fn wakeups(counted: &[&Run], out: &mut Vec<Note>) {
    let traced: Vec<(&Run, &Wakeups)> =
        counted.iter().filter_map(|r| Some((*r, r.wakeups.as_ref()?))).collect();
    let fewer = |than: u64| traced.iter().filter(|(_, w)| w.all.count < than).count();
    let (no_p99, no_median) = (fewer(LEAST_FOR_P99), fewer(LEAST_FOR_MEDIAN));
    if no_p99 > 0 {
        out.push(NoteId::FewWakeups.note(format!(
            "wakeup latency: in {no_p99} of {} runs fewer than {LEAST_FOR_P99} wakeups of the benchmark's own processes were \
             seen, which is too few for a p99, in {no_median} fewer than {LEAST_FOR_MEDIAN}, too few for a median",
            traced.len()
        )));
    }
    let cpus: BTreeSet<u32> = traced.iter().flat_map(|(_, w)| &w.hidden_cpus).copied().collect();
    if !cpus.is_empty() {
        let hidden: u64 = traced.iter().map(|(_, w)| w.hidden).sum();
        let all = hidden + traced.iter().map(|(_, w)| w.all.count).sum::<u64>();
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        out.push(NoteId::HiddenWakeups.note(format!(
            "wakeup latency: on CPU {} tracing hides when tasks begin to run, mostly after an idle period; \
             its wakeups are left out, {} % of all",
            cpus.join(", "),
            share(100.0 * hidden as f64 / all.max(1) as f64, 0)
        )));
    }
    let full: Vec<(f64, &Run)> = traced.iter().filter_map(|(r, w)| Some((w.until_s?, *r))).collect();
    if let Some((until, run)) = full.iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
        out.push(NoteId::BuffersFull.note(format!(
            "wakeup latency: in {} of {} runs the trace buffers were full before the end, at the earliest after {until:.2} s of \
             {:.2} s (run {}): later wakeups are not counted; shorter runs would fit",
            full.len(),
            traced.len(),
            run.seconds,
            run.number
        )));
    }
}

fn few(head: &Head, benchmark: &BenchmarkReport, out: &mut Vec<Note>) {
    let cells = benchmark.metrics.first().map(|m| m.cells.as_slice()).unwrap_or_default();
    let least = cells.iter().map(|c| c.values.len()).min().unwrap_or(0);
    if least < FEW {
        let name = &benchmark.name;
        out.push(NoteId::FewRuns.note(format!(
            "too few runs: {name} has {least} of an arm; with fewer than {FEW} no difference can be \
             significant (--repeat)"
        )));
    }
    let wanted = head.request.repeat as usize;
    if least < wanted {
        out.push(
            NoteId::Unfinished.note(format!(
                "the session is not finished: {least} of {wanted} rounds of {}",
                benchmark.name
            )),
        );
    }
}

/// So many rounds have a least p, 2 / 2^rounds; times the number of questions it may be too much to show anything.
fn questions(benchmarks: &[BenchmarkReport], out: &mut Vec<Note>) {
    let cells = benchmarks.iter().flat_map(|b| &b.metrics).flat_map(|m| &m.cells);
    let asked: Vec<usize> = cells.filter(|c| c.p.is_some()).map(|c| c.rounds).collect();
    let least = |rounds: usize| 2.0 * 0.5_f64.powi(rounds as i32) * asked.len() as f64;
    let Some(most) = asked.iter().copied().max().filter(|most| *most >= FEW) else { return };
    if least(most) < SHOWN_P {
        return;
    }
    let wanted = (most..).find(|rounds| least(*rounds) < SHOWN_P);
    out.push(NoteId::ManyQuestions.note(format!(
        "too few rounds for so many questions: with {most} rounds no difference in {} can be significant; \
         {} rounds are enough (--repeat), or compare fewer arms and metrics",
        asked.len(),
        wanted.unwrap_or(most)
    )));
}

fn noise(benchmark: &BenchmarkReport, out: &mut Vec<Note>) {
    for metric in &benchmark.metrics {
        for cell in &metric.cells {
            let Some(m) = cell.median.as_ref().filter(|m| m.median > 0.0) else { continue };
            let spread = (m.max - m.min) / m.median;
            if spread > NOISY {
                out.push(NoteId::Noise.note(format!(
                    "noise: {} {} under {} runs from {:.4} to {:.4}, {:.0} % of its median",
                    benchmark.name,
                    metric.name,
                    cell.arm,
                    m.min,
                    m.max,
                    100.0 * spread
                )));
            }
        }
    }
}

/// Each value as a factor of its arm's median, in the order of time: what is left is not the arms' doing.
fn drift(benchmark: &BenchmarkReport, counted: &[&Run], out: &mut Vec<Note>) {
    for metric in &benchmark.metrics {
        let medians: Vec<Option<f64>> = metric.cells.iter().map(|c| median(&c.values)).collect();
        let of = |r: &&Run| {
            let middle = (*medians.get(r.arm)?).filter(|m| *m > 0.0)?;
            Some(r.values.get(&metric.name)? / middle)
        };
        let mine = counted.iter().filter(|r| r.benchmark == benchmark.name);
        let Some(trend) = Trend::of(&mine.filter_map(of).collect::<Vec<f64>>()) else { continue };
        if trend.p < TREND_P && trend.growth.abs() > TREND {
            out.push(NoteId::Drift.note(format!(
                "drift: {} {} {} by {:.0} % of its median from the first run to the last, under all arms; runs are compared \
                 within their round, so that it hides little, but find its cause",
                benchmark.name,
                metric.name,
                if trend.growth > 0.0 { "grows" } else { "falls" },
                100.0 * trend.growth.abs()
            )));
        }
    }
}

/// Loads that forbid every idle state but polling, so that the governor has no say.
fn limits(head: &Head, counted: &[&Run], out: &mut Vec<Note>) {
    let held = |r: &&&Run| {
        let ours = head.request.latency_limit_us.is_some_and(|us| us == 0);
        r.limit_us == Some(0) && !(ours && r.limited_by.is_empty())
    };
    let limited: Vec<&&Run> = counted.iter().filter(held).collect();
    if let Some(first) = limited.first() {
        let who =
            if first.limited_by.is_empty() { "somebody".to_owned() } else { first.limited_by.join(", ") };
        out.push(NoteId::LatencyLimitZero.note(format!(
            "latency limit: {who} holds a limit of 0 us in {} of {} runs (/dev/cpu_dma_latency): the CPUs only poll and the \
             governor is never asked, so this compares nothing; cyclictest does so unless it is given --laptop",
            limited.len(),
            counted.len()
        )));
    }
    let polled = |r: &&Run| {
        let all: f64 = r.states.iter().map(|s| s.entries_per_s).sum();
        let first = r.states.first().map_or(0.0, |s| s.entries_per_s);
        r.states.len() > 1 && all > 10.0 && first > 0.999 * all && r.limit_us != Some(0)
    };
    if !counted.is_empty() && counted.iter().all(polled) {
        out.push(NoteId::OnlyFirstState.note(
            "the CPUs entered only the first idle state, in all runs under all arms: the governors had no choice, or none \
             that differed; is a state disabled, or a limit set (--disable-state, --latency-limit)?"
                .to_owned(),
        ));
    }
}

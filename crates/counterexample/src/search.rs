// SPDX-License-Identifier: GPL-2.0-only
//! Looks for sequences on which one governor is worse than the other, and makes the best of them minimal.

use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_check::situations;
use idlewise_governor::GovernorError;
use idlewise_model::TapeCpu;
use idlewise_platform::Platform;
use idlewise_recording::CommandError;
use idlewise_recording::placement::Placement;
use idlewise_score::Better;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::arena::{Arena, Bar, Place};
use crate::period::Period;
use crate::report::{Counterexample, Found};
use crate::request::{CounterexampleRequest, LONGEST, Origin};
use crate::shrink::{MOST, plainness, shorten, shrink};
use crate::story::story;

/// Sequences that are drawn for each machine, unless told.
pub const ROUNDS: u64 = 1_500;
/// The machines that are searched, unless told: phones, a board, a laptop, servers, with few and with many states.
pub const MACHINES: [&str; 6] =
    ["pixel6", "rk3399", "hikey960", "jasper-lake", "skylake-sp", "sapphire-rapids"];

/// Sequences of a job: loading two governors costs as much as a few hundred idle periods.
const ROUNDS_PER_JOB: u64 = 50;
/// The best of a machine, which are made shorter, and then the clearest of the shortest of all, which are made minimal.
const KEPT: usize = 4;
/// Lengths of the pieces of a recording that are tried, the shortest first.
const WINDOWS: [usize; 4] = [12, 30, 80, LONGEST];
/// No drawn idle period is shorter, ns: an interrupt's entry and exit take about so long.
const SHORTEST_NS: u64 = 5_000;
/// None is longer, ns: no idle state needs so long, and a governor that keeps the tick is asked at each.
const LONGEST_NS: u64 = 100_000_000;
/// A sequence that is worse by more is no better an example, % or percentage points.
const ENOUGH: f64 = 50.0;
/// While sequences are made minimal, progress is reported after so many idle periods.
const TOLD_EVERY: usize = 1_000;
/// Busy times between drawn idle periods, ns.
const BUSY_NS: [u64; 3] = [100_000, 1_000_000, 3_300_000];

/// A sequence on which the first is worse, before it is made minimal and after.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Hit {
    /// Number of the sequence, or of the piece of a recording.
    number: u64,
    worse: f64,
    /// Whether the two choose differently in the last round.
    differ: bool,
    periods: Vec<Period>,
}

/// A CPU of a machine, and what is tried on it.
struct Ground<'p> {
    platform: &'p Platform,
    place: Place<'p>,
    /// What comes before the number of a sequence in words.
    named: String,
    trials: Trials,
}

enum Trials {
    Drawn { seed: u64, rounds: u64 },
    Recorded(Vec<Period>),
}

/// Ticks per second where neither request nor machine says it.
const USUAL_HZ: u32 = 250;

/// Hears what is done, how much of it, and of how much.
pub type SearchProgress<'p> = &'p (dyn Fn(&str, usize, usize) + Sync);

/// The shortest sequence found on which the first governor of `request` is worse.
///
/// # Errors
/// [`CommandError`] when a recording cannot be replayed, a governor does not load, or the measure says not which way is better.
pub fn find(
    request: &CounterexampleRequest,
    progress: SearchProgress<'_>,
) -> Result<Counterexample, CommandError> {
    if request.measure.better == Better::Neither {
        let why = "says not which way is better; name another, such as energy, latency_mean or too_deep";
        return Err(CommandError::option("--metric", request.measure.name, why));
    }
    match &request.origin {
        Origin::Drawn { machines, seed, rounds } => {
            let trials = || Trials::Drawn { seed: *seed, rounds: *rounds };
            let grounds = machines.iter().flat_map(|platform| {
                platform.clusters.iter().filter(|c| c.table.len() > 1).map(move |cluster| Ground {
                    platform,
                    place: Place {
                        cluster,
                        // A machine with any number of CPUs lists none.
                        cpu: cluster.cpus.first().copied().unwrap_or(0),
                        hz: request.hz.or(platform.hz).unwrap_or(USUAL_HZ),
                    },
                    named: format!("drawn with seed {seed}, sequence"),
                    trials: trials(),
                })
            });
            search(request, &grounds.collect::<Vec<_>>(), progress)
        }
        Origin::Recordings { traces, setup } => {
            let placements: Vec<Placement> =
                traces.iter().map(|trace| Placement::open_one(trace, setup)).collect::<Result<_, _>>()?;
            let mut grounds = Vec::new();
            for placement in &placements {
                grounds.extend(recorded(request, placement)?);
            }
            search(request, &grounds, progress)
        }
    }
}

/// The usable CPUs of a recording.
fn recorded<'p>(
    request: &CounterexampleRequest,
    placement: &'p Placement,
) -> Result<Vec<Ground<'p>>, CommandError> {
    let recording = placement.first()?;
    let mut out = Vec::new();
    for workload in placement.workloads(recording)? {
        let usable = recording.tape.cpus.iter().any(|c| c.cpu == workload.cpu && c.usable == TapeCpu::Usable);
        let Some(cluster) = placement.place(workload.cpu).filter(|_| usable) else { continue };
        let mut periods = Vec::with_capacity(workload.events.len());
        let mut before_ns = recording.tape.source.first_ns;
        for block in workload.events.blocks() {
            for event in &*block? {
                periods.push(Period::of(event, before_ns));
                before_ns = event.at_ns;
            }
        }
        let ticks = (1_000_000_000 + workload.grid.period_ns / 2) / workload.grid.period_ns;
        out.push(Ground {
            platform: &placement.platform,
            place: Place {
                cluster,
                cpu: workload.cpu,
                hz: request.hz.or(u32::try_from(ticks).ok()).unwrap_or(USUAL_HZ),
            },
            named: format!("{}, CPU {}, idle period", recording.tape.source.name, workload.cpu),
            trials: Trials::Recorded(periods),
        });
    }
    Ok(out)
}

fn search(
    request: &CounterexampleRequest,
    grounds: &[Ground<'_>],
    progress: SearchProgress<'_>,
) -> Result<Counterexample, CommandError> {
    let longest = LONGEST / request.times.clamp(1, LONGEST);
    let bar = Bar { measure: request.measure, by: request.by };
    let mut jobs: Vec<(usize, u64, u64)> = Vec::new();
    for (at, ground) in grounds.iter().enumerate() {
        let all = ground.trials.count(longest);
        let starts = (0..all).step_by(ROUNDS_PER_JOB as usize);
        jobs.extend(starts.map(|from| (at, from, (from + ROUNDS_PER_JOB).min(all))));
    }
    let done = AtomicUsize::new(0);
    let of = jobs.len();
    progress("searching", 0, of);
    let hits: Vec<(usize, Vec<Hit>)> = jobs
        .par_iter()
        .map(|(at, from, to)| {
            let hits =
                request.on(&grounds[*at], |arena| grounds[*at].try_all(arena, bar, longest, (*from, *to)))?;
            progress("searching", done.fetch_add(1, Ordering::Relaxed) + 1, of);
            Ok((*at, hits))
        })
        .collect::<Result<_, GovernorError>>()?;
    let mut best: Vec<(usize, Hit)> = Vec::new();
    for (at, ground) in grounds.iter().enumerate() {
        let mut own: Vec<Hit> =
            hits.iter().filter(|(a, _)| *a == at).flat_map(|(_, hits)| hits.clone()).collect();
        own.sort_by(|x, y| {
            let ranks = ground.rank(x).total_cmp(&ground.rank(y));
            y.differ.cmp(&x.differ).then(ranks).then(x.number.cmp(&y.number))
        });
        best.extend(own.into_iter().take(KEPT).map(|hit| (at, hit)));
    }
    let shorter = Effort::new("making shorter", best.len(), progress);
    let mut best = request.each_smaller(grounds, bar, best, shorten, &shorter)?;
    let length = |hit: &Hit| hit.periods.len();
    best.sort_by(|(x, one), (y, other)| {
        let clearer = other.worse.min(ENOUGH).total_cmp(&one.worse.min(ENOUGH));
        let differs = other.differ.cmp(&one.differ);
        let shorter = length(one).cmp(&length(other));
        differs.then(shorter).then(clearer).then(x.cmp(y)).then(one.number.cmp(&other.number))
    });
    best.truncate(KEPT);
    let minimal = Effort::new("making minimal", best.len(), progress);
    let best = request.each_smaller(grounds, bar, best, shrink, &minimal)?;
    let shortest = best.into_iter().min_by(|(x, one), (y, other)| {
        let plain = |hit: &Hit| hit.periods.iter().map(plainness).sum::<u32>();
        let plainer = plain(one).cmp(&plain(other));
        let differs = other.differ.cmp(&one.differ);
        let shorter = length(one).cmp(&length(other));
        differs.then(shorter).then(plainer).then(x.cmp(y)).then(one.number.cmp(&other.number))
    });
    let tried = grounds.iter().map(|g| g.trials.count(longest)).sum();
    let found = match shortest {
        None => None,
        Some((at, hit)) => {
            let ground = &grounds[at];
            let values = request.on(ground, |arena| {
                let v = arena.value(bar.measure, &hit.periods)?.all;
                Ok((v.a, v.b, story(arena, ground.place, &hit.periods, request.times)?))
            })?;
            let source = format!("{} {}", ground.named, hit.number);
            Some(Found::new((bar, request.times), ground.platform, ground.place, source, hit.periods, values))
        }
    };
    Ok(Counterexample::new(request, tried, found))
}

/// How far sequences are made smaller: idle periods that were played for that, and of how many at most.
struct Effort<'p> {
    what: &'static str,
    of: usize,
    played: AtomicUsize,
    progress: SearchProgress<'p>,
}

impl<'p> Effort<'p> {
    fn new(what: &'static str, sequences: usize, progress: SearchProgress<'p>) -> Self {
        Self { what, of: sequences * MOST, played: AtomicUsize::new(0), progress }
    }

    fn plays(&self, periods: usize) {
        let before = self.played.fetch_add(periods, Ordering::Relaxed);
        let played = before + periods;
        // To say it costs more than a short sequence does.
        if played / TOLD_EVERY != before / TOLD_EVERY {
            (self.progress)(self.what, played, self.of);
        }
    }
}

/// [`shorten`] or [`shrink`].
type Smaller = fn(
    Vec<Period>,
    usize,
    &mut dyn FnMut(&[Period]) -> Result<bool, GovernorError>,
) -> Result<Vec<Period>, GovernorError>;

impl CounterexampleRequest {
    /// Makes each of `hits` as `smaller` does, as long as it shows what it does on its ground: where the choices differ, they go on to.
    fn each_smaller(
        &self,
        grounds: &[Ground<'_>],
        bar: Bar,
        hits: Vec<(usize, Hit)>,
        smaller: Smaller,
        effort: &Effort<'_>,
    ) -> Result<Vec<(usize, Hit)>, GovernorError> {
        let one = |(at, hit)| Ok((at, self.smaller(&grounds[at], bar, hit, smaller, effort)?));
        hits.into_par_iter().map(one).collect()
    }

    fn smaller(
        &self,
        ground: &Ground<'_>,
        bar: Bar,
        hit: Hit,
        smaller: Smaller,
        effort: &Effort<'_>,
    ) -> Result<Hit, GovernorError> {
        let mut played = 0;
        let left = self.on(ground, |arena| {
            let number = hit.number;
            let mut shows = |periods: &[Period]| {
                let values = arena.value(bar.measure, periods)?;
                let length = (periods.len() * self.times).min(MOST - played);
                played += length;
                effort.plays(length);
                Ok::<bool, GovernorError>(bar.is_met(&values) && (values.differ || !hit.differ))
            };
            let periods = smaller(hit.periods, self.times, &mut shows)?;
            let worse = bar.worse(arena.value(bar.measure, &periods)?.all);
            Ok(Hit { number, worse, periods, ..hit })
        })?;
        effort.plays(MOST - played);
        Ok(left)
    }

    /// Does `job` with both governors on a ground, where a foreign one may crash.
    fn on<'p, T>(
        &self,
        ground: &Ground<'p>,
        job: impl FnOnce(&mut Arena<'p>) -> Result<T, GovernorError>,
    ) -> Result<T, GovernorError> {
        Arena::run([&self.a, &self.b], ground.place, self.times, job)
    }
}

impl Trials {
    /// How many there are.
    fn count(&self, longest: usize) -> u64 {
        match self {
            Self::Drawn { rounds, .. } => *rounds,
            Self::Recorded(periods) => {
                WINDOWS.iter().map(|w| windows(periods.len(), (*w).min(longest)) as u64).sum()
            }
        }
    }
}

/// How many pieces of `length` a recording of `all` idle periods has; each begins in the middle of the one before.
fn windows(all: usize, length: usize) -> usize {
    all.div_ceil(step(length))
}

/// From one piece of `length` to the next.
fn step(length: usize) -> usize {
    (length / 2).max(1)
}

impl Ground<'_> {
    /// Less is tried first: short pieces of a recording, then what shows it best.
    fn rank(&self, hit: &Hit) -> f64 {
        match self.trials {
            Trials::Drawn { .. } => -hit.worse.min(ENOUGH),
            Trials::Recorded(_) => hit.periods.len() as f64 * 1e3 - hit.worse.min(ENOUGH),
        }
    }

    fn try_all(
        &self,
        arena: &mut Arena<'_>,
        bar: Bar,
        longest: usize,
        (from, to): (u64, u64),
    ) -> Result<Vec<Hit>, GovernorError> {
        let mut hits = Vec::new();
        let (numbers, sequences): (Vec<u64>, Vec<Vec<Period>>) =
            (from..to).map(|n| self.trial(n, longest)).unzip();
        let all = arena.values(bar.measure, &sequences)?;
        for ((number, periods), rounds) in numbers.into_iter().zip(sequences).zip(all) {
            if bar.is_met(&rounds) {
                hits.push(Hit { number, worse: bar.worse(rounds.all), differ: rounds.differ, periods });
            }
        }
        Ok(hits)
    }

    /// Trial number `n`: what it is called, and its idle periods.
    fn trial(&self, n: u64, longest: usize) -> (u64, Vec<Period>) {
        match &self.trials {
            Trials::Drawn { seed, .. } => (n, drawn(&self.place, *seed, n, longest)),
            Trials::Recorded(periods) => {
                let mut n = n as usize;
                for length in WINDOWS.map(|w| w.min(longest)) {
                    let there = windows(periods.len(), length);
                    if n < there {
                        let from = n * step(length);
                        let to = (from + length).min(periods.len());
                        return (from as u64, periods[from..to].to_vec());
                    }
                    n -= there;
                }
                unreachable!("a trial beyond the last")
            }
        }
    }
}

/// A drawn sequence: idle periods as they come, or a pattern of a few of them again and again, from which governors learn.
fn drawn(place: &Place<'_>, seed: u64, n: u64, longest: usize) -> Vec<Period> {
    let (pattern, times) = [(64, 1), (1, 24), (2, 20), (5, 10)][(n % 4) as usize];
    let situations = situations(&place.cluster.table, place.hz, seed, n, pattern);
    let farthest_ns = 3_600_000_000_000;
    let period = |(i, s): (usize, &idlewise_check::Situation)| {
        let timer_ns = u64::try_from(s.timer_ns.max(SHORTEST_NS.cast_signed())).ok();
        let timer_ns = timer_ns.filter(|ns| *ns <= farthest_ns);
        let woken_ns = s.woken_ns.clamp(SHORTEST_NS, LONGEST_NS);
        Period {
            busy_ns: BUSY_NS[(n as usize / 4 + i) % BUSY_NS.len()],
            woken_ns: timer_ns.map_or(woken_ns, |timer_ns| woken_ns.min(timer_ns)),
            timer_ns,
            util: u16::try_from(s.util.min(1024)).unwrap_or(u16::MAX),
            iowait: u16::try_from(s.iowait).unwrap_or(u16::MAX),
        }
    };
    let once: Vec<Period> = situations.iter().enumerate().map(period).collect();
    let mut all = once.repeat(times);
    all.truncate(longest);
    all
}

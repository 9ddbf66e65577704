// SPDX-License-Identifier: GPL-2.0-only
//! The best fixed policy in hindsight: what could be learnt from a whole recording about how long idle periods last in each context.

use std::collections::BTreeMap;
use std::iter;

use idlewise_governor::{Choice, Device, Inputs};
use idlewise_model::{IdleTable, MAX_STATES, Prices, TickGrid};

use crate::{Chooser, Moment, Oracle, TickAhead, choosable};

/// Ticks of one idle period before which a policy decides apart; from the last on it goes by what is left on average.
const TICKS: usize = 6;
/// A context that fewer idle periods are in tells by the next coarser one.
const FEWEST: u64 = 8;

/// What a CPU knows when an idle period begins: how finely that is divided (0 coarsest), time to the next timer, and to the next tick
/// before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Context {
    level: u8,
    timer: u8,
    tick: u8,
}

impl Context {
    /// It and all that are coarser.
    fn and_coarser(self) -> impl Iterator<Item = Self> {
        iter::successors(Some(self), |context| context.coarser())
    }

    /// The next coarser one; nothing where it holds all.
    fn coarser(self) -> Option<Self> {
        match self.level {
            3 => Some(Self { level: 2, tick: 0, ..self }),
            2 => Some(Self { level: 1, timer: self.timer / 4, ..self }),
            1 => Some(Self::default()),
            0 => None,
            level => unreachable!("level {level} of 3"),
        }
    }
}

/// Energies, fJ (or the relative equivalent), by state.
type ByState = [u128; MAX_STATES];

/// Sums over the idle periods of a context that were not over at a tick.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    periods: u64,
    /// In each state to the end of the idle period, without a tick.
    stopped: ByState,
    /// In each state to the next tick or the end; for the last of the ticks to the end of the idle period, tick for tick.
    kept: ByState,
    /// What the ticks that come until then take of a running CPU.
    ticks: u128,
}

/// What is learnt, by context.
type Learnt = BTreeMap<Context, [Rest; TICKS]>;

/// Sees idle periods as they come.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    wake_at_ns: u64,
    finest: Context,
    /// Ticks since it began.
    ticks: usize,
    /// When the next one was due at the last question.
    due_ns: u64,
}

impl Watch {
    /// The CPU asks; whether an idle period began with that.
    fn asks(&mut self, inputs: &Inputs, moment: &Moment, tick: TickAhead) -> bool {
        let came = moment.start_ns > std::mem::replace(&mut self.due_ns, tick.due_ns);
        if self.due_ns > 0 && self.wake_at_ns == moment.wake_at_ns {
            self.ticks += usize::from(came);
            return false;
        }
        let timer = quarter_octave(inputs.sleep_length_ns);
        let comes = !inputs.tick_stopped && inputs.delta_tick_ns < inputs.sleep_length_ns;
        let next = if comes { quarter_octave(inputs.delta_tick_ns) / 4 + 1 } else { 0 };
        let finest = Context { level: 3, timer, tick: next };
        *self = Self { wake_at_ns: moment.wake_at_ns, finest, ticks: 0, due_ns: tick.due_ns };
        true
    }
}

/// In which quarter of which octave a time is; one number below 16 us, and one from 17 s on.
fn quarter_octave(ns: i64) -> u8 {
    let n = (ns.max(0) >> 12).clamp(3, 1 << 22);
    let octave = n.ilog2() - 1;
    // Two bits below the leading one.
    (octave * 4 + ((n << 1 >> octave) as u32 & 3)) as u8
}

/// Goes through a recording as the oracle does, and adds up what each choice would cost in each context.
#[derive(Debug)]
pub struct Lesson<'t> {
    oracle: Oracle<'t>,
    prices: Prices,
    states: usize,
    grid: TickGrid,
    handler_ns: u64,
    watch: Watch,
    learnt: Learnt,
}

impl<'t> Lesson<'t> {
    /// For a CPU with the states of `table`, whose idle periods cost `prices` and whose ticks lie on `grid`, with handlers that run for
    /// `handler_ns`.
    #[must_use]
    pub fn new(table: &'t IdleTable, prices: Prices, grid: TickGrid, handler_ns: u64) -> Self {
        let (oracle, watch) = (Oracle::new(table, Some(prices)), Watch::default());
        Self { oracle, prices, states: table.len(), grid, handler_ns, watch, learnt: Learnt::new() }
    }

    /// Adds an idle period from `start_ns` to `wake_ns` before which the next tick is due at `due_ns`.
    fn add(&mut self, start_ns: u64, wake_ns: u64, due_ns: u64) {
        let mut rests = [Rest::default(); TICKS];
        let (mut at_ns, mut due_ns) = (start_ns, due_ns);
        let costs = self.prices.costs;
        let awake =
            self.prices.active_fj(self.handler_ns + u64::from(costs.again_ns) + u64::from(costs.decision_ns));
        for (n, rest) in rests.iter_mut().enumerate() {
            rest.periods = 1;
            let last = n + 1 == TICKS;
            let ticks = if due_ns >= wake_ns { 0 } else { (wake_ns - due_ns).div_ceil(self.grid.period_ns) };
            let ticks = if last { ticks } else { ticks.min(1) };
            for state in 0..self.states {
                let fj =
                    |from_ns: u64, to_ns: u64| self.prices.states[state].of(to_ns.saturating_sub(from_ns));
                rest.stopped[state] = fj(at_ns, wake_ns);
                rest.kept[state] = fj(at_ns, wake_ns.min(due_ns));
                if last && ticks > 0 {
                    let last_due_ns = due_ns + (ticks - 1) * self.grid.period_ns;
                    rest.kept[state] += u128::from(ticks - 1) * fj(self.handler_ns, self.grid.period_ns);
                    if last_due_ns + self.handler_ns <= wake_ns {
                        rest.kept[state] += fj(last_due_ns + self.handler_ns, wake_ns);
                    }
                }
            }
            rest.ticks = u128::from(ticks) * awake;
            if ticks == 0 {
                break;
            }
            at_ns = due_ns + self.handler_ns;
            if at_ns > wake_ns {
                // It ended while the tick was handled: the CPU is not asked again.
                break;
            }
            due_ns += self.grid.period_ns;
        }
        for context in self.watch.finest.and_coarser() {
            let all = self.learnt.entry(context).or_insert([Rest::default(); TICKS]);
            for (sum, one) in all.iter_mut().zip(&rests) {
                sum.add(one);
            }
        }
    }
}

impl Rest {
    fn add(&mut self, one: &Self) {
        self.periods += one.periods;
        self.ticks += one.ticks;
        for state in 0..MAX_STATES {
            self.stopped[state] += one.stopped[state];
            self.kept[state] += one.kept[state];
        }
    }
}

impl Chooser for Lesson<'_> {
    const FORESEES: bool = true;

    fn select(&mut self, inputs: &Inputs, moment: &Moment, tick: TickAhead) -> Choice {
        if self.watch.asks(inputs, moment, tick) {
            let due_ns = if inputs.tick_stopped { self.grid.after(moment.start_ns) } else { tick.due_ns };
            self.add(moment.start_ns, moment.wake_at_ns, due_ns);
        }
        self.oracle.select(inputs, moment, tick)
    }

    fn reflect(&mut self, entered: usize, now_ns: u64) {
        self.oracle.reflect(entered, now_ns);
    }

    fn device(&mut self) -> &mut Device {
        self.oracle.device()
    }

    fn set_disabled(&mut self, mask: u16) {
        self.oracle.set_disabled(mask);
    }
}

/// Takes what costs least on average over all idle periods of the recording that are in the same context: a state, with the tick kept
/// or stopped, and decides anew at each tick that it kept. It knows of an idle period what its context tells, not when it ends; but it
/// knows the whole recording. A governor that learns can be better where the load changes, and no governor that starts with nothing
/// can be expected to be as good where it does not.
///
/// A tick that stays stopped over several idle periods of a visit counts as worth what it saves in the first of them.
#[derive(Debug)]
pub struct Hindsight<'t> {
    table: &'t IdleTable,
    learnt: Learnt,
    /// By context and tick: the least that it costs to go on, summed over idle periods.
    least: BTreeMap<Context, [u128; TICKS + 1]>,
    stop_fj: u128,
    watch: Watch,
    disabled: u16,
    device: Device,
}

impl<'t> Hindsight<'t> {
    /// With what `lesson` has learnt.
    #[must_use]
    pub fn of(lesson: Lesson<'t>, table: &'t IdleTable) -> Self {
        let stop_fj = lesson.prices.active_fj(lesson.prices.costs.tick_stop_ns.into());
        let among = choosable(table, table.disabled_by_default(), i64::MAX);
        let mut least = BTreeMap::new();
        let mut plans: BTreeMap<Context, [Plan; TICKS]> = BTreeMap::new();
        // From coarse to fine: where too little is known, it is done as in the coarser context.
        for (context, rests) in &lesson.learnt {
            let coarser = context.coarser().and_then(|context| plans.get(&context)).copied();
            let mut sums = [0; TICKS + 1];
            let mut own = [Plan::default(); TICKS];
            for n in (0..TICKS).rev() {
                let rest = &rests[n];
                own[n] = match coarser {
                    Some(coarser) if rest.periods < FEWEST => coarser[n],
                    _ => rest.best(among, stop_fj, sums[n + 1]),
                };
                sums[n] = rest.cost(own[n], stop_fj, sums[n + 1]);
            }
            plans.insert(*context, own);
            least.insert(*context, sums);
        }
        Self {
            table,
            learnt: lesson.learnt,
            least,
            stop_fj,
            watch: Watch::default(),
            disabled: 0,
            device: Device::default(),
        }
    }
}

/// What is done: a state, with the tick stopped or kept.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    state: usize,
    stop_tick: bool,
}

impl Rest {
    /// What `plan` costs where going on after a tick costs `later`, fJ, summed over idle periods.
    fn cost(&self, plan: Plan, stop_fj: u128, later: u128) -> u128 {
        if plan.stop_tick {
            self.stopped[plan.state] + u128::from(self.periods) * stop_fj
        } else {
            self.kept[plan.state] + self.ticks + later
        }
    }

    /// The cheapest of `among`, the deepest of several, with the tick kept where both cost the same.
    fn best(&self, among: u16, stop_fj: u128, later: u128) -> Plan {
        let plans = [true, false].map(|stop_tick| Plan { state: self.cheapest(among, stop_tick), stop_tick });
        let [stop, keep] = plans.map(|plan| self.cost(plan, stop_fj, later));
        plans[usize::from(keep <= stop)]
    }

    /// The cheapest state of `among` with the tick stopped or kept, the deepest of several.
    fn cheapest(&self, among: u16, stopped: bool) -> usize {
        let all = if stopped { &self.stopped } else { &self.kept };
        let able = all.iter().enumerate().filter(|(i, _)| among >> i & 1 == 1);
        let best = able.reduce(|best, other| if other.1 <= best.1 { other } else { best });
        let Some((state, _)) = best else { unreachable!("something can always be chosen") };
        state
    }
}

impl Hindsight<'_> {
    /// What is known, from fine to coarse, of idle periods as the one at hand that were not over at tick number `n`: what is left of
    /// them, and what going on after the next tick costs.
    fn known(&self, n: usize) -> impl Iterator<Item = (&Rest, u128)> {
        let found = move |c: Context| Some((&self.learnt.get(&c)?[n], self.least.get(&c)?[n + 1]));
        self.watch.finest.and_coarser().filter_map(found)
    }
}

impl Chooser for Hindsight<'_> {
    /// It tells idle periods apart by their ends.
    const FORESEES: bool = true;

    fn select(&mut self, inputs: &Inputs, moment: &Moment, tick: TickAhead) -> Choice {
        let begins = self.watch.asks(inputs, moment, tick);
        let among = choosable(self.table, self.disabled, moment.latency_limit_ns);
        let ticks = if inputs.tick_stopped { 0 } else { self.watch.ticks.min(TICKS - 1) };
        // Of the finest context with enough idle periods that were not over by then, or of all that there are; where there is none, of
        // shorter ones.
        let enough = |n| self.known(n).find(|(rest, _)| rest.periods >= FEWEST);
        let any = |n| self.known(n).last().filter(|(rest, _)| rest.periods > 0);
        let found = (0..=ticks).rev().find_map(|n| enough(n).or_else(|| any(n)));
        let Some((rest, later)) = found else { unreachable!("the lesson saw the first idle period, too") };
        let plan = if inputs.tick_stopped || !tick.may_stop {
            Plan { state: rest.cheapest(among, inputs.tick_stopped), stop_tick: false }
        } else {
            rest.best(among, self.stop_fj, later)
        };
        let (index, stop_tick) = (plan.state as i32, plan.stop_tick);
        Choice { index, stop_tick, asked_sleep_length: begins }
    }

    fn reflect(&mut self, _entered: usize, _now_ns: u64) {
        self.device.got_tick = false;
    }

    fn device(&mut self) -> &mut Device {
        &mut self.device
    }

    fn set_disabled(&mut self, mask: u16) {
        self.disabled = mask;
    }
}

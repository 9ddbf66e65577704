// SPDX-License-Identifier: GPL-2.0-only
//! The best fixed policy in hindsight: what could be learnt from a whole recording about how long idle periods last in each context.

use std::collections::BTreeMap;

use idlewise_governor::{Choice, Device, Inputs};
use idlewise_model::{IdleTable, MAX_STATES, Prices, TickGrid};

use crate::{Chooser, Moment, Oracle, TickAhead, choosable};

/// Ticks of one idle period before which a policy decides apart; from the last on it goes by what is left on average.
const TICKS: usize = 6;
/// A context that fewer idle periods are in tells by the next coarser one.
const FEWEST: u64 = 8;

/// What a CPU knows when an idle period begins: how finely that is divided, time to the next timer, and to the next tick
/// before it.
type Context = (u8, u8, u8);

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
    /// From fine to coarse; the last is all that there is.
    contexts: [Context; 4],
    /// Questions since it began.
    asked: usize,
}

impl Watch {
    /// The CPU asks; whether an idle period began with that.
    fn asks(&mut self, inputs: &Inputs, moment: &Moment) -> bool {
        if self.asked > 0 && self.wake_at_ns == moment.wake_at_ns {
            self.asked += 1;
            return false;
        }
        let timer = quarter_octave(inputs.sleep_length_ns);
        let comes = !inputs.tick_stopped && inputs.delta_tick_ns < inputs.sleep_length_ns;
        let tick = if comes { quarter_octave(inputs.delta_tick_ns) / 4 + 1 } else { 0 };
        let contexts = [(3, timer, tick), (2, timer, 0), (1, timer / 4, 0), (0, 0, 0)];
        *self = Self { wake_at_ns: moment.wake_at_ns, contexts, asked: 1 };
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
            let (ticks, end_ns) = if last { (ticks, due_ns) } else { (ticks.min(1), due_ns) };
            for state in 0..self.states {
                let fj =
                    |from_ns: u64, to_ns: u64| self.prices.states[state].of(to_ns.saturating_sub(from_ns));
                rest.stopped[state] = fj(at_ns, wake_ns);
                rest.kept[state] = fj(at_ns, wake_ns.min(end_ns));
                if last && ticks > 0 {
                    let last_due_ns = due_ns + (ticks - 1) * self.grid.period_ns;
                    rest.kept[state] += u128::from(ticks - 1) * fj(self.handler_ns, self.grid.period_ns)
                        + fj(last_due_ns + self.handler_ns, wake_ns);
                }
            }
            rest.ticks = u128::from(ticks) * awake;
            if ticks == 0 {
                break;
            }
            at_ns = due_ns + self.handler_ns;
            due_ns += self.grid.period_ns;
        }
        for context in self.watch.contexts {
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
        if self.watch.asks(inputs, moment) {
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
        let solved = |rests: &[Rest; TICKS]| {
            let mut least = [0; TICKS + 1];
            for n in (0..TICKS).rev() {
                let stopped = rests[n].cheapest(among, true).1 + u128::from(rests[n].periods) * stop_fj;
                least[n] = stopped.min(rests[n].cheapest(among, false).1 + rests[n].ticks + least[n + 1]);
            }
            least
        };
        let least = lesson.learnt.iter().map(|(context, rests)| (*context, solved(rests))).collect();
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

impl Rest {
    /// The cheapest state of `among` with the tick stopped or kept, the deepest of several, and what it costs.
    fn cheapest(&self, among: u16, stopped: bool) -> (usize, u128) {
        let all = if stopped { &self.stopped } else { &self.kept };
        let able = all.iter().enumerate().filter(|(i, _)| among >> i & 1 == 1);
        let best = able.reduce(|best, other| if other.1 <= best.1 { other } else { best });
        let Some((state, fj)) = best else { unreachable!("something can always be chosen") };
        (state, *fj)
    }
}

impl Chooser for Hindsight<'_> {
    /// It tells idle periods apart by their ends.
    const FORESEES: bool = true;

    fn select(&mut self, inputs: &Inputs, moment: &Moment, tick: TickAhead) -> Choice {
        let begins = self.watch.asks(inputs, moment);
        let among = choosable(self.table, self.disabled, moment.latency_limit_ns);
        let known = |context: &Context| Some((self.learnt.get(context)?, self.least.get(context)?));
        let enough = self.watch.contexts.iter().filter_map(known).find(|(r, _)| r[0].periods >= FEWEST);
        let Some((rests, least)) = enough.or_else(|| known(&self.watch.contexts[3])) else {
            unreachable!("the lesson saw the same idle periods")
        };
        let n = if inputs.tick_stopped { 0 } else { (self.watch.asked - 1).min(TICKS - 1) };
        // Where no idle period was left, as far as the last that one was.
        let n = (0..=n).rev().find(|n| rests[*n].periods > 0).unwrap_or_else(|| unreachable!("one began"));
        let rest = &rests[n];
        let (deep, stopped) = rest.cheapest(among, true);
        let (shallow, kept) = rest.cheapest(among, false);
        let stopped = stopped + u128::from(rest.periods) * self.stop_fj;
        let stop_tick = tick.may_stop && stopped < kept + rest.ticks + least[n + 1];
        let index = if inputs.tick_stopped || stop_tick { deep } else { shallow } as i32;
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

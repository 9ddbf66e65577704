// SPDX-License-Identifier: GPL-2.0-only
//! A governor led through the decisions of a kernel's governor.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use idlewise_governor::{Choice, Device, GovernorError, Instance, Loader, Slot};
use idlewise_idle::{Chooser, Hosted, Moment, NEVER_AT_NS, TickAhead, Timers};

use crate::agreement::{Agreement, StateKnown};
use crate::decision::{
    Answer, Decision, Decisions, DeviceState, Outcome, Place, PollLimitAt, Shown, Source, Step, TickSeen,
};

/// Averages of governors keep 7/8 of what they were at each decision, so after these 40 less than 1/200 is left of the state from
/// before a table.
const FADED_AFTER: u64 = 40;

/// The governor that keeps nothing but what counts towards the next change of state, and counts from 0 after each
/// (`governor-behaviour.md` 2).
const COUNTS_FROM_EACH_MOVE: &str = "ladder";

/// Leads a new copy of a governor through `decisions` and compares each choice.
///
/// In which state the kernel's governor was when the recording began may not be known. So one more copy follows for each of
/// [`Decisions::histories`], which it has gone through before: a decision on which the copies differ depends on that state, and
/// is counted apart. Ladder's state is known wherever the kernel's changes the idle state: from there on it counts from 0. On a
/// tape, which lacks choices that a reschedule took back and has residencies a little too long, its copies do so, too, where they
/// have not made that change themselves; that decision counts as different. Where a [`Step::State`] says the state, all copies
/// take it over, and nothing depends on another from then on.
///
/// While the utilisation may be off ([`Doubts::util_off`]), two copies are given the most and the least that it can be.
///
/// # Errors
/// The governor cannot be loaded, or refuses a CPU; or the decisions cannot be read.
pub fn follow<D: Decisions>(loader: &Loader<'_>, decisions: &D) -> Result<Agreement, GovernorError> {
    let mut fresh = GovernorCopy::new(loader, decisions)?;
    let mut others = Vec::new();
    for history in decisions.histories() {
        let mut other = GovernorCopy::new(loader, decisions)?;
        for step in history {
            other.step(&step.map_err(Into::into)?)?;
        }
        others.push(other);
    }
    let histories = others.len();
    if decisions.doubts_util() {
        for _ in histories..UTIL_ENDS.len() {
            others.push(GovernorCopy::new(loader, decisions)?);
        }
    }
    let mut agreement = Agreement::new(decisions.source());
    let mut fades = decisions.source() == Source::DecisionTable && !others.is_empty();
    let (mut decided, mut fading) = (0, Vec::new());
    for step in decisions.steps() {
        let step = step.map_err(Into::into)?;
        let here = fresh.step(&step)?;
        let mut certain = true;
        // A governor that has been in charge is not put in charge again: it would forget.
        let enabled = matches!(step, Step::Enabled { .. });
        for (n, other) in others.iter_mut().enumerate() {
            if n >= histories || !enabled {
                certain &= other.step(&with_util_at(UTIL_ENDS.get(n), &step))? == here;
            }
        }
        if let (Step::Decided(decision), Some(here)) = (&step, here) {
            if decision.doubts.util_off == 0 {
                others.truncate(histories);
            }
            decided += 1;
            fades &= decided <= FADED_AFTER && !fresh.has_kernels_state;
            let state = match certain && here.state_known {
                false => StateKnown::No,
                true if fades => StateKnown::Fades,
                true => StateKnown::Yes,
            };
            if state == StateKnown::Fades {
                fading.push((*decision, here.answer));
            } else {
                count_fading(&mut agreement, &mut fading);
                agreement.count(decision, here.answer, state);
            }
        }
    }
    count_fading(&mut agreement, &mut fading);
    Ok(agreement)
}

/// Where the utilisation may be off, by so many times.
const UTIL_ENDS: [i64; 2] = [1, -1];

/// `step` with the utilisation at one end of what it can be.
fn with_util_at<'s>(end: Option<&i64>, step: &'s Step) -> Cow<'s, Step> {
    match (step, end) {
        (Step::Decided(decision), Some(end)) if decision.doubts.util_off > 0 => {
            let mut decision = *decision;
            let util = i64::from(decision.inputs.util) + end * i64::from(decision.doubts.util_off);
            decision.inputs.util = util.clamp(0, 1024) as u32;
            Cow::Owned(Step::Decided(decision))
        }
        _ => Cow::Borrowed(step),
    }
}

/// Counts the decisions that may depend on a state from before the recording. That excuses a few, not most of them: then it is
/// another governor that the kernel ran.
fn count_fading(agreement: &mut Agreement, fading: &mut Vec<(Decision, Answer)>) {
    let mut alone = Agreement::new(agreement.source);
    fading.iter().for_each(|(decision, here)| alone.count(decision, *here, StateKnown::Yes));
    let state = if alone.same * 2 < alone.decisions { StateKnown::Yes } else { StateKnown::Fades };
    fading.drain(..).for_each(|(decision, here)| agreement.count(&decision, here, state));
}

/// A copy of a governor with all its CPUs.
struct GovernorCopy<'d, D> {
    instance: Instance,
    decisions: &'d D,
    /// It counts from 0 after each move of the kernel's governor.
    counts_from_moves: bool,
    cpus: BTreeMap<u32, (Slot, Follower<'d>)>,
    /// The kernel's last choice on each CPU, where it was seen.
    last_states: BTreeMap<u32, i32>,
    /// CPUs of which events were lost since the governor was put in charge.
    incomplete: BTreeSet<u32>,
    /// It has taken over the kernel's state.
    has_kernels_state: bool,
}

/// An answer of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CopyAnswer {
    answer: Answer,
    /// No event was lost on which it may depend.
    state_known: bool,
}

impl<'d, D: Decisions> GovernorCopy<'d, D> {
    fn new(loader: &Loader<'_>, decisions: &'d D) -> Result<Self, GovernorError> {
        let tick_period_ns = decisions.tick_period_ns();
        let instance = if decisions.has_state() {
            // Only this build has the names of variables.
            let mut instance = loader.load_explaining(tick_period_ns)?;
            instance.mute();
            instance
        } else {
            loader.load(tick_period_ns)?
        };
        let counts_from_moves = decisions.source() == Source::Tape
            && decisions.begins_in_charge()
            && instance.registered().0 == COUNTS_FROM_EACH_MOVE;
        Ok(Self {
            instance,
            decisions,
            counts_from_moves,
            cpus: BTreeMap::new(),
            last_states: BTreeMap::new(),
            incomplete: BTreeSet::new(),
            has_kernels_state: false,
        })
    }

    /// The answer, to a decision.
    fn step(&mut self, step: &Step) -> Result<Option<CopyAnswer>, GovernorError> {
        match *step {
            Step::Enabled { cpu, capacity, device } => {
                self.incomplete.remove(&cpu);
                if let Some((slot, _)) = self.cpus.get(&cpu) {
                    self.instance.enable_again(*slot, device.device())?;
                } else {
                    let led = Follower::add(&mut self.instance, self.decisions, cpu, capacity, &device)?;
                    self.cpus.insert(cpu, led);
                }
            }
            Step::InCharge { cpu, .. } | Step::Ended { cpu, .. } => {
                if let Some((mut governor, follower)) = self.on(cpu) {
                    follower.step(&mut governor, step);
                }
            }
            Step::Decided(ref decision) => {
                let Some((mut governor, follower)) = self.on(decision.cpu) else { return Ok(None) };
                let answer = follower.decide(&mut governor, decision);
                if self.counts_from_moves && self.missed_move(decision, &answer) {
                    self.reset_after(decision)?;
                }
                let state_known = self.incomplete.is_empty()
                    || !self.incomplete.contains(&decision.cpu) && !self.instance.keeps_shared_state();
                return Ok(Some(CopyAnswer { answer, state_known }));
            }
            Step::State { cpu, ref values } => {
                if let Some((slot, _)) = self.cpus.get(&cpu) {
                    self.has_kernels_state = self.instance.restore(*slot, values);
                }
            }
            Step::Gap { cpu } => {
                self.incomplete.insert(cpu);
            }
        }
        Ok(None)
    }

    /// True where the kernel's choice is another state than its last one, and `answer` is not that. Its first choice may be a move.
    fn missed_move(&mut self, decision: &Decision, answer: &Answer) -> bool {
        let Some(state) = decision.kernel.state else {
            self.last_states.remove(&decision.cpu);
            return false;
        };
        let last = self.last_states.insert(decision.cpu, state);
        last != Some(state) && state != answer.state
    }

    /// Resets the governor of the CPU of `decision`, and gives it how that decision ended.
    fn reset_after(&mut self, decision: &Decision) -> Result<(), GovernorError> {
        let Some((slot, follower)) = self.cpus.get(&decision.cpu) else { return Ok(()) };
        let device = DeviceState::fresh(follower.place.table);
        self.instance.enable_again(*slot, device.device())?;
        if let Some(outcome @ Outcome::Left { entered: Some(_), .. }) = &decision.outcome {
            follower.end(&mut Hosted::new(&mut self.instance, *slot), None, outcome);
        }
        Ok(())
    }

    fn on(&mut self, cpu: u32) -> Option<(Hosted<'_>, &mut Follower<'d>)> {
        let (slot, follower) = self.cpus.get_mut(&cpu)?;
        Some((Hosted::new(&mut self.instance, *slot), follower))
    }
}

/// One CPU of a governor that is led through decisions. Whatever the governor chooses, its device becomes as the kernel's was.
#[derive(Clone, Debug)]
pub struct Follower<'p> {
    place: Place<'p>,
    disabled: u16,
}

impl<'p> Follower<'p> {
    /// A governor that has just been put in charge of `place`.
    #[must_use]
    pub fn new(place: Place<'p>) -> Self {
        Self { place, disabled: place.table.disabled_by_default() }
    }

    /// Puts the governor in charge of CPU `cpu` of `decisions`.
    fn add<D: Decisions>(
        instance: &mut Instance,
        decisions: &'p D,
        cpu: u32,
        capacity: Option<u32>,
        device: &DeviceState,
    ) -> Result<(Slot, Self), GovernorError> {
        let Some(place) = decisions.place(cpu) else { unreachable!("CPU {cpu} is none of the recording's") };
        let capacity = capacity.unwrap_or(place.capacity);
        let slot = instance.add_used_cpu(cpu, place.table, capacity, device.device())?;
        Ok((slot, Self::new(place)))
    }

    /// Puts the governor in charge of the only CPU of `decisions`, as their first step does.
    ///
    /// # Errors
    /// The governor refuses.
    pub fn of_only_cpu<D: Decisions>(
        instance: &mut Instance,
        decisions: &'p D,
    ) -> Result<(Slot, Self), GovernorError> {
        let Some(Ok(Step::Enabled { cpu, capacity, device })) = decisions.steps().next() else {
            unreachable!("decisions begin with their governor put in charge")
        };
        Self::add(instance, decisions, cpu, capacity, &device)
    }

    /// The next step of this CPU; the answer, to a decision. Being put in charge, state and gaps are for whoever owns the governor.
    pub fn step<C: Chooser>(&mut self, governor: &mut C, step: &Step) -> Option<Answer> {
        match step {
            Step::Decided(decision) => return Some(self.decide(governor, decision)),
            Step::Ended { outcome, .. } => self.end(governor, None, outcome),
            Step::InCharge { device, disabled, .. } => {
                *governor.device() = device.device();
                governor.set_disabled(*disabled);
            }
            Step::Enabled { .. } | Step::State { .. } | Step::Gap { .. } => {}
        }
        None
    }

    fn decide<C: Chooser>(&mut self, governor: &mut C, decision: &Decision) -> Answer {
        self.disabled = decision.disabled;
        governor.set_disabled(decision.disabled);
        if let Some((residency_ns, poll_time_limit)) = decision.found {
            let device = governor.device();
            device.last_residency_ns = residency_ns.cast_signed();
            device.poll_time_limit = poll_time_limit;
        }
        let kernel = &decision.kernel;
        let asked_ns = poll_limit(governor, decision, PollLimitAt::Asked);
        if decision.asked_in_vain {
            select(governor, decision);
            governor.device().last_residency_ns = 0;
        }
        let choice = select(governor, decision);
        let answered_ns = poll_limit(governor, decision, PollLimitAt::Answered);
        let nearest = choice.index.clamp(0, self.place.table.len() as i32 - 1);
        let effect_of = (kernel.shown != Shown::Answer).then_some(nearest as usize);
        if effect_of.is_some_and(|state| self.polls(state)) && decision.outcome != Some(Outcome::GivenUp) {
            // What the kernel's polling loop did is not recorded: it runs here, after the choice made here.
            let device = governor.device();
            device.poll_time_limit = false;
            self.begin_polling(device);
        }
        if let Some(outcome) = &decision.outcome {
            self.end(governor, effect_of, outcome);
        }
        let ended_ns = poll_limit(governor, decision, PollLimitAt::Ended);
        let state = if kernel.shown == Shown::Answer { choice.index } else { nearest };
        let stop_tick = decision.shown_stop(choice.stop_tick);
        Answer {
            state,
            stop_tick,
            asked_sleep_length: (decision.source != Source::Tape).then_some(choice.asked_sleep_length),
            poll_limit_ns: asked_ns.or(answered_ns).or(ended_ns),
        }
    }

    /// The kernel's choice ended. `effect_of`: the state chosen here, where the kernel's polling loop is not recorded.
    fn end<C: Chooser>(&self, governor: &mut C, effect_of: Option<usize>, outcome: &Outcome) {
        let device = governor.device();
        match *outcome {
            Outcome::GivenUp => device.last_residency_ns = 0,
            Outcome::Refused { tick_ran } => {
                device.got_tick |= tick_ran;
                device.last_residency_ns = 0;
            }
            Outcome::Left { entered, residency_ns, clock_ns, tick, poll_time_limit } => {
                let Some(entered) = entered.or(effect_of) else {
                    unreachable!("a recording of answers has the state that was entered")
                };
                if self.polls(entered) {
                    device.poll_time_limit = poll_time_limit;
                    if effect_of.is_none() {
                        self.begin_polling(device);
                    }
                }
                device.last_residency_ns = residency_ns;
                device.got_tick = match tick {
                    TickSeen::Ran(ran) => device.got_tick | ran,
                    TickSeen::Flag(flag) => flag,
                };
                governor.reflect(entered, clock_ns);
            }
        }
    }

    fn polls(&self, state: usize) -> bool {
        self.place.table.states().get(state).is_some_and(|s| s.polling)
    }

    /// The polling loop keeps the limit that it works out.
    fn begin_polling(&self, device: &mut Device) {
        if device.poll_limit_ns == 0 {
            device.poll_limit_ns = self.place.poll_limit_ns(self.disabled);
        }
    }
}

/// The limit of the polling loop here, ns, where the recording has the kernel's at this point, which takes its place.
fn poll_limit<C: Chooser>(governor: &mut C, decision: &Decision, now: PollLimitAt) -> Option<u64> {
    let (at, kernels_ns) = decision.kernel.poll_limit?;
    let device = governor.device();
    let found_ns = device.poll_limit_ns;
    if at == now && now != PollLimitAt::Ended {
        device.poll_limit_ns = kernels_ns;
    }
    (at == now).then_some(found_ns)
}

fn select<C: Chooser>(governor: &mut C, decision: &Decision) -> Choice {
    let inputs = &decision.inputs;
    let moment = Moment {
        start_ns: inputs.now_ns,
        timers: Timers::Known {
            sleep_length_ns: inputs.sleep_length_ns,
            delta_tick_ns: inputs.delta_tick_ns,
        },
        latency_limit_ns: inputs.latency_limit_ns,
        util: inputs.util,
        iowait: inputs.iowait,
        random: inputs.random,
        // A recording does not say what would have come.
        wake_at_ns: NEVER_AT_NS,
        stop_pays: true,
    };
    governor.select(inputs, &moment, TickAhead { due_ns: NEVER_AT_NS, may_stop: true })
}

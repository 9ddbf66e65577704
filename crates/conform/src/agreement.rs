// SPDX-License-Identifier: GPL-2.0-only
//! How far a governor here made the choices of the kernel's governor, and the first choices that diverge.

use std::collections::BTreeMap;
use std::fmt;

use idlewise_model::NO_LATENCY_LIMIT_NS;
use idlewise_report::percent_of;
use serde::{Deserialize, Serialize};

use crate::decision::{Answer, Decision, PollLimitAt, Source};
use crate::divergence::DivergenceKind;

/// Whether the governor's state is known, as far as an answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKnown {
    Yes,
    /// What is left of the state from before the recording is not known: an answer that differs may be due to it.
    Fades,
    No,
}

/// The decisions of one governor, compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// The kind of recording.
    pub source: Source,
    pub decisions: u64,
    /// Of these, with the same choice: state and tick, and of some [`Source`]s the limit of the polling loop and whether the sleep
    /// length was asked for.
    pub same: u64,
    /// Of those compared, with another state.
    pub other_state: u64,
    /// Of those compared, with a known keep-or-stop of the tick.
    pub tick_known: u64,
    /// Of these, with another.
    pub other_tick: u64,
    /// Of those compared, where one asked for the sleep length and the other did not, as far as that is recorded.
    pub other_question: u64,
    /// Of those compared, with another limit of the polling loop, as far as that is recorded.
    pub other_poll_limit: u64,
    /// Of those compared, where the kernel's limit of the polling loop had been set back to 0 from outside, as writing to a state's
    /// `disable` does.
    pub poll_limit_resets: u64,
    /// Of those that diverge, next to a choice that a reschedule took back.
    pub next_to_aborted: u64,
    /// Not compared: the answer depends on the governor's state from before the recording, or from before a gap in it.
    pub unknown_state: u64,
    /// Not compared: the recording does not have the kernel's choice.
    pub not_recorded: u64,
    /// The kernel's choices that were compared, by state.
    pub by_state: BTreeMap<i32, u64>,
    /// Of those with a known keep-or-stop of the tick, what always asking to keep it would have done, too.
    pub tick_as_if_kept: u64,
    /// The same of always asking to stop it.
    pub tick_as_if_stopped: u64,
    /// Why choices diverge from those of a tape, and how often.
    pub reasons: BTreeMap<DivergenceKind, u64>,
    /// The first that diverge.
    pub first: Vec<Divergence>,
}

impl Agreement {
    /// Counts of a stream from `source` of which no decision was compared yet.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self { source, ..Self::default() }
    }

    /// Counts one decision, with the answer to it here.
    pub fn count(&mut self, decision: &Decision, here: Answer, state: StateKnown) {
        let kernel = &decision.kernel;
        let Some(kernels_state) = kernel.state else {
            self.not_recorded += 1;
            return;
        };
        if state == StateKnown::No {
            self.unknown_state += 1;
            return;
        }
        let other_state = here.state != kernels_state;
        let other_tick = kernel.stop_tick.is_some_and(|stop| stop != here.stop_tick);
        let asked = kernel.asked_sleep_length();
        let other_question = asked.is_some() && asked != here.asked_sleep_length;
        let poll_limits = kernel.poll_limit.zip(here.poll_limit_ns);
        let (other_limit, reset) = poll_limits.map_or((false, false), |((at, kernels_ns), ours_ns)| {
            let reset = at == PollLimitAt::Asked && kernels_ns == 0;
            (kernels_ns != ours_ns && !reset, kernels_ns != ours_ns && reset)
        });
        let differ = other_state
            || other_tick
            || self.source.compares_questions() && other_question
            || self.source.compares_poll_limits() && other_limit;
        if differ && state == StateKnown::Fades {
            self.unknown_state += 1;
            return;
        }
        self.decisions += 1;
        self.same += u64::from(!differ);
        self.other_state += u64::from(other_state);
        self.tick_known += u64::from(kernel.stop_tick.is_some());
        self.other_tick += u64::from(other_tick);
        *self.by_state.entry(kernels_state).or_default() += 1;
        let [kept, stopped] = [false, true].map(|ask| kernel.stop_tick == Some(decision.shown_stop(ask)));
        self.tick_as_if_kept += u64::from(kept);
        self.tick_as_if_stopped += u64::from(stopped);
        self.other_question += u64::from(other_question);
        self.other_poll_limit += u64::from(other_limit);
        self.poll_limit_resets += u64::from(reset);
        if !differ {
            return;
        }
        self.next_to_aborted += u64::from(decision.doubts.next_to_aborted);
        if self.source == Source::Tape {
            *self.reasons.entry(DivergenceKind::of(decision, &here)).or_default() += 1;
        }
        if self.first.len() < self.source.kept() {
            self.first.push(Divergence { decision: *decision, here });
        }
    }

    /// Adds the counts of `other`, of the same kind of recording.
    pub fn merge(&mut self, other: Self) {
        assert_eq!(self.source, other.source, "only like is added to like");
        self.decisions += other.decisions;
        self.same += other.same;
        self.other_state += other.other_state;
        self.tick_known += other.tick_known;
        self.other_tick += other.other_tick;
        self.other_question += other.other_question;
        self.other_poll_limit += other.other_poll_limit;
        self.poll_limit_resets += other.poll_limit_resets;
        self.next_to_aborted += other.next_to_aborted;
        self.unknown_state += other.unknown_state;
        self.not_recorded += other.not_recorded;
        for (state, n) in other.by_state {
            *self.by_state.entry(state).or_default() += n;
        }
        self.tick_as_if_kept += other.tick_as_if_kept;
        self.tick_as_if_stopped += other.tick_as_if_stopped;
        for (kind, n) in other.reasons {
            *self.reasons.entry(kind).or_default() += n;
        }
        self.first.extend(other.first);
    }

    /// The best of the governors that always choose one state, and always keep or always stop the tick: the state, and the share of the
    /// choices compared that it repeats, of states or of the tick, whichever is less, %. Nothing where no choice was compared.
    #[must_use]
    pub fn best_constant(&self) -> Option<(i32, f64)> {
        let (state, entries) = self.by_state.iter().rev().max_by_key(|(_, n)| **n)?;
        let state_pct = percent_of(*entries, self.decisions);
        let tick = self.tick_as_if_kept.max(self.tick_as_if_stopped);
        let tick_pct = if self.tick_known > 0 { percent_of(tick, self.tick_known) } else { state_pct };
        Some((*state, state_pct.min(tick_pct)))
    }

    #[must_use]
    pub fn diverging(&self) -> u64 {
        self.decisions - self.same
    }

    /// Decisions that are the same, % of those compared; not a number where there are none.
    #[must_use]
    pub fn same_pct(&self) -> f64 {
        self.same as f64 * 100.0 / self.decisions as f64
    }
}

/// A decision on which the governor here and the kernel's differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    pub decision: Decision,
    pub here: Answer,
}

impl Divergence {
    /// The kernel's limit of the polling loop and the one here, ns, where they are known and differ.
    pub(crate) fn poll_limits(&self) -> Option<(u64, u64)> {
        let (_, kernels_ns) = self.decision.kernel.poll_limit?;
        self.here.poll_limit_ns.map(|ours_ns| (kernels_ns, ours_ns)).filter(|(a, b)| a != b)
    }

    /// The kernel's choice, in the words of an answer.
    pub(crate) fn kernels(&self) -> Answer {
        let kernel = &self.decision.kernel;
        let (Some(state), Some(stop_tick)) = (kernel.state, kernel.stop_tick) else {
            unreachable!("a divergence that is kept for reading has all of the kernel's choice")
        };
        let poll_limit_ns = kernel.poll_limit.map(|(_, ns)| ns);
        Answer { state, stop_tick, asked_sleep_length: kernel.asked_sleep_length(), poll_limit_ns }
    }

    fn as_row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { step, line, inputs: i, disabled, .. } = &self.decision;
        let choice = |a: &Answer| {
            format!("state {}, {}", a.state, if a.stop_tick { "stop tick" } else { "keep tick" })
        };
        let (expected, found) = (choice(&self.kernels()), choice(&self.here));
        write!(f, "step {step} (line {line}): expected {expected}; got {found}")?;
        if let Some((expected, found)) = self.poll_limits() {
            write!(f, "; expected poll limit {expected} ns, got {found} ns")?;
        }
        write!(
            f,
            "; sleep length {} ns, delta tick {} ns, latency limit {} ns, tick {}, disabled {disabled:#b}, util {}, iowait {}",
            i.sleep_length_ns,
            i.delta_tick_ns,
            i.latency_limit_ns,
            running(i.tick_stopped),
            i.util,
            i.iowait
        )
    }

    fn as_line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { line, inputs: i, disabled, kernel, doubts, .. } = &self.decision;
        let choice = |a: &Answer| format!("state {} {} the tick", a.state, keep_or_stop(a.stop_tick));
        let limit = |ns| if ns == NO_LATENCY_LIMIT_NS { "none".to_owned() } else { format!("{ns} ns") };
        let sleep_length = match kernel.asked_sleep_length() {
            Some(true) => format!("{} ns", i.sleep_length_ns),
            _ => "not asked".to_owned(),
        };
        write!(
            f,
            "line {line}: kernel {}, here state {} {} it (sleep length {sleep_length}, latency limit {}, tick {} before, disabled \
             {disabled:b}{})",
            choice(&self.kernels()),
            self.here.state,
            keep_or_stop(self.here.stop_tick),
            limit(i.latency_limit_ns),
            running(i.tick_stopped),
            if doubts.next_to_aborted { ", next to an aborted select" } else { "" }
        )
    }

    fn as_event(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { cpu, at_ns, inputs: i, disabled, kernel, found, .. } = &self.decision;
        let residency_ns = found.map_or(0, |(residency_ns, _)| residency_ns);
        let choice = |a: &Answer| {
            let asked = if a.asked_sleep_length == Some(true) { "asked" } else { "not asked" };
            let poll = match a.poll_limit_ns.filter(|_| self.poll_limits().is_some()) {
                Some(ns) => format!(", poll limit {ns} ns"),
                None => String::new(),
            };
            format!("state {}, {} the tick, sleep length {asked}{poll}", a.state, keep_or_stop(a.stop_tick))
        };
        write!(
            f,
            "CPU {cpu} at {}.{:09}: the kernel {}; here {}; inputs: sleep length {} ns, next event with the \
             tick {} ns, latency limit {} \
             ns, clock {} ns, utilisation {}, iowait {}, tick {}, residency before {} ns, disabled {disabled:#b}, asked {:#x}",
            at_ns / 1_000_000_000,
            at_ns % 1_000_000_000,
            choice(&self.kernels()),
            choice(&self.here),
            i.sleep_length_ns,
            i.delta_tick_ns,
            i.latency_limit_ns,
            i.now_ns,
            i.util,
            i.iowait,
            running(i.tick_stopped),
            residency_ns,
            kernel.asked.map_or(0, |mask| mask)
        )
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decision.source {
            Source::GoldenFile => self.as_row(f),
            Source::DecisionTable => self.as_line(f),
            Source::Trace | Source::Tape => self.as_event(f),
        }
    }
}

fn keep_or_stop(stop: bool) -> &'static str {
    if stop { "stop" } else { "keep" }
}

fn running(tick_stopped: bool) -> &'static str {
    if tick_stopped { "stopped" } else { "running" }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The tape of a CPU as a stream of decisions: what the governor was given is derived from events that were recorded for other
//! purposes.

use idlewise_governor::{Choice, Device, Inputs};
use idlewise_idle::{Chooser, IdleCpu, Moment, NEVER_AT_NS, TickAhead, Timers};
use idlewise_model::{
    Confidence, CpuTape, Miss, NEVER_NS, NO_LATENCY_LIMIT_NS, Piece, PieceFlags, PiecesError, Tape,
    WakeCause, at,
};

use crate::decision::{
    Decision, Decisions, DeviceState, Doubts, KernelChoice, Outcome, Place, Shown, Source, Step, Steps,
    TickSeen,
};
use idlewise_platform::Cluster;

/// A recorded idle period is longer than the kernel measures it by what recording takes: 40 to 700 ns in recordings, and 2.4 us in
/// guests whose inputs a BPF program records. Where the kernel's verdict is off by more than this, the table of states is not
/// the kernel's, ns.
const LONGEST_BRACKET_NS: i64 = 10_000;
/// Idle periods that a governor's state goes back to: what came before them does not count any more.
const REMEMBERED: u32 = 8;

/// The decisions that one CPU's tape holds.
pub struct TapeDecisions<'t> {
    tape: &'t CpuTape,
    cluster: &'t Cluster,
    /// When the kernel's governor was put in charge, ns on the trace's clock, where that is known: then nothing before counts, and
    /// its state was that of a new governor.
    since_ns: Option<u64>,
    /// When the recording began, ns on the trace's clock, where utilisation may be off for what ran before.
    util_since_ns: Option<u64>,
    /// States that the kernel entered, bit i for state i.
    entered: u64,
    /// The kernel's verdicts on idle periods are recorded (`cpu_idle_miss`).
    has_misses: bool,
}

impl<'t> TapeDecisions<'t> {
    /// The CPU of `tape`, which is one of `cluster`, under a governor that was put in charge at `since_ns`.
    ///
    /// # Errors
    /// [`PiecesError`] when the tape cannot be read.
    pub fn new(tape: &'t CpuTape, cluster: &'t Cluster, since_ns: Option<u64>) -> Result<Self, PiecesError> {
        let (mut entered, mut has_misses) = (0, false);
        for block in tape.pieces.blocks() {
            for p in &*block? {
                entered |= if p.state < 64 { 1 << p.state } else { 0 };
                has_misses |= miss(p) != Miss::None;
            }
        }
        Ok(Self { tape, cluster, since_ns, util_since_ns: None, entered, has_misses })
    }

    /// The utilisation may be off for what ran before `tape` began, unless it is recorded ([`Doubts::util_off`]).
    #[must_use]
    pub fn doubting_util(self, tape: &Tape) -> Self {
        let recorded = tape.weakest("utilisation") == Confidence::Recorded;
        Self { util_since_ns: (!recorded).then_some(tape.source.first_ns), ..self }
    }

    fn enabled(&self) -> Step {
        let device = DeviceState::fresh(&self.cluster.table);
        Step::Enabled { cpu: self.tape.cpu, capacity: None, device }
    }

    pub fn decisions(&self) -> impl Iterator<Item = Result<Decision, PiecesError>> + '_ {
        let mut idle = IdleCpu::new(self.tape.cpu, &self.cluster.table, self.tape.tick);
        let default_mask = self.cluster.table.disabled_by_default();
        let mut since_gap = u32::MAX;
        let mut decision = move |piece: &Piece| {
            let gap = piece.flags.has(PieceFlags::AFTER_GAP);
            since_gap = if gap { 0 } else { since_gap.saturating_add(1) };
            let counts = self.since_ns.is_none_or(|since_ns| piece.start_ns >= since_ns);
            if !counts || piece.state == Piece::NO_GOVERNOR {
                return None;
            }
            let disabled = at(&self.tape.disabled, piece.start_ns, 0) | default_mask;
            let (inputs, may_stop) = self.inputs(&mut idle, piece);
            let known = piece.state != Piece::NO_STATE;
            let tick_known = piece.flags.has(PieceFlags::TICK_KNOWN);
            Some(Decision {
                source: Source::Tape,
                cpu: self.tape.cpu,
                at_ns: piece.start_ns,
                inputs,
                disabled,
                kernel: KernelChoice {
                    state: known.then_some(piece.state.into()),
                    stop_tick: tick_known.then_some(piece.flags.has(PieceFlags::STOPPED_AFTER)),
                    shown: Shown::Effect { may_stop },
                    ..KernelChoice::default()
                },
                outcome: Some(self.outcome(piece, disabled)),
                doubts: Doubts {
                    events_lost: since_gap <= REMEMBERED,
                    unsure_timers: piece.timer_confidence() >= Confidence::Bounded,
                    util_off: self.util_off(piece.start_ns),
                    entered: self.entered,
                    ..Doubts::default()
                },
                ..Decision::default()
            })
        };
        self.tape.pieces.blocks().flat_map(move |block| match block {
            Ok(block) => block.iter().filter_map(&mut decision).map(Ok).collect(),
            Err(e) => vec![Err(e)],
        })
    }

    /// How far off utilisation may be at `at_ns`: PELT halves what was before every 32 periods of 1,048,576 ns
    /// (`signal-behaviour.md` A1).
    fn util_off(&self, at_ns: u64) -> u32 {
        let halves = |since_ns| at_ns.saturating_sub(since_ns) >> 25;
        let off = self.util_since_ns.and_then(|since_ns| 1024_u16.checked_shr(halves(since_ns) as u32));
        off.map_or(0, |off| self.of_1024(off))
    }

    /// A utilisation in the unit that governors are given: 1024 is all of the fastest CPU.
    fn of_1024(&self, util: u16) -> u32 {
        (u32::from(util) * self.cluster.capacity) >> 10
    }

    /// What the idle loop gives a governor at `piece`, and whether it would stop the tick for it.
    fn inputs(&self, idle: &mut IdleCpu<'_>, piece: &Piece) -> (Inputs, bool) {
        let at_ns =
            |rel: i64| if rel == NEVER_NS { NEVER_AT_NS } else { piece.start_ns.saturating_add_signed(rel) };
        let moment = Moment {
            start_ns: piece.start_ns,
            timers: Timers::Pending {
                hrtimer_at_ns: at_ns(piece.hrtimer_ns),
                wheel_at_ns: at_ns(piece.wheel_ns),
                stale_event_at_ns: at_ns(piece.stale_event_ns),
                tick_needed: piece.flags.has(PieceFlags::TICK_NEEDED),
            },
            latency_limit_ns: at(&self.tape.latency, piece.start_ns, NO_LATENCY_LIMIT_NS),
            util: self.of_1024(piece.util),
            iowait: piece.iowait.into(),
            random: 0,
            wake_at_ns: piece.start_ns.saturating_add(piece.wake_ns),
            stop_pays: true,
        };
        idle.begin_visit(piece.start_ns.saturating_sub(piece.entry_lag_ns.into()));
        idle.force_tick(piece.flags.has(PieceFlags::STOPPED_BEFORE));
        let mut asked = Asked::default();
        idle.enter(&mut asked, &moment);
        (asked.inputs, asked.may_stop)
    }

    fn outcome(&self, piece: &Piece, disabled: u16) -> Outcome {
        if piece.flags.has(PieceFlags::REJECTED) {
            return Outcome::Refused { tick_ran: piece.flags.has(PieceFlags::TICK_RAN) };
        }
        let exit_at_ns = piece.exit_at_ns();
        let entered = piece.chosen().map(|state| state.min(self.cluster.table.len() - 1));
        let polls =
            entered.and_then(|state| self.cluster.table.states().get(state)).is_some_and(|s| s.polling);
        Outcome::Left {
            entered,
            residency_ns: self.residency_ns(piece, disabled),
            clock_ns: exit_at_ns.saturating_add(piece.handler_ns.into()),
            tick: TickSeen::Ran(
                piece.flags.has(PieceFlags::TICK_RAN)
                    || matches!(piece.cause, WakeCause::Tick | WakeCause::Wheel),
            ),
            // The tick alone does not end the polling loop.
            poll_time_limit: piece.cause == WakeCause::PollLimit
                || polls && piece.cause == WakeCause::Tick && !piece.flags.has(PieceFlags::VISIT_END),
        }
    }
}

impl TapeDecisions<'_> {
    /// How long the kernel measured `piece` to be, as far as the recording shows it: without what an event takes, and so that its verdict
    /// is the kernel's.
    fn residency_ns(&self, piece: &Piece, disabled: u16) -> i64 {
        let seen_ns = piece.exit_at_ns().wrapping_sub(piece.start_ns).cast_signed();
        let residency_ns = (seen_ns - i64::from(self.tape.event_ns)).max(0);
        let Some(entered) = piece.chosen().filter(|_| self.has_misses) else { return residency_ns };
        let judged = self.cluster.table.residencies(entered, miss(piece), disabled);
        let (least_ns, most_ns) = (*judged.start(), (*judged.end()).min(seen_ns));
        if least_ns > most_ns || seen_ns - most_ns > LONGEST_BRACKET_NS {
            return residency_ns;
        }
        residency_ns.clamp(least_ns, most_ns)
    }
}

/// The kernel's verdict on `piece`.
fn miss(piece: &Piece) -> Miss {
    match [PieceFlags::MISS_ABOVE, PieceFlags::MISS_BELOW].map(|bit| piece.flags.has(bit)) {
        [true, _] => Miss::Above,
        [_, true] => Miss::Below,
        _ => Miss::None,
    }
}

impl Decisions for TapeDecisions<'_> {
    type Error = PiecesError;

    fn source(&self) -> Source {
        Source::Tape
    }

    fn tick_period_ns(&self) -> u64 {
        self.tape.tick.period_ns
    }

    fn place(&self, cpu: u32) -> Option<Place<'_>> {
        (cpu == self.tape.cpu).then_some(Place {
            table: &self.cluster.table,
            capacity: self.cluster.capacity,
            tick_period_ns: self.tape.tick.period_ns,
            old_polling: false,
        })
    }

    fn steps(&self) -> impl Iterator<Item = Result<Step, PiecesError>> + '_ {
        std::iter::once(Ok(self.enabled())).chain(self.decisions().map(|d| d.map(Step::Decided)))
    }

    fn begins_in_charge(&self) -> bool {
        self.since_ns.is_none()
    }

    fn doubts_util(&self) -> bool {
        self.util_since_ns.is_some()
    }

    /// The whole recording, where the governor was in charge before it began.
    fn histories(&self) -> Vec<Steps<'_, PiecesError>> {
        if self.begins_in_charge() { vec![Box::new(self.steps())] } else { Vec::new() }
    }
}

/// What the idle loop gives whoever decides.
#[derive(Default)]
struct Asked {
    device: Device,
    inputs: Inputs,
    may_stop: bool,
}

impl Chooser for Asked {
    fn select(&mut self, inputs: &Inputs, _: &Moment, tick: TickAhead) -> Choice {
        (self.inputs, self.may_stop) = (*inputs, tick.may_stop);
        Choice { index: 0, stop_tick: false, asked_sleep_length: true }
    }

    fn reflect(&mut self, _: usize, _: u64) {}

    fn device(&mut self) -> &mut Device {
        &mut self.device
    }

    fn set_disabled(&mut self, _: u16) {}
}

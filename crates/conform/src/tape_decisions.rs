// SPDX-License-Identifier: GPL-2.0-only
//! The tape of a CPU as a stream of decisions: what the governor was given is derived from events that were recorded for other
//! purposes.

use idlewise_governor::{Choice, Device, Inputs};
use idlewise_idle::{Chooser, IdleCpu, Moment, NEVER_AT_NS, TickAhead, Timers};
use idlewise_model::{
    Confidence, CpuTape, NEVER_NS, NO_LATENCY_LIMIT_NS, Piece, PieceFlags, PiecesError, WakeCause, at,
};

use crate::decision::{
    Decision, Decisions, DeviceState, Doubts, KernelChoice, Outcome, Place, Shown, Source, Step, Steps,
    TickSeen,
};
use idlewise_platform::Cluster;

/// Idle periods that a governor's state goes back to: what came before them does not count any more.
const REMEMBERED: u32 = 8;

/// The decisions that one CPU's tape holds.
pub struct TapeDecisions<'t> {
    tape: &'t CpuTape,
    cluster: &'t Cluster,
    /// When the kernel's governor was put in charge, ns on the trace's clock, where that is known: then nothing before counts, and
    /// its state was that of a new governor.
    since_ns: Option<u64>,
    /// States that the kernel entered, bit i for state i.
    entered: u64,
}

impl<'t> TapeDecisions<'t> {
    /// The CPU of `tape`, which is one of `cluster`, under a governor that was put in charge at `since_ns`.
    ///
    /// # Errors
    /// [`PiecesError`] when the tape cannot be read.
    pub fn new(tape: &'t CpuTape, cluster: &'t Cluster, since_ns: Option<u64>) -> Result<Self, PiecesError> {
        let mut entered = 0;
        for block in tape.pieces.blocks() {
            entered |= block?.iter().filter(|p| p.state < 64).fold(0, |bits, p| bits | 1 << p.state);
        }
        Ok(Self { tape, cluster, since_ns, entered })
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
            let (inputs, may_stop) = self.inputs(&mut idle, piece);
            let known = piece.state != Piece::NO_STATE;
            let tick_known = piece.flags.has(PieceFlags::TICK_KNOWN);
            Some(Decision {
                source: Source::Tape,
                cpu: self.tape.cpu,
                at_ns: piece.start_ns,
                inputs,
                disabled: at(&self.tape.disabled, piece.start_ns, 0) | default_mask,
                kernel: KernelChoice {
                    state: known.then_some(piece.state.into()),
                    stop_tick: tick_known.then_some(piece.flags.has(PieceFlags::STOPPED_AFTER)),
                    shown: Shown::Effect { may_stop },
                    ..KernelChoice::default()
                },
                outcome: Some(self.outcome(piece)),
                doubts: Doubts {
                    events_lost: since_gap <= REMEMBERED,
                    unsure_timers: piece.timer_confidence() >= Confidence::Bounded,
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

    /// What the idle loop gives a governor at `piece`, and whether it would stop the tick for it.
    fn inputs(&self, idle: &mut IdleCpu<'_>, piece: &Piece) -> (Inputs, bool) {
        let at_ns =
            |rel: i64| if rel == NEVER_NS { NEVER_AT_NS } else { piece.start_ns.saturating_add_signed(rel) };
        let moment = Moment {
            start_ns: piece.start_ns,
            timers: Timers::Pending {
                hrtimer_at_ns: at_ns(piece.hrtimer_ns),
                wheel_at_ns: at_ns(piece.wheel_ns),
                tick_needed: piece.flags.has(PieceFlags::TICK_NEEDED),
            },
            latency_limit_ns: at(&self.tape.latency, piece.start_ns, NO_LATENCY_LIMIT_NS),
            util: (u32::from(piece.util) * self.cluster.capacity) >> 10,
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

    fn outcome(&self, piece: &Piece) -> Outcome {
        if piece.flags.has(PieceFlags::REJECTED) {
            return Outcome::Refused { tick_ran: false };
        }
        let exit_at_ns = piece.exit_at_ns();
        Outcome::Left {
            entered: piece.chosen().map(|state| state.min(self.cluster.table.len() - 1)),
            residency_ns: exit_at_ns.wrapping_sub(piece.start_ns).cast_signed(),
            clock_ns: exit_at_ns.saturating_add(piece.handler_ns.into()),
            tick: TickSeen::Ran(
                piece.flags.has(PieceFlags::TICK_RAN)
                    || matches!(piece.cause, WakeCause::Tick | WakeCause::Wheel),
            ),
            poll_time_limit: piece.cause == WakeCause::PollLimit,
        }
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

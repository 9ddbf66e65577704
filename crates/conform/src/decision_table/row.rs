// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::Inputs;
use idlewise_model::{Asked, StateIndex, TickGrid};

use crate::decision::{
    Decision, DeviceState, Doubts, KernelChoice, Outcome, PollLimitAt, Shown, Source, Step, TickSeen,
};

/// One recorded decision; `_rel` times count from `start_ns`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its line in the file.
    pub line: u64,
    /// When, ns on the clock of the file.
    pub start_ns: u64,
    /// The choice; of one that was given up nobody knows.
    pub state: usize,
    pub(super) latency_limit_ns: i64,
    /// Tasks of the CPU that wait for I/O, where the file says.
    pub iowait: Option<u32>,
    /// States that were off, a bit each.
    pub disabled: u16,
    /// The tick was stopped before.
    pub stopped_before: bool,
    /// The kernel went the way of stopping the tick.
    pub stop_path: bool,
    /// The tick had run when the governor was last notified of a stay.
    pub(super) got_tick_before: bool,
    pub residency_ns: u64,
    pub(super) residency_before_ns: u64,
    pub(super) poll_limit_before: bool,
    pub(super) now_rel: i64,
    pub(super) hrtimer_rel: Option<i64>,
    /// Time to the next timer event, ns, where the governor asked for it.
    pub sleep_length_ns: Option<i64>,
    pub(super) exit_ns: u64,
    pub(super) calls: i64,
    /// Nothing was entered; where the file does not say, rows of their own are missing for such selects.
    pub(crate) given_up: Option<bool>,
    /// The stay's end is not recorded: the CPU's last row, or what came next found no room.
    pub(super) is_cut_off: bool,
    /// The state that was entered.
    pub entered: Option<StateIndex>,
    pub(crate) rejected: bool,
    pub(super) delta_tick_ns: Option<i64>,
    /// The state of which the governor was last told, and the limit of the polling loop, ns.
    pub(super) device: Option<(Option<StateIndex>, u64)>,
    /// The kernel's governor asked for the sleep length, as far as the file tells.
    pub asked: Option<bool>,
}

impl Row {
    /// The kernel asked its governor once more before this, in vain.
    fn aborted(&self) -> bool {
        self.residency_before_ns == 0 || self.calls > 1
    }

    /// The kernel asked its governor once more before this, and no row of its own says so.
    pub fn asked_in_vain_before(&self) -> bool {
        self.given_up.is_none() && self.aborted()
    }

    /// The device at this row, where the table has it.
    pub(super) fn in_charge(&self, cpu: u32) -> Option<Step> {
        let (last_state, poll_limit_ns) = self.device?;
        let device = DeviceState {
            last_state,
            residency_ns: self.residency_before_ns.cast_signed(),
            poll_limit_ns,
            poll_time_limit: self.poll_limit_before,
        };
        Some(Step::InCharge { cpu, device, disabled: self.disabled })
    }

    /// This row, if the CPU had been woken as soon as it slept.
    pub(super) fn woken_at_once(&self) -> Self {
        Self {
            stopped_before: false,
            got_tick_before: false,
            residency_ns: 1,
            residency_before_ns: 1,
            poll_limit_before: false,
            given_up: Some(false),
            rejected: false,
            delta_tick_ns: None,
            ..*self
        }
    }

    /// This row of `cpu`, between two others; only the later one tells how its idle period ended.
    pub(super) fn decision(
        &self,
        cpu: u32,
        grid: TickGrid,
        before: Option<&Self>,
        after: Option<&Self>,
    ) -> Decision {
        let given_up = self.given_up == Some(true);
        let known = !given_up;
        let kernel = KernelChoice {
            state: i32::try_from(self.state).ok().filter(|_| known),
            stop_tick: known.then_some(self.stop_path),
            asked: self.asked.map(|asked| if asked { Asked::SLEEP_LENGTH } else { 0 }),
            poll_limit: self.device.map(|(_, ns)| (PollLimitAt::Asked, ns)),
            shown: Shown::Effect { may_stop: true },
        };
        Decision {
            source: Source::DecisionTable,
            cpu,
            at_ns: self.start_ns,
            line: self.line,
            inputs: self.inputs(grid),
            disabled: self.disabled,
            asked_in_vain: self.asked_in_vain_before()
                && before.is_some_and(|before| before.given_up != Some(true)),
            kernel,
            outcome: match after {
                _ if given_up => Some(Outcome::GivenUp),
                Some(_) if self.rejected => Some(Outcome::Refused { tick_ran: false }),
                Some(after) => Some(self.outcome(after)),
                None => None,
            },
            doubts: Doubts { next_to_aborted: self.aborted(), ..Doubts::default() },
            ..Decision::default()
        }
    }

    /// How this row's idle period ended, as `after` tells it.
    fn outcome(&self, after: &Self) -> Outcome {
        // After an aborted select the next row's "previous residency" is that select's, 0.
        let residency_ns = if after.aborted() { self.residency_ns } else { after.residency_before_ns };
        Outcome::Left {
            entered: Some(self.entered.map_or(self.state, StateIndex::get)),
            residency_ns: residency_ns.cast_signed(),
            clock_ns: self.start_ns + self.exit_ns.max(residency_ns),
            tick: TickSeen::Ran(after.got_tick_before),
            poll_time_limit: after.poll_limit_before,
        }
    }

    /// What the governor was given; the table has no utilisation.
    pub(crate) fn inputs(&self, grid: TickGrid) -> Inputs {
        let now_ns = self.start_ns.saturating_add_signed(self.now_rel);
        let programmed_ns = self.hrtimer_rel.map_or(i64::MAX, |rel| rel.saturating_sub(self.now_rel));
        let tick_ns = grid.after(now_ns).wrapping_sub(now_ns) as i64;
        let computed_ns = if self.stopped_before { programmed_ns } else { programmed_ns.min(tick_ns) };
        Inputs {
            now_ns: self.start_ns,
            sleep_length_ns: self.sleep_length_ns.unwrap_or(programmed_ns),
            delta_tick_ns: self.delta_tick_ns.unwrap_or(computed_ns),
            latency_limit_ns: self.latency_limit_ns,
            util: 0,
            // Where the file does not say, nobody is taken to wait.
            iowait: self.iowait.into_iter().sum(),
            random: 0,
            tick_stopped: self.stopped_before,
        }
    }
}

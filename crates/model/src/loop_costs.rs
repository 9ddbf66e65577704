// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

use crate::{TickChoice, WakeCause};

/// Time that a CPU runs for its idle loop alone, ns. How long depends on what the governor answers, so it belongs to what the governor
/// costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopCosts {
    /// The governor's own code: one choice, and hearing what came of it.
    pub decision_ns: u32,
    /// Working out the sleep length, where the governor asks for it.
    pub sleep_length_ns: u32,
    /// Stopping the tick, and starting it again at the end of the visit.
    pub tick_stop_ns: u32,
    /// From the end of the tick's handler, or of polling at its limit, to the next question.
    pub again_ns: u32,
}

impl LoopCosts {
    /// The idle loop takes no time.
    pub const NONE: Self = Self { decision_ns: 0, sleep_length_ns: 0, tick_stop_ns: 0, again_ns: 0 };

    /// What one idle period took of the CPU's time, ns.
    #[inline]
    #[must_use]
    pub fn of(&self, asked_sleep_length: bool, tick: TickChoice, cause: WakeCause) -> u32 {
        let asked = u32::from(asked_sleep_length) * self.sleep_length_ns;
        let stopped = u32::from(tick == TickChoice::Stopped) * self.tick_stop_ns;
        let again = u32::from(matches!(cause, WakeCause::Tick | WakeCause::PollLimit)) * self.again_ns;
        self.decision_ns.saturating_add(asked).saturating_add(stopped).saturating_add(again)
    }
}

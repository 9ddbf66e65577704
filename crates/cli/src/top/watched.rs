// SPDX-License-Identifier: GPL-2.0-only
use std::time::{Duration, Instant};

use idlewise_live::watch::{CounterSample, Watch};
use idlewise_live::{Host, LiveError};

/// A machine that is watched, and the clock of the samples.
pub(super) struct Watched {
    watch: Watch,
    pub(super) began: Instant,
    /// What the last look took.
    pub(super) cost: Duration,
}

impl Watched {
    #[expect(clippy::disallowed_methods, reason = "what is watched happens in real time")]
    pub(super) fn new(host: &Host) -> Result<Self, LiveError> {
        Ok(Self { watch: Watch::open(host)?, began: Instant::now(), cost: Duration::ZERO })
    }

    pub(super) fn look(&mut self) -> Result<CounterSample, LiveError> {
        let at = self.began.elapsed();
        let look = self.watch.look(at);
        self.cost = self.began.elapsed().saturating_sub(at);
        look
    }
}

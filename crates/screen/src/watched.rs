// SPDX-License-Identifier: GPL-2.0-only
use std::time::{Duration, Instant};

use idlewise_live::watch::{CounterSample, Watch};
use idlewise_live::{Host, LiveError};

/// A machine that is watched, and the clock of the samples.
#[derive(Debug)]
pub struct Watched {
    watch: Watch,
    began: Instant,
    /// What the last look took.
    pub(crate) cost: Duration,
}

impl Watched {
    #[expect(clippy::disallowed_methods, reason = "what is watched happens in real time")]
    /// Begins to watch the machine of `host`.
    ///
    /// # Errors
    /// [`LiveError`] when it has no idle states to be watched.
    pub fn new(host: &Host) -> Result<Self, LiveError> {
        Ok(Self { watch: Watch::open(host)?, began: Instant::now(), cost: Duration::ZERO })
    }

    /// How long it has been watched.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The counters of now.
    ///
    /// # Errors
    /// [`LiveError`] when they cannot be read.
    pub fn look(&mut self) -> Result<CounterSample, LiveError> {
        let at = self.began.elapsed();
        let look = self.watch.look(at);
        self.cost = self.began.elapsed().saturating_sub(at);
        look
    }
}

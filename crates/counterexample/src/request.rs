// SPDX-License-Identifier: GPL-2.0-only
//! What a search is asked.

use std::path::PathBuf;

use idlewise_platform::Platform;
use idlewise_recording::ReplaySetup;
use idlewise_recording::candidate::Candidate;
use idlewise_score::Measure;

/// Idle periods of a sequence, at most.
pub const LONGEST: usize = 200;

/// Where idle periods come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Recordings, each on the machine of `setup` or its own.
    Recordings { traces: Vec<PathBuf>, setup: Box<ReplaySetup> },
    /// Drawn, for each of these machines.
    Drawn {
        machines: Vec<Platform>,
        seed: u64,
        /// Sequences for each cluster of a machine.
        rounds: u64,
    },
}

/// Two governors, and how much worse the first has to be.
#[derive(Clone)]
pub struct CounterexampleRequest {
    /// The one that is to be worse.
    pub a: Candidate,
    pub b: Candidate,
    /// In what; one of which less or more is better.
    pub measure: &'static Measure,
    /// By how much, % of the other's; of shares percentage points. Above 0.
    pub by: f64,
    pub origin: Origin,
    /// Ticks per second; the machine's, else 250.
    pub hz: Option<u32>,
    /// The idle periods are played so many times over, 1 to [`LONGEST`]; the first is worse in all rounds together and in the last
    /// alone, when governors have learned what they can.
    pub times: usize,
}

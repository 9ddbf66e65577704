// SPDX-License-Identifier: GPL-2.0-only
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of some traces has been read, for whoever waits for it. Its clones count together.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    expected: AtomicU64,
    read: AtomicU64,
}

/// No answer depends on what is counted.
impl PartialEq for Meter {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Meter {}

impl Meter {
    /// The share that has been read of what is known to be read so far, from 0 to 1; `None` before anything is.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let expected = self.0.expected.load(Ordering::Relaxed);
        let read = self.0.read.load(Ordering::Relaxed);
        (expected > 0).then(|| (read as f64 / expected as f64).min(1.0))
    }

    pub(crate) fn expect(&self, bytes: u64) {
        self.0.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

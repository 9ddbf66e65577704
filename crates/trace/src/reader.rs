// SPDX-License-Identifier: GPL-2.0-only
//! What the reader of every format gives: what the trace says about itself, and its events.

use idlewise_model::Event;

use crate::error::TraceError;
use crate::input::Input;
use crate::learned::Learned;
use crate::meta::TraceMeta;

/// A format's reader: a trace that was understood.
pub(crate) trait Reader: Send + Sync {
    fn meta(&self) -> &TraceMeta;

    /// The files that the events are read from.
    fn inputs(&self) -> Vec<&Input>;

    /// The events from the first on.
    fn events(&self) -> Result<Box<dyn Stream + '_>, TraceError>;
}

/// The events of a trace, one after the other.
pub(crate) trait Stream {
    fn next_event(&mut self) -> Option<Event>;

    fn learned(&self) -> &Learned;

    fn learned_mut(&mut self) -> &mut Learned;
}

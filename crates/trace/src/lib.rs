// SPDX-License-Identifier: GPL-2.0-only
//! Readers of recorded kernel traces: any format in, one stream of [`Event`]s out.
//!
//! A [`TraceFile`] is opened once and understood (who recorded it, which events it describes); each call of
//! [`TraceFile::events`] then walks its buffers anew, with all CPUs merged in time order. Memory does not grow with
//! the length of the recording. Dirt in the data is counted in a [`Health`](idlewise_model::Health) and never stops
//! the reading; only a file whose headers are broken is refused.
//!
//! Formats: `trace.dat` of trace-cmd, versions 6 and 7 (module `dat`).

mod dat;
mod error;
mod input;
mod meta;
mod sniff;
mod symbols;

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_model::{Event, Health};

pub use error::TraceError;
use input::Input;
pub use meta::{CpuStats, TraceMeta};

/// A trace that was opened and understood.
pub struct TraceFile {
    dat: dat::DatFile,
}

impl TraceFile {
    /// Opens the trace at `path`; its format is told by its content.
    ///
    /// # Errors
    /// When it cannot be read, is something else (the error says what it looks like), or its headers are broken.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Self::understand(Input::open(path)?)
    }

    /// A trace in memory; `name` stands for the path in errors.
    ///
    /// # Errors
    /// As [`TraceFile::open`].
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Self, TraceError> {
        Self::understand(Input::memory(name, bytes))
    }

    fn understand(input: Input) -> Result<Self, TraceError> {
        if dat::is_dat(&input)? {
            return Ok(Self { dat: dat::DatFile::open(input)? });
        }
        let mut head = vec![0; 4096];
        let got = input.read_at(0, &mut head).map_err(|source| TraceError::Read {
            path: input.path().to_path_buf(),
            offset: 0,
            what: "the start",
            source,
        })?;
        let look = sniff::look(head.get(..got).unwrap_or_default());
        Err(TraceError::NotATrace {
            path: input.path().to_path_buf(),
            looks_like: look.looks_like,
            advice: look.advice,
        })
    }

    /// What the trace says about itself.
    #[must_use]
    pub fn meta(&self) -> &TraceMeta {
        self.dat.meta()
    }

    /// The events from the first on. May be called several times, also at the same time.
    ///
    /// # Errors
    /// When reading cannot start.
    pub fn events(&self) -> Result<Events<'_>, TraceError> {
        Ok(Events { dat: self.dat.events() })
    }
}

/// The events of a trace: all CPUs merged in time order; of equal times the lower CPU first, then in the order of the
/// CPU's buffer.
pub struct Events<'a> {
    dat: dat::DatEvents<'a>,
}

impl Events<'_> {
    /// What was lost or doubtful in the events so far; complete after the last.
    #[must_use]
    pub fn health(&self) -> &Health {
        self.dat.health()
    }

    /// How many events of each id came so far, those that became `Other` included, those made by the reader not.
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<u16, u64> {
        self.dat.counts()
    }

    /// The name of the handler of interrupt `irq`, once an `irq_handler_entry` of it was read.
    #[must_use]
    pub fn irq_name(&self, irq: i32) -> Option<&str> {
        self.dat.irq_name(irq)
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.dat.next_event()
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Text that tracers print: `trace` and `trace_pipe` of ftrace, `trace-cmd report`, `perf script`, Android's systrace
//! and atrace.
//!
//! The text is read once from front to end for each stream of events, a buffer of 256 KiB at a time; what is kept are
//! the names of events and tasks and how each event spells its fields. Events come in the order of the lines: these
//! tools have merged the CPUs already.

mod head;
mod line_kind;
mod lines;
mod locate;
mod shape;
mod source;
mod stream;
mod survey;
mod values;
mod words;
mod wrapping;

use crate::error::TraceError;
use crate::input::Input;
use crate::kernel::tick;
use crate::meta::TraceMeta;
use crate::reader::{Reader, Stream};

use lines::Lines;
use source::Part;
use stream::TextEvents;
pub(crate) use survey::looks_like;
use survey::{Facts, Survey};
pub(crate) use wrapping::Wrapping;

/// A text that was understood.
struct TextFile {
    input: Input,
    part: Part,
    meta: TraceMeta,
    facts: Facts,
}

/// Opens a text that is wrapped as told.
pub(crate) fn open(input: Input, wrapping: Wrapping) -> Result<Box<dyn Reader>, TraceError> {
    let mut meta = TraceMeta { hash: input.hash()?, bytes: input.len(), ..TraceMeta::default() };
    let part = locate::part_of(wrapping, &input, &mut meta)?;
    let mut lines = Lines::new(part.read(&input));
    let survey = Survey::of(&mut lines);
    let broken = lines.broken();
    drop(lines);
    if let Some(e) = broken {
        return Err(TraceError::Malformed {
            path: input.path().to_path_buf(),
            section: "the trace",
            offset: part.from,
            expected: format!("{} ({e})", part.packing.describe()),
            advice: crate::error::CUT_OFF,
        });
    }
    if survey.is_unreadable() && survey.is_beyond_time() {
        return Err(TraceError::Malformed {
            path: input.path().to_path_buf(),
            section: "the trace",
            offset: part.from,
            expected: "times below 18446744073 s, all that 64 bits of nanoseconds hold".to_owned(),
            advice: "the clock was wrong, or the times were changed: take the same amount off all of them, or record \
                     again",
        });
    }
    if survey.is_unreadable() {
        return Err(TraceError::Unsupported {
            path: input.path().to_path_buf(),
            what: "ftrace text without tasks or times (trace options raw, hex, bin, verbose or nocontext-info) is"
                .to_owned(),
            advice: "turn these options off and read the trace again",
        });
    }
    let facts = survey.tell(wrapping, part.packing, &mut meta);
    // A text does not say what it may hold; what its first lines hold is there at least.
    let nothing = TextEvents::new(Lines::new(Box::new(std::io::empty())), &facts);
    let name = |id| nothing.learned().event_name(id).map(|name| (id, name.to_owned()));
    meta.event_names = (0..=u16::MAX).map_while(name).collect();
    let mut file = TextFile { input, part, meta, facts };
    let found = tick::find(&mut *file.events()?);
    if let Some(tick) = found {
        tick.tell(&mut file.meta);
    }
    Ok(Box::new(file))
}

impl Reader for TextFile {
    fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    fn inputs(&self) -> Vec<&Input> {
        vec![&self.input]
    }

    fn events(&self) -> Result<Box<dyn Stream + '_>, TraceError> {
        Ok(Box::new(TextEvents::new(Lines::new(self.part.read(&self.input)), &self.facts)))
    }
}

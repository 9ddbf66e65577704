// SPDX-License-Identifier: GPL-2.0-only
//! Text that tracers print: `trace` and `trace_pipe` of ftrace, `trace-cmd report`, `perf script`, Android's systrace
//! and atrace.
//!
//! The text is read once from front to end for each stream of events, a buffer of 256 KiB at a time; what is kept are
//! the names of events and tasks and how each event spells its fields. Events come in the order of the lines: these
//! tools have merged the CPUs already. Where they did not ([`sections`]), the parts of the text are merged; what was copied
//! by other programs ([`carrier`]) is restored first.

mod babeltrace;
mod carrier;
mod folded;
mod graph;
mod head;
mod json;
mod line_kind;
mod lines;
mod locate;
mod refusal;
mod sections;
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

use carrier::Carrier;
use lines::Lines;
use sections::{Arrangement, Section};
use source::{Part, between};
use stream::TextEvents;
use survey::{Facts, Survey};
pub(crate) use wrapping::Wrapping;

/// A text that was found.
struct Text {
    input: Input,
    part: Part,
    carrier: Carrier,
}

/// A text that was understood.
struct TextFile {
    text: Text,
    meta: TraceMeta,
    facts: Facts,
    arrangement: Arrangement,
}

impl Text {
    fn lines(&self) -> Lines<'_> {
        Lines::new(self.carrier.restore(self.part.read(&self.input)))
    }

    fn section(&self, section: &Section) -> Result<Lines<'_>, TraceError> {
        let (from, to) = (section.from, section.to);
        let text = match self.carrier {
            Carrier::Tracer => self.part.read_between(&self.input, from, to),
            carrier => between(carrier.restore(self.part.read(&self.input)), from, to),
        };
        let text = text.map_err(|source| TraceError::Read {
            path: self.input.path().to_path_buf(),
            offset: from,
            what: "a part of the text",
            source,
        })?;
        Ok(Lines::behind(section.lines, text))
    }
}

/// Whether the start of a file is text of a tracer.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    // A damaged line may hold some; a binary format begins with many.
    if head.iter().take(512).filter(|b| **b == 0).count() > 16 {
        return false;
    }
    let lines = || Lines::new(Box::new(head));
    let carrier = Carrier::of(lines());
    let restored = carrier.restore(Box::new(head));
    carrier == Carrier::FunctionGraph || Survey::of(&mut Lines::new(restored)).is_trace()
}

/// Opens a text that is wrapped as told.
pub(crate) fn open(input: Input, wrapping: Wrapping) -> Result<Box<dyn Reader>, TraceError> {
    let mut meta = TraceMeta { hash: input.hash()?, bytes: input.len(), ..TraceMeta::default() };
    let part = locate::part_of(wrapping, &input, &mut meta)?;
    let carrier = Carrier::of(Lines::new(part.read(&input)));
    let text = Text { input, part, carrier };
    let mut lines = text.lines();
    let survey = Survey::of(&mut lines);
    let broken = lines.broken();
    drop(lines);
    let input = &text.input;
    if let Some(e) = broken {
        return Err(TraceError::Malformed {
            path: input.path().to_path_buf(),
            section: "the trace",
            offset: part.from,
            expected: format!("{} ({e})", part.packing.describe()),
            advice: crate::error::CUT_OFF,
        });
    }
    if let Some(refusal) = refusal::refusal(input.path(), part.from, carrier, &survey) {
        return Err(refusal);
    }
    let facts = survey.tell(wrapping, part.packing, carrier, &mut meta);
    let arrangement = Arrangement::of(|| text.lines());
    arrangement.tell(&mut meta);
    // A text does not say what it may hold; what its first lines hold is there at least.
    let nothing = TextEvents::new(Lines::new(Box::new(std::io::empty())), &facts);
    let name = |id| nothing.learned().event_name(id).map(|name| (id, name.to_owned()));
    meta.event_names = (0..=u16::MAX).map_while(name).collect();
    let mut file = TextFile { text, meta, facts, arrangement };
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
        vec![&self.text.input]
    }

    fn events(&self) -> Result<Box<dyn Stream + '_>, TraceError> {
        let sections = self.arrangement.sections();
        if sections.is_empty() {
            return Ok(Box::new(TextEvents::new(self.text.lines(), &self.facts)));
        }
        let parts = sections.iter().map(|section| Ok((self.text.section(section)?, section)));
        Ok(Box::new(TextEvents::merged(parts.collect::<Result<_, TraceError>>()?, &self.facts)))
    }
}

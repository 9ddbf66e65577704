// SPDX-License-Identifier: GPL-2.0-only
//! Raw ring buffers: a directory with the pages of each CPU as `trace_pipe_raw` gave them, and the files of tracefs that
//! describe them. It may be a copy of tracefs, what schedviz' recorder collects, or anything in between (see [`find`]).
//! Memory: that of [`ring_buffer`](crate::kernel::ring_buffer), and the text of the descriptions.

mod find;

use std::path::Path;

use idlewise_model::{HealthKind, NoteId};
use xxhash_rust::xxh3::Xxh3;

use crate::error::TraceError;
use crate::input::{Input, text};
use crate::kernel::bytes::Decoders;
use crate::kernel::clock::{self, Clock};
use crate::kernel::format::PageLayout;
use crate::kernel::order::{ByteOrder, Order};
use crate::kernel::ring_buffer::{COMMIT_FLAGS, MAX_PAGE, MIN_PAGE, Region, RingTrace};
use crate::meta::{CpuStats, TraceMeta};
use crate::symbols::Symbols;
use crate::unpack::Packing;
use find::Found;

/// No description is longer; the kernel's symbols come to some 20 MB.
const MAX_TEXT: u64 = 256 << 20;

const COLLECT_FORMATS: &str = "copy it from the machine that recorded: \
     cd /sys/kernel/tracing && cp --parents events/header_page events/*/*/format DIRECTORY";
const COLLECT_PAGES: &str = "copy them from the machine that recorded: for cpu in /sys/kernel/tracing/per_cpu/cpu*; \
     do dd if=$cpu/trace_pipe_raw of=DIRECTORY/${cpu##*/} bs=4096 iflag=nonblock; done";

/// Opens the directory; `None` when nothing in it looks like raw ring buffers.
pub(crate) fn open(directory: &Path) -> Result<Option<RingTrace>, TraceError> {
    let found = Found::look(directory)?;
    let missing = |missing: &'static str, advice| TraceError::Incomplete {
        path: directory.to_path_buf(),
        missing,
        advice,
    };
    match (found.pages.is_empty(), found.formats.is_empty()) {
        (true, true) => return Ok(None),
        (true, false) => return Err(missing("the pages of the CPUs (cpu0, cpu1, ...) are", COLLECT_PAGES)),
        (false, true) => return Err(missing("events/SYSTEM/EVENT/format is", COLLECT_FORMATS)),
        (false, false) => {}
    }
    let header_page = found.header_page.clone();
    let header_page = header_page.ok_or_else(|| missing("events/header_page is", COLLECT_FORMATS))?;
    // Its files have no length, and reading its pages would take them away from others, or wait for them.
    if found.is_live && std::fs::metadata(&header_page).is_ok_and(|m| m.len() == 0) {
        return Err(missing("a copy of the files (this is the kernel's own tracefs) is", COLLECT_PAGES));
    }
    let mut reader = Reader { hash: Xxh3::new(), meta: TraceMeta::default() };
    let page = reader.text(&header_page)?;
    let layout = PageLayout::parse(&page).filter(|l| (MIN_PAGE..=MAX_PAGE).contains(&(l.page as u32)));
    let layout = layout.ok_or_else(|| TraceError::Malformed {
        path: header_page,
        section: "the description of a page",
        offset: 0,
        expected: "the fields timestamp, commit and data, as the kernel writes them".to_owned(),
        advice: COLLECT_FORMATS,
    })?;
    let decoders = reader.descriptions(&found)?;
    reader.facts(&found)?;
    let mut inputs = Vec::new();
    let mut regions = Vec::new();
    for (cpu, path) in &found.pages {
        let input = Input::open(path)?;
        reader.hash_of(&input, path)?;
        regions.push(Region { cpu: *cpu, input: inputs.len(), offset: 0, size: input.len() });
        inputs.push(input);
    }
    let order = order_of(&inputs, layout);
    let mut trace = RingTrace {
        meta: reader.finish(order, &inputs),
        inputs,
        regions,
        order,
        decoders,
        layout,
        page_size: layout.page,
        packing: Packing::None,
        clock: Clock::default(),
    };
    trace.complete_meta();
    Ok(Some(trace))
}

/// What was read of the descriptions so far.
struct Reader {
    /// Of all files that count.
    hash: Xxh3,
    meta: TraceMeta,
}

impl Reader {
    fn hash_of(&mut self, input: &Input, path: &Path) -> Result<(), TraceError> {
        self.hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        self.hash.update(&input.len().to_le_bytes());
        input.feed(&mut self.hash)
    }

    /// The text of a file; what is too long for a description is empty, with a note.
    fn text(&mut self, path: &Path) -> Result<String, TraceError> {
        let input = Input::open(path)?;
        if input.len() > MAX_TEXT {
            let what = format!("{}, which is too long", path.display());
            self.meta.note(NoteId::Reader, format!("left out: {what}"));
            self.meta.health.add(HealthKind::Ignored, 1, || what);
            return Ok(String::new());
        }
        self.hash_of(&input, path)?;
        Ok(text(&input.whole("a description")?))
    }

    /// Reads the formats of the events.
    fn descriptions(&mut self, found: &Found) -> Result<Decoders, TraceError> {
        let mut decoders = Decoders::default();
        for ((system, event), path) in &found.formats {
            let text = self.text(path)?;
            if !decoders.learn(system, &text, &mut self.meta) {
                let what = format!("the format of {system}:{event}, which has no name or id");
                self.meta.note(NoteId::UnknownFormat, format!("left out: {what}"));
                self.meta.health.add(HealthKind::UnknownEvent, 1, || what);
            }
        }
        if let Some(path) = &found.printk_formats {
            decoders.learn_texts(&self.text(path)?);
        }
        Ok(decoders)
    }

    /// Reads what tracefs and /proc say beside the formats.
    fn facts(&mut self, found: &Found) -> Result<(), TraceError> {
        if let Some(path) = &found.saved_cmdlines {
            let text = self.text(path)?;
            self.meta.learn_comms(&text);
        }
        if let Some(path) = &found.kallsyms {
            self.meta.symbols = Symbols::new(self.text(path)?.into_bytes());
        }
        if let Some(path) = &found.uname {
            self.meta.kernel = self.text(path)?.trim().to_owned();
        }
        match &found.trace_clock {
            Some(path) => self.meta.clock = clock::selected(&self.text(path)?),
            None => self.meta.note(
                NoteId::TraceClock,
                "the trace clock is not known (no file trace_clock): the kernel's default is local"
                    .to_owned(),
            ),
        }
        for (cpu, path) in &found.stats {
            let text = self.text(path)?;
            self.meta.cpu_stats.insert(*cpu, CpuStats::of(&text));
        }
        Ok(())
    }

    fn finish(self, order: ByteOrder, inputs: &[Input]) -> TraceMeta {
        let ending = if order.big() { ", big-endian" } else { "" };
        TraceMeta {
            format: format!("raw ring buffers{ending}"),
            hash: format!("{:032x}", self.hash.digest128()),
            bytes: inputs.iter().map(Input::len).sum(),
            ..self.meta
        }
    }
}

/// The byte order of the pages: no description tells it, but a commit word read in the wrong one is too large.
fn order_of(inputs: &[Input], layout: PageLayout) -> ByteOrder {
    let told = inputs.iter().find_map(|input| {
        let mut bytes = [0; 8];
        input.read_at(layout.commit as u64, &mut bytes).ok().filter(|n| *n == 8)?;
        let fits = |order: ByteOrder| {
            let narrow = bytes.first_chunk::<4>().map(|b| order.u32(*b).into());
            let word = if layout.wide { order.u64(bytes) } else { narrow.unwrap_or(u64::MAX) };
            layout.data as u64 + (word & !COMMIT_FLAGS) <= layout.page as u64
        };
        match (fits(ByteOrder::Little), fits(ByteOrder::Big)) {
            (true, false) => Some(ByteOrder::Little),
            (false, true) => Some(ByteOrder::Big),
            _ => None,
        }
    });
    told.unwrap_or_default()
}

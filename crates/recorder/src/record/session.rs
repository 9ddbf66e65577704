// SPDX-License-Identifier: GPL-2.0-only
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use idlewise_model::{Note, NoteId};
use idlewise_trace::write::{DatForm, DatHead, UsedSymbols};

use super::buffers::totals;
use super::facts::Facts;
use super::look::{self, CpuCounters};
use super::plan::{Companion, Plan};
use super::spool::{self, Spool};
use super::stop::Stop;
use super::wait::{self, Ended, Progress};
use idlewise_live::tracefs::pages::Parts;
use idlewise_live::tracefs::{CLOCK, Instance, Tracefs};
use idlewise_live::{Host, Journal, LiveError};

/// A recording that is over; its pages wait to be written.
#[derive(Debug)]
pub struct Recorded {
    parts: PathBuf,
    pages: Vec<(u32, PathBuf)>,
    head: DatHead,
    /// What is to be known of the machine.
    pub facts: Facts,
    /// The CPUs that were online, by the kernel's counters before.
    pub before: CpuCounters,
    pub after: CpuCounters,
    /// How the command ended.
    pub ended: Ended,
    /// From tracing on to tracing off, ns.
    pub span_ns: u64,
    /// Events in the buffers, by the kernel's count.
    pub events: u64,
    /// Events that did not fit, by the kernel's count.
    pub lost: u64,
    /// Buffer of each CPU, KiB.
    pub buffer_kib: u64,
    /// What was recorded: systems, and single events.
    pub recorded: Vec<String>,
    /// What this kernel does not have.
    pub missing: Vec<String>,
    /// Where that is now which a killed recording had left in the folder for the pages.
    pub moved: Option<PathBuf>,
    /// The kernel hides the names of its functions.
    pub nameless: bool,
    /// What went wrong beside the trace itself.
    pub notes: Vec<Note>,
}

/// Records. The trace instance is noted in `journal`, which removes it.
///
/// # Errors
/// [`LiveError`] when something is missing or refused. Pages that were captured are kept in the folder `plan.parts`, and the
/// error says so.
pub fn record(
    host: &Host,
    plan: &Plan,
    journal: &mut Journal,
    companion: Option<&mut dyn Companion>,
    stop: &mut Stop,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Recorded, LiveError> {
    let tracefs = Tracefs::of(host)?;
    let moved = spool::make_folder(&plan.parts, plan.force)?;
    match into_parts(host, &tracefs, plan, journal, companion, stop, progress) {
        Ok(recorded) => Ok(Recorded { moved, ..recorded }),
        Err(e) if spool::holds_pages(&plan.parts) => {
            Err(LiveError::Kept { why: Box::new(e), kept: kept(&plan.parts) })
        }
        Err(e) => {
            let _ = spool::remove(&plan.parts);
            Err(e)
        }
    }
}

/// Where what was captured is, in words.
#[must_use]
fn kept(parts: &Path) -> String {
    let parts = parts.display();
    format!("{parts} keeps the captured data: `idlewise info {parts}` reads it")
}

fn into_parts(
    host: &Host,
    tracefs: &Tracefs,
    plan: &Plan,
    journal: &mut Journal,
    mut companion: Option<&mut dyn Companion>,
    stop: &mut Stop,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Recorded, LiveError> {
    let cpus = look::online(host);
    let facts = Facts::of(host, &cpus);
    let path = tracefs.own_instance();
    let buffer_kib = plan.buffer_kib.unwrap_or_else(|| spool::buffer_kib(host, cpus.len()));
    let header_page = tracefs.read("events/header_page")?;
    let page = DatHead { header_page, ..DatHead::default() }.page_size();
    journal.made(&path, Some(Parts { folder: whole(&plan.parts)?, page }))?;
    let instance = Instance::make(path.clone(), buffer_kib)?;
    let mut head = describe(host, tracefs, &instance, &facts)?;
    spool::describe(&plan.parts, &head)?;
    let mut spool = Spool::new(&plan.parts, &instance, page)?;

    instance.record(true)?;
    let start_ns = look::now_ns();
    let before = CpuCounters::take(host, &cpus);
    if let Some(c) = companion.as_mut() {
        c.start()?;
    }
    let ended = wait::through(plan, &mut spool, stop, journal, progress)?;
    let companion = companion.map_or(Ok(()), Companion::stop);
    let after = CpuCounters::take(host, &cpus);
    instance.record(false)?;
    let span_ns = look::now_ns() - start_ns;

    let pages = spool.finish()?;
    journal.emptied(&path)?;
    let failed = companion.err().map(|e| NoteId::InputsIncomplete.note(e.to_string()));
    let mut notes: Vec<Note> = failed.into_iter().collect();
    notes.extend(look::offline(host, &cpus));
    let (events, lost, stats) = totals(&instance)?;
    head.stats = stats;
    head.saved_cmdlines = tracefs.read("saved_cmdlines").unwrap_or_default();
    if events == 0 {
        let why = "no event at all was recorded, though tracing was on; is another tracer in the way (tracing_on, lockdown)?";
        return Err(LiveError::lacks(why));
    }
    let nameless = UsedSymbols::new(&head.kallsyms).is_empty();
    let (recorded, missing) = (instance.recorded.clone(), instance.missing.clone());
    let parts = plan.parts.clone();
    Ok(Recorded {
        parts,
        pages,
        head,
        facts,
        before,
        after,
        ended,
        span_ns,
        events,
        lost,
        buffer_kib,
        recorded,
        missing,
        moved: None,
        nameless,
        notes,
    })
}

/// The path from the root, for who works in another folder.
fn whole(path: &Path) -> Result<PathBuf, LiveError> {
    std::path::absolute(path).map_err(LiveError::io(path))
}

/// All that describes the pages.
pub(super) fn describe(
    host: &Host,
    tracefs: &Tracefs,
    instance: &Instance,
    facts: &Facts,
) -> Result<DatHead, LiveError> {
    let mut head = DatHead {
        header_page: tracefs.read("events/header_page")?,
        header_event: tracefs.read("events/header_event")?,
        kallsyms: fs::read_to_string(host.proc.join("kallsyms")).unwrap_or_default(),
        printk_formats: tracefs.read("printk_formats").unwrap_or_default(),
        clock: CLOCK.to_owned(),
        // The host's name is nobody's business.
        uname: format!("Linux localhost {} {}", facts.kernel, facts.machine),
        recorder: concat!("idlewise ", env!("CARGO_PKG_VERSION")).to_owned(),
        ..DatHead::default()
    };
    for system in instance.systems.iter().map(String::as_str).chain(["ftrace"]) {
        let formats = tracefs.formats(system)?.into_iter().map(|(_, text)| text).collect();
        head.formats.insert(system.to_owned(), formats);
    }
    Ok(head)
}

impl Recorded {
    /// Writes the recording as a `trace.dat` to `file`, which is empty, with `description` in it. Of the kernel's symbols
    /// those are kept that the pages refer to.
    ///
    /// # Errors
    /// When a file cannot be read or written; the pages are kept, and the error says where.
    pub fn write(&self, form: DatForm, description: &str, file: &File) -> Result<(), LiveError> {
        self.pack(form, description, file)
            .map_err(|e| LiveError::Kept { why: Box::new(e), kept: kept(&self.parts) })
    }

    fn pack(&self, form: DatForm, description: &str, file: &File) -> Result<(), LiveError> {
        let mut symbols = UsedSymbols::new(&self.head.kallsyms);
        let mut buffer = vec![0; 64 * self.head.page_size()];
        let mut pages = Vec::new();
        for (cpu, path) in &self.pages {
            let open = || File::open(path).map_err(LiveError::io(path));
            let mut pages_of = open()?;
            loop {
                let n = pages_of.read(&mut buffer).map_err(LiveError::io(path))?;
                if n == 0 {
                    break;
                }
                symbols.look(buffer.get(..n).unwrap_or_default());
            }
            pages.push((*cpu, open()?));
        }
        let (kallsyms, description) = (symbols.text(), description.to_owned());
        let head = DatHead { kallsyms, description, ..self.head.clone() };
        head.write(form, &mut pages, file).map_err(LiveError::io(&self.parts))
    }

    /// Where the pages are until they are written.
    #[must_use]
    pub fn parts(&self) -> &Path {
        &self.parts
    }

    /// Removes the pages: the recording is written.
    pub fn done(&self) {
        // A folder that stays does no harm; the next recording to the same file says so.
        let _ = spool::remove(&self.parts);
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! A recording in another format, to be looked at elsewhere, with what governors did in it: `idlewise convert`.

use idlewise_conform::settle_io_waits;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use idlewise_model::{Entry, EventKind, Outcome};
use idlewise_replay::{Setting, Workload};
use idlewise_score::entry_fj;
use idlewise_trace::TraceFile;
use idlewise_trace::write::{FtraceText, Note, PerfettoWriter, Slice, Track, perfetto_has_clock};

use crate::report::IdleOutcome;
use idlewise_recording::candidate::Candidate;
use idlewise_recording::description::Description;
pub use idlewise_recording::description::{Carried, Kept};
use idlewise_recording::file_state::FileState;
use idlewise_recording::input_files::is_tape;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, RecordingOptions, ReplaySetup, TraceHead, governors};

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text as the kernel's `trace` file holds it.
    Text,
    Perfetto,
}

impl Form {
    /// The format that a file's name ends with.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        match ending.to_ascii_lowercase().as_str() {
            "txt" | "text" | "trace" | "ftrace" => Some(Self::Text),
            "perfetto-trace" | "pftrace" | "perfetto" => Some(Self::Perfetto),
            _ => None,
        }
    }
}

/// The trace to convert, and the format to write.
#[derive(Clone, Debug)]
pub struct ConvertRequest {
    pub trace: PathBuf,
    /// The format to write.
    pub to: Form,
    /// Where it goes; for errors only.
    pub output: PathBuf,
    /// Governors to replay, whose choices become tracks; none where it is empty.
    pub governors: Vec<String>,
    pub setup: ReplaySetup,
}

impl ConvertRequest {
    /// Without governors nothing is replayed: what says where and how would be passed over. [`convert`] itself does not ask
    /// this.
    ///
    /// # Errors
    /// [`CommandError::Conflict`] with the first such option.
    pub fn check(&self) -> Result<(), CommandError> {
        if !self.governors.is_empty() {
            return Ok(());
        }
        let setup = &self.setup;
        // Events are of an instance, too.
        let recording = RecordingOptions { instance: None, ..setup.recording.clone() };
        let given = [
            ("--platform", setup.platform.is_some()),
            ("--cluster", setup.cluster.is_some()),
            ("--seed", setup.seed != 0),
            ("--kernel-tree", !setup.kernel_trees.is_empty()),
        ];
        let given = given.into_iter().find(|(_, given)| *given).map(|(option, _)| option);
        match given.or_else(|| recording.first_given()) {
            Some(option) => {
                let why = format!(
                    "{option} is for governors that are replayed, and none is named: add --governor, or leave it out"
                );
                Err(CommandError::conflict(&[option, "--governor"], why))
            }
            None => Ok(()),
        }
    }
}

/// How many events were written, and what the format could not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertReport {
    pub events: u64,
    /// Those that lost their fields because idlewise does not read them: "system:name" and how many.
    pub bare: Vec<(String, u64)>,
    /// The tracks of each governor.
    pub tracks: Vec<GovernorTracks>,
    /// What was assumed about the trace by hand, on which the tracks rest.
    pub assumption: Option<String>,
    /// What speaks against the machine on which the tracks rest.
    pub warnings: Vec<idlewise_model::Note>,
    /// What is known of the trace besides its events, as a side-car of the new file.
    pub description: Option<Carried>,
    /// What the new file lacks, in sentences.
    pub lacks: Vec<String>,
}

/// The tracks that show one governor's choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GovernorTracks {
    /// The governor with its parameters.
    pub governor: String,
    /// CPUs, each of which has a track.
    pub cpus: Vec<u32>,
    /// Idle stays on all of them.
    pub stays: u64,
    /// Why there are none: it crashed, did not come back, refused a CPU.
    pub failure: Option<String>,
}

/// Writes the trace that `request` names to `out`. `progress` hears of every governor that is done, and of how many.
///
/// # Errors
/// [`CommandError`] when something cannot be read, found or written, or text is asked for with governors.
pub fn convert(
    request: &ConvertRequest,
    out: &mut dyn Write,
    progress: &dyn Fn(usize, usize),
) -> Result<ConvertReport, CommandError> {
    if request.to == Form::Text && !request.governors.is_empty() {
        let why = "text has no tracks: a governor's choices are shown in Perfetto's format only";
        return Err(CommandError::conflict(&["--governor", "--to"], why));
    }
    if is_tape(&request.trace)? {
        let why = "a tape holds no events; name the trace it was made of";
        return Err(CommandError::input(&request.trace, why));
    }
    // What may be wrong with the request is said before the work begins.
    let stage = (!request.governors.is_empty()).then(|| Stage::open(request)).transpose()?;
    let steady = FileState::of(&request.trace);
    let trace = request.setup.recording.open(&request.trace)?;
    trace.count_into(&request.setup.recording.meter, 1);
    let failed = |e: io::Error| CommandError::file(&request.output, e);
    let mut report = ConvertReport {
        assumption: stage.as_ref().and_then(Stage::assumption),
        warnings: stage.as_ref().map_or_else(Vec::new, Stage::warnings),
        ..ConvertReport::default()
    };
    report.describe(request, &trace);
    match request.to {
        Form::Text => {
            let mut writer = FtraceText::new(out, trace.meta()).map_err(failed)?;
            report.events(&trace, |event, events| writer.event(event, events).map_err(failed))?;
            writer.finish().map_err(failed)?;
        }
        Form::Perfetto => {
            let mut writer = PerfettoWriter::new(out, trace.meta()).map_err(failed)?;
            report.events(&trace, |event, events| writer.event(event, events).map_err(failed))?;
            if let Some(stage) = &stage {
                for (done, candidate) in stage.candidates.iter().enumerate() {
                    progress(done, stage.candidates.len());
                    report.tracks.push(stage.tracks(candidate, request, &mut writer)?);
                }
            }
            writer.finish().map_err(failed)?;
        }
    }
    steady.check()?;
    Ok(report)
}

impl ConvertReport {
    /// What is known of the trace besides its events, and what of it the new file has no place for.
    fn describe(&mut self, request: &ConvertRequest, trace: &TraceFile) {
        let meta = trace.meta();
        let described = Description::of(&request.trace, meta.description.as_deref())
            .and_then(|d| Ok((d.for_a_copy()?, d.inputs())));
        match described {
            Ok((carried, inputs)) => {
                self.description = carried;
                self.lacks.extend(inputs.map(|inputs| {
                    let file = inputs.file.display();
                    format!("the governor's true inputs stay next to the recording: {file}")
                }));
            }
            // The events are what was asked for.
            Err(why) => self.lacks.push(format!("what is known of the recording besides its events: {why}")),
        }
        if request.to == Form::Perfetto && !perfetto_has_clock(&meta.clock) {
            let clock = match meta.clock.as_str() {
                "" => "the recording does not name its trace clock".to_owned(),
                clock => format!("Perfetto has no trace clock {clock}"),
            };
            self.lacks.push(format!(
                "{clock}: Perfetto shows the times as those of its clock BOOTTIME; idlewise reads the clock \
                 from the side-car"
            ));
        }
    }

    /// Gives every event of `trace` to `write`.
    fn events(
        &mut self,
        trace: &TraceFile,
        mut write: impl FnMut(&idlewise_model::Event, &idlewise_trace::Events<'_>) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let mut events = trace.events()?;
        let mut bare: BTreeMap<u16, u64> = BTreeMap::new();
        while let Some(event) = events.next() {
            match event.kind {
                EventKind::Lost { .. } => {}
                EventKind::Other { id } => {
                    *bare.entry(id).or_default() += 1;
                    self.events += 1;
                }
                _ => self.events += 1,
            }
            write(&event, &events)?;
        }
        trace.check_read()?;
        let name = |id: u16| events.event_name(id).map_or_else(|| format!("event {id}"), str::to_owned);
        self.bare = bare.into_iter().map(|(id, n)| (name(id), n)).collect();
        self.bare.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(())
    }
}

/// Where governors are run.
struct Stage {
    placement: Placement,
    candidates: Vec<Candidate>,
    workloads: Vec<Workload>,
    setting: Setting,
}

impl Stage {
    fn heads(&self) -> Vec<TraceHead> {
        self.placement
            .recordings
            .iter()
            .map(|r| TraceHead::new(r, |cpu| self.placement.missing(cpu)))
            .collect()
    }

    fn assumption(&self) -> Option<String> {
        TraceHead::assumptions(&self.heads())
    }

    fn warnings(&self) -> Vec<idlewise_model::Note> {
        TraceHead::warnings(&self.heads())
    }

    fn open(request: &ConvertRequest) -> Result<Self, CommandError> {
        let candidates = governors::candidates(&request.governors, &request.setup.kernel_trees)?;
        let mut placement = Placement::open_one(&request.trace, &request.setup)?;
        settle_io_waits(&mut placement.recordings, &governors::offered([], &request.setup.kernel_trees))?;
        let recording = placement.first()?;
        let workloads = placement.workloads(recording)?;
        let setting = Setting::new(placement.same_machine(recording), request.setup.seed);
        Ok(Self { placement, candidates, workloads, setting })
    }

    /// Runs `candidate` on all CPUs and draws what it did.
    fn tracks<W: Write>(
        &self,
        candidate: &Candidate,
        request: &ConvertRequest,
        writer: &mut PerfettoWriter<W>,
    ) -> Result<GovernorTracks, CommandError> {
        let governor = candidate.name().to_owned();
        let cpus: Vec<&Workload> = self.workloads.iter().collect();
        let mut drawn = GovernorTracks { governor, cpus: Vec::new(), stays: 0, failure: None };
        let runs = match candidate.run(&cpus, &self.placement, self.setting, |_, _| Vec::new()) {
            Ok(runs) => runs,
            // It takes no other's tracks away.
            Err(CommandError::Governor(e)) if candidate.is_foreign() && e.is_misbehaviour() => {
                drawn.failure = Some(e.to_string());
                return Ok(drawn);
            }
            Err(e) => return Err(e),
        };
        let failed = |e: io::Error| CommandError::file(&request.output, e);
        let parent = writer.track(&drawn.governor, None).map_err(failed)?;
        for ran in runs.cpus {
            let Some(place) = self.placement.place(ran.cpu) else { continue };
            let names: Vec<&str> = place.table.states().iter().map(|s| s.name.as_str()).collect();
            let name = format!("{} / CPU {}", drawn.governor, ran.cpu);
            let track = writer.track(&name, Some(parent)).map_err(failed)?;
            let fj = |e: &Entry| i64::try_from(entry_fj(&place.table, &place.energy, e)).unwrap_or(i64::MAX);
            let measured = place.energy.unit() == "mJ";
            let energy = if measured { "energy_fj" } else { "energy_relative" };
            draw(writer, track, &ran.pages, &names, (energy, &fj)).map_err(failed)?;
            drawn.cpus.push(ran.cpu);
            drawn.stays += ran.pages.len() as u64;
        }
        Ok(drawn)
    }
}

/// Draws every idle period as a slice that bears the state's number and name; its energy is noted under the name that comes with it.
fn draw<W: Write>(
    writer: &mut PerfettoWriter<W>,
    track: Track,
    entries: &[Entry],
    states: &[&str],
    (energy_name, energy): (&str, &dyn Fn(&Entry) -> i64),
) -> io::Result<()> {
    let state = |i: u8| format!("{i} {}", states.get(usize::from(i)).unwrap_or(&"?"));
    let mut free_ns = 0;
    for entry in entries {
        let came = IdleOutcome::of(entry);
        let start_ns = entry.start_ns.max(free_ns);
        let after = |ns: i64| entry.start_ns.saturating_add_signed(ns).max(start_ns);
        let (wake_ns, end_ns) = (after(entry.wake_ns), after(entry.wake_ns.saturating_add(entry.latency_ns)));
        free_ns = end_ns;
        let chosen = state(entry.selected);
        let name = match entry.outcome {
            Outcome::Stayed { entered, .. } => state(entered),
            Outcome::Rejected => "refused".to_owned(),
        };
        let notes = [
            ("chosen", Note::Text(&chosen)),
            ("tick", Note::Text(came.tick)),
            ("woken_by", Note::Text(came.cause)),
            ("verdict", Note::Text(came.verdict)),
            ("residency_ns", Note::Number(entry.residency_ns)),
            ("wake_ns", Note::Number(entry.wake_ns)),
            ("latency_ns", Note::Number(entry.latency_ns)),
            (energy_name, Note::Number(energy(entry))),
        ];
        let category = format!("tick {}", came.tick);
        let mark = (came.verdict != "right").then_some((wake_ns, came.verdict));
        writer.slice(
            track,
            &Slice { start_ns, end_ns, name: &name, category: &category, notes: &notes, mark },
        )?;
    }
    Ok(())
}

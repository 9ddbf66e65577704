// SPDX-License-Identifier: GPL-2.0-only
//! Removes from a tape what tells people and machines apart, and when it was: names, pids, addresses, absolute times.

use std::io::Write as _;
use std::path::Path;

use idlewise_files::new_file::Unfinished;
use idlewise_model::{Change, CpuTape, Health, Note, NoteId, Piece, Pieces, PiecesError, Tape, TapeCpu};
use idlewise_recording::{CommandError, Recording};
use idlewise_tape::file as tape_file;
use regex_lite::Regex;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::CollectError;

/// When every scrubbed tape begins, ns: late enough for a timer that was due before.
const BEGINS_NS: u64 = 1_000_000_000;

/// A scrubbed tape, in a file that goes away with it.
#[derive(Debug)]
pub struct Scrubbed {
    pub file: NamedTempFile,
    _unfinished: Unfinished,
    /// By how much its times are earlier than the recording's, ns.
    pub shift_ns: u64,
}

/// The tape of `recording` without what tells people and machines apart, under `name`, in a temporary file in `folder`.
///
/// # Errors
/// [`CollectError`] when the tape cannot be read or the file not written.
pub fn scrub_to(recording: &Recording, name: &str, folder: &Path) -> Result<Scrubbed, CollectError> {
    let tape = scrub(&recording.tape, name)?;
    let of_file = |source| {
        CollectError::from(CommandError::TapeFile { path: recording.path.display().to_string(), source })
    };
    let bytes = tape_file::write(&tape).map_err(of_file)?;
    let file = tempfile::Builder::new().prefix(".scrubbed-").suffix(".tape").tempfile_in(folder);
    let mut file = file.map_err(|e| CollectError::file(folder, e))?;
    let unfinished = Unfinished::keep(file.path());
    file.write_all(&bytes).and_then(|()| file.flush()).map_err(|e| CollectError::file(folder, e))?;
    let shift_ns = recording.tape.source.first_ns - tape.source.first_ns;
    Ok(Scrubbed { file, _unfinished: unfinished, shift_ns })
}

/// `tape` without names, pids, addresses and absolute times, under `name`. What governors see stays: it is as if the recording had
/// begun at another time.
///
/// # Errors
/// [`PiecesError`] when the tape cannot be read.
pub fn scrub(tape: &Tape, name: &str) -> Result<Tape, PiecesError> {
    let shift_ns = tape.source.first_ns.saturating_sub(BEGINS_NS);
    let words = Words::new(&tape.source.name);
    let mut out = Tape {
        source: tape.source.clone(),
        inputs: tape.inputs.clone(),
        notes: tape.notes.iter().map(|n| words.note(n)).collect(),
        health: Health::default(),
        cpus: tape.cpus.iter().map(|c| moved(c, shift_ns, &words)).collect::<Result<_, _>>()?,
        stood_still_ns: tape.stood_still_ns,
    };
    for (kind, counted) in tape.health.iter() {
        out.health.add(kind, counted.count, String::new);
    }
    for input in &mut out.inputs {
        input.how = words.scrub(&input.how);
    }
    let source = &mut out.source;
    name.clone_into(&mut source.name);
    source.kernel = release(&source.kernel);
    source.governor = governor_name(&source.governor);
    source.first_ns -= shift_ns;
    source.last_ns -= shift_ns;
    // Of the recording's bytes nothing is left; what is left tells the tape.
    source.hash = String::new();
    let content = tape_file::write(&out).map_err(|e| PiecesError { why: e.to_string() })?;
    out.source.hash = format!("{:032x}", xxh3_128(&content));
    Ok(out)
}

/// One CPU's part, earlier by `shift_ns`.
fn moved(cpu: &CpuTape, shift_ns: u64, words: &Words) -> Result<CpuTape, PiecesError> {
    let mut pieces: Vec<Piece> = cpu.pieces.to_vec()?;
    for piece in &mut pieces {
        assert!(piece.start_ns >= shift_ns, "an idle period before the first event");
        piece.start_ns -= shift_ns;
    }
    let mut tick = cpu.tick;
    tick.phase_ns = (tick.phase_ns + tick.period_ns - shift_ns % tick.period_ns) % tick.period_ns;
    Ok(CpuTape {
        cpu: cpu.cpu,
        usable: match &cpu.usable {
            TapeCpu::Usable => TapeCpu::Usable,
            TapeCpu::Unusable(why) => TapeCpu::Unusable(words.scrub(why)),
        },
        tick,
        tick_handler_ns: cpu.tick_handler_ns,
        pieces: Pieces::from(pieces),
        latency: earlier(&cpu.latency, shift_ns),
        disabled: earlier(&cpu.disabled, shift_ns),
        sends: cpu.sends,
        event_ns: cpu.event_ns,
    })
}

/// `changes`, earlier by `shift_ns`; what was so before the first event is so from the beginning.
fn earlier<T: Copy>(changes: &[Change<T>], shift_ns: u64) -> Vec<Change<T>> {
    let change = |c: &Change<T>| Change { at_ns: c.at_ns.saturating_sub(shift_ns), value: c.value };
    changes.iter().map(change).collect()
}

/// `6.12.48-box+ x86_64` without what its builder added: `6.12.48 x86_64`.
fn release(kernel: &str) -> String {
    let mut words = kernel.split_whitespace();
    let Some(release) = words.next() else { return String::new() };
    let version: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    [version.trim_end_matches('.')].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// Notes that tapes and recordings make of what they found; their words name nothing but CPUs, states and counts. Those of readers may
/// name anything that a trace holds.
const OUR_NOTES: [NoteId; 15] = [
    NoteId::TickBeforeGovernor,
    NoteId::NoIdleEvents,
    NoteId::RejectedByCount,
    NoteId::NoGovernor,
    NoteId::StoodStill,
    NoteId::LongIdlePeriod,
    NoteId::MissingLines,
    NoteId::QuietCpus,
    NoteId::NoMisses,
    NoteId::SwitchedCpus,
    NoteId::OtherGovernor,
    NoteId::AlwaysRefused,
    NoteId::RefusedEntered,
    NoteId::Guest,
    NoteId::LeftOut,
];

/// Finds in sentences what has to go.
struct Words {
    patterns: Vec<(Regex, &'static str)>,
    /// The name of the recording's file.
    name: String,
}

impl Words {
    fn new(name: &str) -> Self {
        let patterns = [
            // An address.
            (r"\b0x[0-9a-fA-F]+\b", "?"),
            // A time on the trace's clock, which has more digits than our notes give a duration.
            (r"\b[0-9]+\.[0-9]{6,} s\b", "? s"),
            (r"\bat [0-9]+\.[0-9]+ s\b", "at ? s"),
            (r"\b[0-9]{10,}\b", "?"),
            (r"\bpid [0-9]+\b", "pid ?"),
            // A path of two parts or more.
            (r"(^|[ `(])(?:\.{0,2}|~)(?:/[A-Za-z0-9_.@+-]+){2,}", "${1}?"),
        ];
        let regex = |(pattern, instead): (&str, &'static str)| {
            let Ok(regex) = Regex::new(pattern) else { unreachable!("{pattern} is a pattern") };
            (regex, instead)
        };
        Self { patterns: patterns.map(regex).to_vec(), name: name.to_owned() }
    }

    fn scrub(&self, text: &str) -> String {
        let named = self.unnamed(text);
        let scrub = |text: String, (regex, instead): &(Regex, &'static str)| {
            regex.replace_all(&text, *instead).into_owned()
        };
        self.patterns.iter().fold(named, scrub)
    }

    /// `text` without the name of the recording's file, where that is a name: `trace`, as folders of the boot lab are called, is a word
    /// of our own sentences and names nobody.
    fn unnamed(&self, text: &str) -> String {
        let is_word = self.name.chars().all(|c| c.is_ascii_lowercase());
        if self.name.is_empty() {
            return text.to_owned();
        }
        if is_word {
            let rest = text.strip_prefix(&self.name).filter(|rest| rest.starts_with(':'));
            return rest.map_or_else(|| text.to_owned(), |rest| format!("the trace{rest}"));
        }
        text.replace(&self.name, "the trace")
    }

    fn note(&self, note: &Note) -> Note {
        if OUR_NOTES.contains(&note.id) {
            return note.id.note(self.scrub(&note.words));
        }
        note.id.note(format!("{} (its words are scrubbed)", note.id.name().replace('-', " ")))
    }
}

/// A governor's name. Of a file in a kernel tree, whose folder has the version in its name, as `linux:6.12/teo`; of any other file
/// nothing, since its name does not say what it does.
pub(crate) fn governor_name(name: &str) -> String {
    if !name.contains('/') || name.starts_with("linux:") {
        return name.to_owned();
    }
    let path = Path::new(name);
    let version = path.components().find_map(|part| {
        let version = part.as_os_str().to_str()?.strip_prefix("linux-")?;
        let version = version.strip_prefix("source-").unwrap_or(version);
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
    });
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    version.zip(stem).map_or_else(String::new, |(version, stem)| format!("linux:{version}/{stem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_people_and_times_goes() {
        let words = Words::new("secret.dat");
        for (text, expected) in [
            ("secret.dat: first: CPU 0 at 4816.217883247 s", "the trace: first: CPU 0 at ? s"),
            ("a timer at 0xffff88800123abcd of pid 4711", "a timer at ? of pid ?"),
            ("read from /home/jane/traces/a.dat (HZ 250)", "read from ? (HZ 250)"),
            ("at 4816217883247 ns", "at ? ns"),
            ("hrtimer events; PELT (32 ms), 2 % of 8222", "hrtimer events; PELT (32 ms), 2 % of 8222"),
        ] {
            assert_eq!(words.scrub(text), expected);
        }
        let readers = NoteId::Reader.note("the buffer of jane");
        assert!(!words.note(&readers).words.contains("jane"));
        let long = NoteId::LongIdlePeriod.note("one idle period of 2.100 s (CPU 3 at 4816.217883 s) is 95 %");
        assert_eq!(words.note(&long).words, "one idle period of 2.100 s (CPU 3 at ? s) is 95 %");
        assert_eq!(governor_name("/home/jane/teo.c"), "");
        let tree = "/home/jane/linux-source-6.12/drivers/cpuidle/governors/teo.c";
        assert_eq!(governor_name(tree), "linux:6.12/teo");
        assert_eq!(governor_name("linux:6.12/teo"), "linux:6.12/teo");
        assert_eq!(governor_name("menu"), "menu");
    }

    #[test]
    fn sentences_of_ours_stay_whole() {
        // As the boot lab's recordings have them: the folder is called `trace`.
        let words = Words::new("trace");
        for text in [
            "7 idle periods, 0.123 s together, without a governor: the recording has choices for other idle periods",
            "The comparison of a replay with the kernel's choices leaves them out for a trace, and includes them for a tape",
        ] {
            assert_eq!(words.scrub(text), text);
            assert_eq!(words.note(&NoteId::NoGovernor.note(text)).words, text);
        }
        assert_eq!(words.scrub("trace: first: CPU 0 at 4816.217 s"), "the trace: first: CPU 0 at ? s");
        // A word that could be a person's name goes where it stands for the file.
        assert_eq!(Words::new("jane").scrub("jane: lost"), "the trace: lost");
    }

    #[test]
    fn releases_keep_their_version_and_processor() {
        assert_eq!(release("6.12.48-janes-box+ x86_64"), "6.12.48 x86_64");
        assert_eq!(release("6.18.0 aarch64"), "6.18.0 aarch64");
        assert_eq!(release(""), "");
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! What is known about a recording besides its events: by the description inside the file, as `idlewise record` writes it,
//! and over it, key by key, by the side-car next to it. docs/guide/recording.md describes both.

use std::path::{Path, PathBuf};

use idlewise_files::new_file::is_stdout;
use idlewise_platform::Platform;

use crate::counter_snapshots::CounterSnapshots;
use crate::error::CommandError;
use crate::guest::unseen_in_guest;
use crate::options::RecordingOptions;
use crate::sidecar::{InputsBeside, Sidecar};

/// What `--recorded-on` says for the machine of `--platform`.
pub(crate) const SAME: &str = "same";

/// The descriptions of one recording.
pub struct Description {
    trace: PathBuf,
    /// The side-car: where it is or would be, and what it says.
    place: PathBuf,
    beside: Option<Sidecar>,
    inside: Option<Sidecar>,
}

/// The machine that was recorded, and how that is known.
pub(crate) struct RecordedMachine {
    pub(crate) machine: Platform,
    /// `--recorded-on` says so and the recording does not: it says nothing, or another machine.
    pub(crate) assumed: bool,
    /// The machine that the recording names, where that is another.
    pub(crate) contradicted: Option<String>,
}

/// What a copy of the recording in another format takes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The text of a side-car for the copy.
    pub text: String,
    /// What it says, in words.
    pub what: String,
    /// The recording's own side-car says all of it.
    pub sidecar: Option<PathBuf>,
}

/// What became of a side-car for a copy of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The copy is no file: nothing stands next to it.
    Nowhere,
    Written(PathBuf),
    /// The recording's own side-car describes the copy, too.
    Already(PathBuf),
    /// Another one is there, which says of the copy what its owner wants it to say.
    InTheWay(PathBuf),
}

impl Carried {
    /// Writes the side-car of the copy at `output` by `write`, unless one is there.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn keep<E>(
        &self,
        output: &Path,
        write: impl FnOnce(&Path, &[u8]) -> Result<(), E>,
    ) -> Result<Kept, E> {
        if is_stdout(output) {
            return Ok(Kept::Nowhere);
        }
        let sidecar = output.with_extension("toml");
        if !sidecar.exists() {
            write(&sidecar, self.text.as_bytes())?;
            return Ok(Kept::Written(sidecar));
        }
        let is_that =
            |its: &PathBuf| matches!((its.canonicalize(), sidecar.canonicalize()), (Ok(a), Ok(b)) if a == b);
        let own = self.sidecar.as_ref().is_some_and(is_that);
        Ok(if own { Kept::Already(sidecar) } else { Kept::InTheWay(sidecar) })
    }
}

impl Description {
    /// All of it as a side-car for a copy of the recording; nothing where there is nothing to say.
    pub fn for_a_copy(&self) -> Result<Option<Carried>, CommandError> {
        let mut beside = self.beside.clone();
        if let Some(named) = beside.as_mut()
            && named.machine.is_none()
            && let Some(platform) = &named.platform
            && self.place.with_file_name(platform).is_file()
        {
            // The platform's file is not next to the copy.
            let toml = self.told()?.map(|machine| machine.to_toml().parse::<toml::Table>()).transpose();
            named.machine = toml.map_err(|e| CommandError::file(&self.place, format!("platform: {e}")))?;
            named.platform = None;
        }
        let mut all = match (beside, self.inside.clone()) {
            (Some(beside), Some(inside)) => beside.over(inside),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return Ok(None),
        };
        // They are next to the recording, and not next to the copy.
        all.inputs = None;
        let Some(what) = all.what() else { return Ok(None) };
        let sidecar = self.inside.is_none().then(|| self.place.clone());
        Ok(Some(Carried { text: all.to_text()?, what, sidecar }))
    }

    /// Of the trace at `trace`, which says `inside` of itself.
    pub fn of(trace: &Path, inside: Option<&str>) -> Result<Self, CommandError> {
        let place = trace.with_extension("toml");
        let beside = Sidecar::read(&place)?;
        let inside = inside
            .map(|text| Sidecar::parse(text, &format!("{}: the description inside it", trace.display())))
            .transpose()?;
        if let Some(inside) = &inside {
            inside.check_inside(trace)?;
        }
        Ok(Self { trace: trace.to_owned(), place, beside, inside })
    }

    /// The machine: what `options` say, else what the recording says.
    pub(crate) fn machine(&self, options: &RecordingOptions) -> Result<RecordedMachine, CommandError> {
        let told = self.told();
        let Some(named) = &options.recorded_on else {
            let machine = told?.ok_or_else(|| CommandError::MachineUnknown {
                path: self.trace.display().to_string(),
                sidecar: self.place.display().to_string(),
                replayed: options.replayed_on.is_some(),
            })?;
            return Ok(RecordedMachine { machine, assumed: false, contradicted: None });
        };
        let named = match (named.as_str(), &options.replayed_on) {
            (SAME, Some(platform)) => platform,
            (SAME, None) => {
                let why = format!(
                    "`{SAME}` is the machine of --platform, and none is given here; name the machine that was recorded"
                );
                return Err(CommandError::option("--recorded-on", SAME, why));
            }
            _ => named,
        };
        let machine = idlewise_platform::find(named).map_err(|e| {
            let given = "the machine that was recorded (--recorded-on, --sysfs)";
            CommandError::argument("--recorded-on", given, e)
        })?;
        // A description that cannot be read says nothing; the option is the way out of it.
        let told = told.ok().flatten();
        let assumed = told.as_ref().is_none_or(|t| t.clusters != machine.clusters);
        let contradicted = told.filter(|_| assumed).map(|t| t.id);
        Ok(RecordedMachine { machine, assumed, contradicted })
    }

    /// The machine that the recording names; nothing where it names none.
    pub fn told(&self) -> Result<Option<Platform>, CommandError> {
        if let Some(beside) = &self.beside {
            let name = self.place.display().to_string();
            if let Some(machine) = beside.machine(&name)? {
                return Ok(Some(machine));
            }
            if let Some(platform) = &beside.platform {
                let file = self.place.with_file_name(platform);
                let named = if file.is_file() { file.display().to_string() } else { platform.clone() };
                let found = idlewise_platform::find(&named)
                    .map_err(|e| CommandError::file(&self.place, format!("platform: {e}")));
                return found.map(Some);
            }
        }
        let Some(inside) = &self.inside else { return Ok(None) };
        inside.machine(&format!("{}: the description inside it", self.trace.display()))
    }

    /// Where it was recorded in a guest: what it cannot show. A recorder says so; the driver `haltpoll` is for guests of KVM.
    #[must_use]
    pub fn guest(&self) -> Option<String> {
        let of = |s: &Option<Sidecar>| {
            let made = s.as_ref()?.made.as_ref()?;
            let word = |key: &str| made.get(key).and_then(toml::Value::as_str);
            let of_driver = || word("driver").filter(|driver| *driver == "haltpoll").map(|_| "KVM");
            word("hypervisor").or_else(of_driver).map(unseen_in_guest)
        };
        of(&self.beside).or_else(|| of(&self.inside))
    }

    /// The idle governor that it names.
    pub fn governor(&self) -> Option<String> {
        let of = |s: &Option<Sidecar>| s.as_ref().and_then(|s| s.governor.clone());
        of(&self.beside).or_else(|| of(&self.inside))
    }

    /// The governor's true inputs: the table that it names, else one that was renamed with the recording.
    pub fn inputs(&self) -> Option<InputsBeside> {
        let beside = self.beside.as_ref().and_then(|s| s.inputs(&self.place));
        let inside = || self.inside.as_ref().and_then(|s| s.inputs(&self.trace));
        let named = beside.or_else(inside)?;
        let renamed = self.trace.with_extension("inputs.csv");
        let file = if !named.file.is_file() && renamed.is_file() { renamed } else { named.file };
        Some(InputsBeside { file, ..named })
    }

    /// The kernel's counters before and after.
    pub fn looks(&self) -> Option<CounterSnapshots> {
        let beside = self.beside.as_ref().and_then(|s| s.looks(&self.place));
        beside.or_else(|| self.inside.as_ref().and_then(|s| s.looks(&self.trace)))
    }
}

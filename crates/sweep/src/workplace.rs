// SPDX-License-Identifier: GPL-2.0-only
//! Where parts of a sweep are computed.

use std::ops::Range;
use std::path::Path;

use idlewise_collect::RecordingFile;
use idlewise_recording::{CommandError, ReplaySetup};
use serde::Serialize;

use crate::case::{Case, MachineFiles, OpenCase};
use crate::design::Design;
use crate::key::Key;
use crate::known::{KnownCase, KnownContent};
use crate::order::{Order, SentCode};
use crate::store::{facts_line, outcome_line};

/// Where parts of a sweep are computed, with all that they need but recordings.
pub struct Workplace {
    design: Design,
    setup: ReplaySetup,
    platforms: Vec<Option<String>>,
    machines: MachineFiles,
}

/// What reading a recording says of it.
#[derive(Clone, Debug, Serialize)]
pub struct ReadRecording {
    /// Length of its file.
    pub bytes: u64,
    /// One for each machine that it is replayed on.
    pub cases: Vec<KnownCase>,
}

/// A recording at hand, and what it is called where the sweep was asked for.
#[derive(Clone, Debug)]
pub struct RecordingHere<'r> {
    pub file: &'r RecordingFile,
    pub here: &'r Path,
}

impl RecordingHere<'_> {
    /// `text` with the names that the files have where the sweep was asked for.
    fn reworded(&self, text: &str, machines: &MachineFiles) -> String {
        let stem = |path: &Path| path.with_extension("").display().to_string();
        let mut names = vec![(stem(self.here), stem(&self.file.path))];
        if let (Some(here), Some(there)) = (self.here.parent(), self.file.path.parent())
            && here.parent().is_some()
        {
            // What lies next to it.
            let there =
                if there.as_os_str().is_empty() { String::new() } else { format!("{}/", there.display()) };
            names.push((format!("{}/", here.display()), there));
        }
        names.extend(machines.iter().map(|(name, file)| (file.clone(), name.clone())));
        names.iter().fold(text.to_owned(), |text, (here, there)| text.replace(here.as_str(), there))
    }
}

impl Workplace {
    /// Of the JSON of [`crate::Parts::order`]; machines are written into `folder`.
    ///
    /// # Errors
    /// Why it cannot be computed here.
    pub fn of(order: &str, sent: &SentCode, folder: &Path) -> Result<Self, String> {
        let order: Order = serde_json::from_str(order).map_err(|e| format!("no order of a sweep: {e}"))?;
        let set_up = || {
            Ok::<_, CommandError>(Self {
                design: order.design(sent)?,
                setup: order.request.setup(),
                platforms: match order.request.platforms.as_slice() {
                    [] => vec![None],
                    all => all.iter().cloned().map(Some).collect(),
                },
                machines: order.write_machines(folder)?,
            })
        };
        set_up().map_err(|e| e.to_string())
    }

    /// Reads a recording for what its results are kept by.
    #[must_use]
    pub fn read(&self, recording: &RecordingHere<'_>) -> ReadRecording {
        let compared = recording.file.clone().compared(recording.here);
        let mut bytes = 0;
        let cases = self.platforms.iter().map(|platform| {
            let case = match &compared.refused {
                Some(why) => Err(CommandError::input(&compared.path, why)),
                None => self.case(&compared, recording.here, platform.as_ref()),
            };
            let content = match case {
                Ok(case) => {
                    bytes = case.size;
                    KnownContent::Key(case.key)
                }
                Err(why) => KnownContent::Refused(recording.reworded(&why.to_string(), &self.machines)),
            };
            KnownCase { file: compared.clone(), platform: platform.clone(), content, lost: None }
        });
        let cases = cases.collect();
        ReadRecording { bytes, cases }
    }

    fn case(
        &self,
        file: &RecordingFile,
        here: &Path,
        platform: Option<&String>,
    ) -> Result<Case, CommandError> {
        let file = RecordingFile { path: here.to_owned(), ..file.clone() };
        Case::new(&file, platform, &self.setup, &self.machines)
    }

    /// Runs `settings` on a recording, on machine number `platform`; its results must be those that are kept by `key`. Gives the lines
    /// that keep them, the first of what has to be known of the recording where `facts` asks for it.
    ///
    /// # Errors
    /// [`PartFailure`].
    pub fn run(
        &self,
        recording: &RecordingHere<'_>,
        platform: usize,
        key: &str,
        settings: Range<u64>,
        facts: bool,
    ) -> Result<String, PartFailure> {
        let reworded = |text: &str| recording.reworded(text, &self.machines);
        let unread = |e: CommandError| PartFailure::Recording(reworded(&e.to_string()));
        let key: Key = key.parse().map_err(PartFailure::Other)?;
        let platform =
            self.platforms.get(platform).ok_or_else(|| PartFailure::Other("no such machine".to_owned()))?;
        let compared = recording.file.clone().compared(recording.here);
        let case = self.case(&compared, recording.here, platform.as_ref()).map_err(unread)?;
        if case.key != key {
            let why = "it, its side-car or its machine was changed since the sweep found it";
            return Err(unread(CommandError::input(&recording.file.path, why)));
        }
        let known = |open: &OpenCase| facts.then(|| open.facts()).transpose();
        let (open, known) =
            case.open_unchanged(known).map_err(|e| PartFailure::Recording(reworded(&e.why)))?;
        let mut lines = String::new();
        if let Some(mut known) = known {
            known.warnings.iter_mut().chain(&mut known.assumes).for_each(|text| *text = reworded(text));
            lines.push_str(&facts_line(key, &known));
        }
        for n in settings {
            let other = |e: CommandError| PartFailure::Other(reworded(&e.to_string()));
            let variant = self.design.variant(n).map_err(other)?;
            let outcome = open.outcome(&variant).map_err(other)?;
            lines.push_str(&outcome_line(key, variant.key, &outcome.map_err(|why| reworded(&why))));
        }
        Ok(lines)
    }
}

/// Why a part was not computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartFailure {
    /// Its recording cannot be read, or is another one now.
    Recording(String),
    Other(String),
}

// SPDX-License-Identifier: GPL-2.0-only
//! What makes a corpus of recordings, and what a corpus says of governors: `idlewise corpus`; and the recordings that a user names.
//!
//! [`add`] grades a recording and refuses what contradicts itself; [`scrub`] removes what tells people and machines apart, and
//! [`prove`] shows that every governor decides as before; [`run`] replays all of a corpus, each recording on its own machine.

mod add;
mod error;
mod named;
mod prove;
mod run;
mod scrub;
mod verify;

pub use add::{AddRequest, Added, add};
pub use error::CollectError;
pub use named::{NamedRecordings, RecordingFile, listed, open_recording, recording_files};
pub use prove::{Proof, prove};
pub use run::{
    CorpusRun, Machines, Part, Per, Poor, RUN_SCHEMA, RunRecording, RunRequest, RunResult, Skipped, run,
};
pub use scrub::{Scrubbed, scrub, scrub_to};
pub use verify::{VERIFY_SCHEMA, Verification, VerifiedRecording, verify};

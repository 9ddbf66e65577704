// SPDX-License-Identifier: GPL-2.0-only
//! What came of recordings that a user names.

pub(crate) use idlewise_collect::{RecordingFile as Named, recording_files as named};
use idlewise_recording::CommandError;

use crate::report::LeftOut;

/// What came of files, and those that are left out.
pub(crate) type Sorted<'f, T> = (Vec<(&'f Named, T)>, Vec<LeftOut>);

/// Sorts results: those that the user named must be readable, others are left out with the reason.
pub(crate) fn sorted<T>(
    results: Vec<(&Named, Result<T, CommandError>)>,
) -> Result<Sorted<'_, T>, CommandError> {
    let (mut used, mut left_out) = (Vec::new(), Vec::new());
    for (named, result) in results {
        match result {
            Ok(value) => used.push((named, value)),
            Err(e) if named.by_user => return Err(e),
            Err(e) => {
                // The name says which.
                let (why, path) = (e.to_string(), format!("{}: ", named.path.display()));
                let why = why.strip_prefix(&path).unwrap_or(&why).to_owned();
                left_out.push(LeftOut { name: named.name.clone(), why });
            }
        }
    }
    if used.is_empty() {
        let first = left_out.first().map_or_else(String::new, |l| format!("; {}: {}", l.name, l.why));
        let why = format!("none of {} files can be replayed{first}", left_out.len());
        return Err(CommandError::option("--recordings", "FOLDER", why));
    }
    Ok((used, left_out))
}

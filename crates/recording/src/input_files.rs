// SPDX-License-Identifier: GPL-2.0-only
//! Files that users name, before it is known what they are: tapes, dumps, or traces.

use std::io::Read;
use std::path::{Path, PathBuf};

use idlewise_model::Tape;
use idlewise_tape::file as tape_file;

use crate::error::CommandError;

/// Names of files; where several have one name, each with as much of its folders as tells them apart.
pub fn distinct(all: &[(&Path, &str)]) -> Vec<String> {
    let of = |path: &Path, parts: usize| -> String {
        let components: Vec<_> = path.components().collect();
        let from = components.len().saturating_sub(parts);
        components.iter().skip(from).collect::<PathBuf>().display().to_string()
    };
    let name = |(path, name): &(&Path, &str)| {
        let named_alike: Vec<&Path> = all.iter().filter(|(_, n)| n == name).map(|(path, _)| *path).collect();
        if named_alike.len() == 1 {
            return (*name).to_owned();
        }
        let most = path.components().count();
        let alone =
            |parts: &usize| named_alike.iter().filter(|o| of(o, *parts) == of(path, *parts)).count() == 1;
        of(path, (1..most).find(alone).unwrap_or(most))
    };
    all.iter().map(name).collect()
}

/// The name of the file at `path`, to be shown.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// Other names of standard input, which is read under none.
const STDIN: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// All of its names are refused in the same words, as `-` is (`crates/files`).
fn refuse_stdin(path: &Path) -> Result<(), CommandError> {
    if STDIN.iter().any(|name| path == Path::new(name)) {
        let why = "standard input is not read; write it to a file, and name that";
        return Err(CommandError::File { path: path.display().to_string(), why: why.to_owned() });
    }
    Ok(())
}

/// Whether each of `paths` is a file of its own, whatever its path looks like; a file that is not there is none.
///
/// # Errors
/// [`CommandError::SameFiles`] with the first two that are one.
pub fn each_once(paths: &[PathBuf]) -> Result<(), CommandError> {
    let places: Vec<Option<PathBuf>> = paths.iter().map(|path| path.canonicalize().ok()).collect();
    for (i, (path, place)) in paths.iter().zip(&places).enumerate() {
        let first = places.iter().take(i).position(|other| place.is_some() && other == place);
        if let Some(first) = first.and_then(|at| paths.get(at)) {
            return Err(CommandError::SameFiles {
                first: first.display().to_string(),
                second: path.display().to_string(),
                why: "the same file, which would count twice: name it once",
            });
        }
    }
    Ok(())
}

/// Whether the file at `path` is a tape.
pub fn is_tape(path: &Path) -> Result<bool, CommandError> {
    refuse_stdin(path)?;
    if path.is_dir() {
        return Ok(false);
    }
    let mut file = idlewise_files::open(path).map_err(|e| CommandError::file(path, e))?;
    let mut start = [0; 8];
    let n = file.read(&mut start).map_err(|e| CommandError::file(path, e))?;
    Ok(tape_file::is_tape(start.get(..n).unwrap_or_default()))
}

/// The text of a file that may be a dump, packed or not; `None` where it is too large or no text.
pub fn text_of(path: &Path) -> Result<Option<String>, CommandError> {
    refuse_stdin(path)?;
    let wrong = |e: std::io::Error| CommandError::file(path, e);
    if path.is_dir() {
        return Ok(None);
    }
    // A dump of the largest machine has some ten MB; more is a recording.
    let bytes = match idlewise_files::read_within(path, idlewise_files::LARGEST_MADE) {
        Err(e) if e.kind() == std::io::ErrorKind::FileTooLarge => return Ok(None),
        read => read.map_err(wrong)?,
    };
    let bytes = match idlewise_trace::unpacked(&bytes, idlewise_files::LARGEST_MADE) {
        None => bytes,
        Some(Ok(unpacked)) => unpacked,
        // Who reads recordings says why.
        Some(Err(_)) => return Ok(None),
    };
    if bytes.contains(&0) {
        return Ok(None);
    }
    // A mail's other characters do no harm.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// No tape is larger, bytes: a hundred million stays.
const LARGEST_TAPE: u64 = 1 << 30;

pub(crate) fn read_tape(path: &Path) -> Result<Option<Tape>, CommandError> {
    if !is_tape(path)? {
        return Ok(None);
    }
    let bytes = idlewise_files::read_within(path, LARGEST_TAPE).map_err(|e| CommandError::file(path, e))?;
    let wrong = |source| CommandError::TapeFile { path: path.display().to_string(), source };
    tape_file::read(&bytes).map(Some).map_err(wrong)
}

// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// What tells a file from every other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHash {
    /// SHA-256 of its bytes, 64 hex digits, as `sha256sum` prints it.
    pub sha256: String,
    pub bytes: u64,
}

/// The hash of the ordinary file at `path`, read in pieces.
///
/// # Errors
/// What the system says, and where it is no ordinary file.
pub fn hash_of(path: &Path) -> io::Result<FileHash> {
    let mut file: fs::File = idlewise_files::open(path)?;
    let mut state = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        state.update(&buffer[..n]);
        bytes += n as u64;
    }
    let sha256 = state.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(FileHash { sha256, bytes })
}

/// Whether `text` is 64 hex digits, in small letters.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

// SPDX-License-Identifier: GPL-2.0-only
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::OFlags;

use super::kit::{Chance, LoadRequest, percentile_us};
use crate::{LiveError, clock};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 16_384;

pub(super) fn run(request: &LoadRequest) -> Result<Vec<f64>, LiveError> {
    let file = prepare(request)?;
    let mut chance = Chance(request.seed);
    // Reads past the page cache go to memory that begins at a block's border.
    let mut memory = vec![0_u8; 2 * BLOCK];
    let border = memory.as_ptr().align_offset(BLOCK);
    let mut took = Vec::new();
    let start = clock::now();
    while start.elapsed() < request.duration {
        let at = chance.below(BLOCKS) * BLOCK as u64;
        let Some(block) = memory.get_mut(border..border + BLOCK) else { break };
        let begin = clock::now();
        file.read_exact_at(block, at).map_err(LiveError::io(&request.folder))?;
        took.push(begin.elapsed());
    }
    let rate = took.len() as f64 / start.elapsed().as_secs_f64();
    Ok(vec![rate, percentile_us(&mut took, 0.99)])
}

/// A file without a name, opened so that reads go to the device.
fn prepare(request: &LoadRequest) -> Result<File, LiveError> {
    let failed = || LiveError::io(&request.folder);
    let file = tempfile::NamedTempFile::new_in(&request.folder).map_err(failed())?;
    let block = vec![0x5a; 64 * BLOCK];
    for _ in 0..BLOCKS / 64 {
        file.as_file().write_all(&block).map_err(failed())?;
    }
    file.as_file().sync_all().map_err(failed())?;
    let direct = OFlags::DIRECT.bits().cast_signed();
    OpenOptions::new()
        .read(true)
        .custom_flags(direct)
        .open(file.path())
        .map_err(|e| LiveError::file(&request.folder, format!("{e}; set TMPDIR to a folder on a disk")))
}

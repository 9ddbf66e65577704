// SPDX-License-Identifier: GPL-2.0-only
//! Idle periods of long recordings, in a temporary file without a name: memory does not grow with the recording.
//!
//! The idle periods of each CPU are gathered in memory. Once all CPUs together have more than the limit, full blocks of them go
//! to the file as soon as nothing can change them any more. Should the file take no more, the rest stays in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use idlewise_model::{Piece, PieceStore, Pieces, PiecesError};

/// How much a tape may hold in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// With more idle periods than this, of all CPUs together, most go to a temporary file.
    pub periods: usize,
    /// They go there so many at a time: of each CPU about so many are in memory, for its maker and for each reader.
    pub block: usize,
}

impl Default for Limits {
    /// About 6 MB, and as much again for a replay.
    fn default() -> Self {
        Self { periods: 100_000, block: 512 }
    }
}

/// The temporary file of one tape.
#[derive(Debug)]
pub(crate) struct Spool {
    /// Idle periods that memory still has room for; nothing once a file was asked for.
    room: Option<usize>,
    file: Option<Arc<File>>,
    /// Idle periods in a block.
    block: usize,
    /// Blocks in the file.
    blocks: u64,
    /// The file takes more.
    open: bool,
}

/// One CPU's idle periods: blocks in the file, by their places in it, then what is not in the file.
#[derive(Debug, Default)]
pub(crate) struct Stays {
    blocks: Vec<u64>,
    pub(crate) rest: Vec<Piece>,
}

impl Spool {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { room: Some(limits.periods), file: None, block: limits.block.max(1), blocks: 0, open: false }
    }

    /// Counts one more idle period in memory; whether it is the one too many, so that there is a file from now on.
    pub(crate) fn overflows(&mut self) -> bool {
        let Some(room) = &mut self.room else { return false };
        *room = room.saturating_sub(1);
        if *room > 0 {
            return false;
        }
        self.room = None;
        self.file = tempfile::tempfile().ok().map(Arc::new);
        self.open = self.file.is_some();
        self.open
    }

    /// Of `stays` the block that can go to the file, if stays that began at or before `settled_ns` do not change any more.
    pub(crate) fn due<'s>(&self, stays: &'s mut Stays, settled_ns: u64) -> Option<&'s mut [Piece]> {
        // The last stay is still looked at.
        let full = self.open && stays.rest.len() > self.block;
        let block = stays.rest.get_mut(..self.block).filter(|_| full)?;
        block.last().is_some_and(|p| p.start_ns <= settled_ns).then_some(block)
    }

    /// Moves the first block of `stays` to the file. Whether it could; a file that is full is not asked again.
    pub(crate) fn take(&mut self, stays: &mut Stays) -> bool {
        let (Some(file), Some(block)) = (&self.file, stays.rest.get(..self.block)) else { return false };
        if write(file, self.blocks, block).is_err() {
            self.open = false;
            return false;
        }
        stays.blocks.push(self.blocks);
        self.blocks += 1;
        stays.rest.drain(..self.block);
        stays.rest.shrink_to(2 * self.block);
        true
    }

    /// Changes all of `stays`, the last first; each call of `change` gets some, in order.
    pub(crate) fn backwards(
        &self,
        stays: &mut Stays,
        mut change: impl FnMut(&mut [Piece]),
    ) -> Result<(), PiecesError> {
        change(&mut stays.rest);
        let Some(file) = &self.file else { return Ok(()) };
        for place in stays.blocks.iter().rev() {
            let mut block = read(file, *place, self.block)?;
            change(&mut block);
            write(file, *place, &block)?;
        }
        Ok(())
    }

    /// What is read of them from now on.
    pub(crate) fn finished(&self, stays: Stays) -> Pieces {
        match &self.file {
            Some(file) if !stays.blocks.is_empty() => {
                Pieces::stored(Stored { file: Arc::clone(file), block: self.block, stays })
            }
            _ => stays.rest.into(),
        }
    }
}

#[derive(Debug)]
struct Stored {
    file: Arc<File>,
    block: usize,
    stays: Stays,
}

impl PieceStore for Stored {
    fn periods(&self) -> usize {
        self.stays.blocks.len() * self.block + self.stays.rest.len()
    }

    fn blocks(&self) -> usize {
        self.stays.blocks.len() + self.stays.rest.len().div_ceil(self.block)
    }

    fn read(&self, n: usize) -> io::Result<Vec<Piece>> {
        match self.stays.blocks.get(n) {
            Some(place) => read(&self.file, *place, self.block),
            None => {
                let Some(block) = self.stays.rest.chunks(self.block).nth(n - self.stays.blocks.len()) else {
                    unreachable!("block {n} of {}", self.blocks())
                };
                Ok(block.to_vec())
            }
        }
    }
}

/// Writes `block` as the file's block number `place`.
fn write(file: &File, place: u64, block: &[Piece]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(block.len() * Piece::BYTES);
    block.iter().for_each(|p| p.put(&mut bytes));
    file.write_all_at(&bytes, place * (block.len() * Piece::BYTES) as u64)
}

/// The file's block number `place`, of `n` idle periods.
fn read(file: &File, place: u64, n: usize) -> io::Result<Vec<Piece>> {
    let mut bytes = vec![0; n * Piece::BYTES];
    file.read_exact_at(&mut bytes, place * (n * Piece::BYTES) as u64)?;
    Ok(bytes.chunks_exact(Piece::BYTES).map(Piece::get).collect())
}

#[cfg(test)]
mod tests {
    use idlewise_model::{PieceFlags, WakeCause};

    use super::*;

    const BLOCK: usize = 512;

    fn piece(n: u64) -> Piece {
        Piece {
            start_ns: n << 33 | 1,
            wake_ns: u64::MAX - n,
            hrtimer_ns: -(n as i64) << 40,
            wheel_ns: i64::MAX - n as i64,
            stale_event_ns: (n as i64) << 35,
            exit_lag_ns: u32::MAX - n as u32,
            response_ns: 3 << 20,
            handler_ns: 5 << 10,
            entry_lag_ns: n as u32,
            util: 1023,
            iowait: 300,
            state: n as u8,
            cause: WakeCause::ALL[n as usize % WakeCause::ALL.len()],
            flags: PieceFlags(0x8421 ^ n as u16),
        }
    }

    fn filled(spool: &mut Spool, n: u64) -> Stays {
        let mut stays = Stays::default();
        for n in 0..n {
            stays.rest.push(piece(n));
            spool.overflows();
            while spool.due(&mut stays, u64::MAX).is_some() {
                spool.take(&mut stays);
            }
        }
        stays
    }

    #[test]
    fn what_is_kept_is_what_was_written() {
        for n in [0, 1, 512, 513, 2000] {
            let mut spool = Spool::new(Limits { periods: 10, block: BLOCK });
            let stays = filled(&mut spool, n);
            assert!(stays.rest.len() <= BLOCK);
            let pieces = spool.finished(stays);
            assert_eq!((pieces.len(), pieces.in_memory()), (n as usize, n < 513));
            assert!(pieces.to_vec().unwrap().into_iter().eq((0..n).map(piece)), "{n}");
        }
    }

    #[test]
    fn changes_from_the_end_to_the_beginning_reach_every_stay_once() {
        let mut spool = Spool::new(Limits { periods: 0, block: BLOCK });
        let mut stays = filled(&mut spool, 1500);
        let mut behind = 0;
        let count = |block: &mut [Piece]| {
            for p in block.iter_mut().rev() {
                p.wake_ns = behind;
                behind += 1;
            }
        };
        spool.backwards(&mut stays, count).unwrap();
        let pieces = spool.finished(stays).to_vec().unwrap();
        assert!(pieces.iter().map(|p| p.wake_ns).eq((0..1500).rev()));
    }

    #[test]
    fn a_file_that_takes_no_more_leaves_the_rest_in_memory() {
        let mut spool = Spool::new(Limits { periods: 0, block: BLOCK });
        let mut stays = filled(&mut spool, 1500);
        // A file that is open for reading only cannot be written.
        let whole = spool.file.replace(Arc::new(File::open("/dev/null").unwrap()));
        for n in 1500..3000 {
            stays.rest.push(piece(n));
            while spool.due(&mut stays, u64::MAX).is_some() {
                spool.take(&mut stays);
            }
        }
        spool.file = whole;
        assert!(!spool.open && stays.rest.len() > 3 * BLOCK);
        assert!(spool.finished(stays).to_vec().unwrap().into_iter().eq((0..3000).map(piece)));
    }

    #[test]
    fn a_file_that_was_cut_short_is_a_failure() {
        let mut spool = Spool::new(Limits { periods: 0, block: BLOCK });
        let stays = filled(&mut spool, 1500);
        spool.file.as_ref().unwrap().set_len(600 * Piece::BYTES as u64).unwrap();
        let pieces = spool.finished(stays);
        assert_eq!(
            pieces.blocks().filter(Result::is_ok).count(),
            2,
            "one block of the file, and what is in memory"
        );
        assert!(pieces.to_vec().is_err());
    }
}

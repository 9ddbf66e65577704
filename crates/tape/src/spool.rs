// SPDX-License-Identifier: GPL-2.0-only
//! Idle stays of long recordings, in a temporary file without a name: memory does not grow with the recording.
//!
//! The stays of each CPU are gathered in memory. Once all CPUs together have more than the limit, full blocks of them go
//! to the file as soon as nothing can change them any more. Should the file take no more, the rest stays in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use idlewise_model::{Piece, PieceFlags, PieceStore, Pieces, WakeCause};

/// Bytes that a stay takes in the file.
const RECORD: usize = 56;

/// How much a tape may hold in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// With more idle stays than this, of all CPUs together, most go to a temporary file.
    pub stays: usize,
    /// They go there so many at a time: of each CPU about so many are in memory, for its maker and for each reader.
    pub block: usize,
}

impl Default for Limits {
    /// About 6 MB, and as much again for a replay.
    fn default() -> Self {
        Self { stays: 100_000, block: 512 }
    }
}

/// The temporary file of one tape.
#[derive(Debug)]
pub(crate) struct Spool {
    /// Stays that memory still has room for; nothing once that was asked of a file.
    room: Option<usize>,
    file: Option<Arc<File>>,
    /// Stays in a block.
    block: usize,
    /// Blocks in the file.
    blocks: u64,
    /// The file takes more.
    open: bool,
}

/// One CPU's stays: blocks in the file, by their places in it, then what is not in the file.
#[derive(Debug, Default)]
pub(crate) struct Stays {
    blocks: Vec<u64>,
    pub(crate) rest: Vec<Piece>,
}

impl Spool {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { room: Some(limits.stays), file: None, block: limits.block.max(1), blocks: 0, open: false }
    }

    /// Counts one more stay in memory; whether it is the one too many, so that there is a file from now on.
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
        if write(file, self.blocks * self.block as u64, block).is_err() {
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
    ) -> io::Result<()> {
        change(&mut stays.rest);
        let Some(file) = &self.file else { return Ok(()) };
        let mut block = Vec::with_capacity(self.block);
        for place in stays.blocks.iter().rev() {
            block.clear();
            read(file, place * self.block as u64, self.block, &mut block)?;
            change(&mut block);
            write(file, place * self.block as u64, &block)?;
        }
        Ok(())
    }

    /// What is read of them from now on.
    pub(crate) fn finished(&self, stays: Stays) -> Pieces {
        match &self.file {
            Some(file) if !stays.blocks.is_empty() => {
                Pieces::kept(Kept { file: Arc::clone(file), block: self.block, stays })
            }
            _ => stays.rest.into(),
        }
    }
}

#[derive(Debug)]
struct Kept {
    file: Arc<File>,
    block: usize,
    stays: Stays,
}

impl PieceStore for Kept {
    fn len(&self) -> usize {
        self.stays.blocks.len() * self.block + self.stays.rest.len()
    }

    fn read(&self, at: usize, block: &mut Vec<Piece>) -> io::Result<()> {
        match self.stays.blocks.get(at / self.block) {
            Some(place) => {
                let skipped = at % self.block;
                read(&self.file, place * self.block as u64 + skipped as u64, self.block - skipped, block)
            }
            None => {
                let at = at - self.stays.blocks.len() * self.block;
                block.extend_from_slice(self.stays.rest.get(at..).unwrap_or_default());
                Ok(())
            }
        }
    }
}

/// Writes `pieces` as the file's stays from number `place` on.
fn write(file: &File, place: u64, pieces: &[Piece]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(pieces.len() * RECORD);
    pieces.iter().for_each(|p| put(p, &mut bytes));
    file.write_all_at(&bytes, place * RECORD as u64)
}

/// Appends `n` of the file's stays from number `place` on.
fn read(file: &File, place: u64, n: usize, block: &mut Vec<Piece>) -> io::Result<()> {
    let mut bytes = vec![0; n * RECORD];
    file.read_exact_at(&mut bytes, place * RECORD as u64)?;
    block.extend(bytes.chunks_exact(RECORD).map(get));
    Ok(())
}

/// Little-endian, in the order of [`Piece`].
fn put(p: &Piece, to: &mut Vec<u8>) {
    to.extend_from_slice(&p.start_ns.to_le_bytes());
    to.extend_from_slice(&p.wake_ns.to_le_bytes());
    to.extend_from_slice(&p.hrtimer_ns.to_le_bytes());
    to.extend_from_slice(&p.wheel_ns.to_le_bytes());
    to.extend_from_slice(&p.exit_lag_ns.to_le_bytes());
    to.extend_from_slice(&p.response_ns.to_le_bytes());
    to.extend_from_slice(&p.handler_ns.to_le_bytes());
    to.extend_from_slice(&p.entry_lag_ns.to_le_bytes());
    to.extend_from_slice(&p.util.to_le_bytes());
    to.extend_from_slice(&p.iowait.to_le_bytes());
    to.extend_from_slice(&[p.state, p.cause as u8]);
    to.extend_from_slice(&p.flags.0.to_le_bytes());
}

fn get(mut record: &[u8]) -> Piece {
    let from = &mut record;
    Piece {
        start_ns: u64::from_le_bytes(next(from)),
        wake_ns: u64::from_le_bytes(next(from)),
        hrtimer_ns: i64::from_le_bytes(next(from)),
        wheel_ns: i64::from_le_bytes(next(from)),
        exit_lag_ns: u32::from_le_bytes(next(from)),
        response_ns: u32::from_le_bytes(next(from)),
        handler_ns: u32::from_le_bytes(next(from)),
        entry_lag_ns: u32::from_le_bytes(next(from)),
        util: u16::from_le_bytes(next(from)),
        iowait: u16::from_le_bytes(next(from)),
        state: u8::from_le_bytes(next(from)),
        cause: WakeCause::from_bits(u8::from_le_bytes(next(from))),
        flags: PieceFlags(u16::from_le_bytes(next(from))),
    }
}

#[inline]
fn next<const N: usize>(from: &mut &[u8]) -> [u8; N] {
    let Some((bytes, rest)) = from.split_first_chunk() else { return [0; N] };
    *from = rest;
    *bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 512;

    fn piece(n: u64) -> Piece {
        Piece {
            start_ns: n << 33 | 1,
            wake_ns: u64::MAX - n,
            hrtimer_ns: -(n as i64) << 40,
            wheel_ns: i64::MAX - n as i64,
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
            let mut spool = Spool::new(Limits { stays: 10, block: BLOCK });
            let stays = filled(&mut spool, n);
            assert!(stays.rest.len() <= BLOCK);
            let pieces = spool.finished(stays);
            assert_eq!(pieces.in_memory(), n < 513);
            assert!(pieces.iter().eq((0..n).map(piece)), "{n}");
            assert!((0..=n).all(|k| pieces.get(k as usize) == (k < n).then(|| piece(k))));
        }
    }

    #[test]
    fn changes_from_the_end_to_the_beginning_reach_every_stay_once() {
        let mut spool = Spool::new(Limits { stays: 0, block: BLOCK });
        let mut stays = filled(&mut spool, 1500);
        let mut behind = 0;
        let count = |block: &mut [Piece]| {
            for p in block.iter_mut().rev() {
                p.wake_ns = behind;
                behind += 1;
            }
        };
        spool.backwards(&mut stays, count).unwrap();
        let wakes: Vec<u64> = spool.finished(stays).iter().map(|p| p.wake_ns).collect();
        assert!(wakes.into_iter().eq((0..1500).rev()));
    }

    #[test]
    fn a_file_that_takes_no_more_leaves_the_rest_in_memory() {
        let mut spool = Spool::new(Limits { stays: 0, block: BLOCK });
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
        assert!(spool.finished(stays).iter().eq((0..3000).map(piece)));
    }

    #[test]
    fn a_file_that_was_cut_short_is_a_failure() {
        let mut spool = Spool::new(Limits { stays: 0, block: BLOCK });
        let stays = filled(&mut spool, 1500);
        spool.file.as_ref().unwrap().set_len(600 * RECORD as u64).unwrap();
        let pieces = spool.finished(stays);
        assert_eq!(pieces.iter().count(), BLOCK);
        assert!(pieces.failure().is_some());
    }
}

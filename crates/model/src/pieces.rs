// SPDX-License-Identifier: GPL-2.0-only
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Piece;

/// Idle periods in a block of those in memory.
const BLOCK: usize = 1024;

/// The idle periods of one CPU in order of time, read a block at a time.
///
/// They are in memory. Those of a long recording are in a [`PieceStore`], whose blocks are memory only while they are read.
#[derive(Clone)]
pub struct Pieces(Held);

#[derive(Clone)]
enum Held {
    Memory(Vec<Piece>),
    Stored(Arc<dyn PieceStore>),
}

/// Idle periods outside memory, in blocks.
pub trait PieceStore: fmt::Debug + Send + Sync {
    /// How many idle periods it has.
    fn periods(&self) -> usize;

    /// How many blocks of them.
    fn blocks(&self) -> usize;

    /// Block number `n`, which is below [`PieceStore::blocks`]. Any number of threads and processes read at the same time.
    ///
    /// # Errors
    /// What the system says.
    fn read(&self, n: usize) -> io::Result<Vec<Piece>>;
}

/// Why idle periods that were put into a file cannot be read again.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[error(
    "temporary file of a long recording: {why}; set TMPDIR to a folder on a disk with room (else it is /tmp)"
)]
pub struct PiecesError {
    /// What the system says.
    pub why: String,
}

impl From<io::Error> for PiecesError {
    fn from(e: io::Error) -> Self {
        Self { why: e.to_string() }
    }
}

impl Pieces {
    /// The idle periods of `store`.
    #[must_use]
    pub fn stored(store: impl PieceStore + 'static) -> Self {
        Self(Held::Stored(Arc::new(store)))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Memory(all) => all.len(),
            Held::Stored(store) => store.periods(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One block after the other; none is empty.
    pub fn blocks(&self) -> impl Iterator<Item = Result<Cow<'_, [Piece]>, PiecesError>> {
        (0..).map_while(|n| self.block(n))
    }

    /// Block number `n`, from 0.
    #[must_use]
    pub fn block(&self, n: usize) -> Option<Result<Cow<'_, [Piece]>, PiecesError>> {
        match &self.0 {
            Held::Memory(all) => {
                let rest = all.get(n.checked_mul(BLOCK)?..)?;
                (!rest.is_empty()).then(|| Ok(Cow::Borrowed(&rest[..rest.len().min(BLOCK)])))
            }
            Held::Stored(store) => {
                (n < store.blocks()).then(|| store.read(n).map(Cow::Owned).map_err(PiecesError::from))
            }
        }
    }

    /// The same idle periods, each after `change`; where they are in a store, as they are read.
    #[must_use]
    pub fn changed(&self, change: fn(&mut Piece)) -> Self {
        Self(match &self.0 {
            Held::Memory(all) => {
                let mut all = all.clone();
                all.iter_mut().for_each(change);
                Held::Memory(all)
            }
            Held::Stored(store) => Held::Stored(Arc::new(Changed { store: Arc::clone(store), change })),
        })
    }

    /// All of them, in memory.
    ///
    /// # Errors
    /// [`PiecesError`] when one cannot be read.
    pub fn to_vec(&self) -> Result<Vec<Piece>, PiecesError> {
        let mut all = Vec::with_capacity(self.len());
        for block in self.blocks() {
            all.extend_from_slice(&block?);
        }
        Ok(all)
    }

    /// Whether they are in memory.
    #[must_use]
    pub fn in_memory(&self) -> bool {
        matches!(self.0, Held::Memory(_))
    }
}

/// Those of a store, each changed when it is read.
#[derive(Debug)]
struct Changed {
    store: Arc<dyn PieceStore>,
    change: fn(&mut Piece),
}

impl PieceStore for Changed {
    fn periods(&self) -> usize {
        self.store.periods()
    }

    fn blocks(&self) -> usize {
        self.store.blocks()
    }

    fn read(&self, n: usize) -> io::Result<Vec<Piece>> {
        let mut block = self.store.read(n)?;
        block.iter_mut().for_each(self.change);
        Ok(block)
    }
}

impl Default for Pieces {
    fn default() -> Self {
        Self(Held::Memory(Vec::new()))
    }
}

impl From<Vec<Piece>> for Pieces {
    fn from(all: Vec<Piece>) -> Self {
        Self(Held::Memory(all))
    }
}

impl FromIterator<Piece> for Pieces {
    fn from_iter<I: IntoIterator<Item = Piece>>(all: I) -> Self {
        Self(Held::Memory(all.into_iter().collect()))
    }
}

/// By what they are, wherever they are; idle periods that cannot be read equal none.
impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.to_vec().is_ok_and(|a| other.to_vec().is_ok_and(|b| a == b))
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Held::Memory(all) => f.debug_list().entries(all).finish(),
            Held::Stored(store) => store.fmt(f),
        }
    }
}

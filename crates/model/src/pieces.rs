// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use crate::Piece;

/// The idle stays of one CPU in order of time.
///
/// They are in memory, or, where a recording is so long that they should not be, in a [`PieceStore`]. Readers need not
/// know: they get one stay after the other, by value. A store that cannot be read any more ends early; what was made
/// of such stays is only true if there is no [`Pieces::failure`].
#[derive(Clone)]
pub struct Pieces(Held);

#[derive(Clone)]
enum Held {
    Memory(Vec<Piece>),
    Kept(Arc<Kept>),
}

/// A place outside memory that keeps idle stays.
pub trait PieceStore: fmt::Debug + Send + Sync {
    /// How many it keeps.
    fn len(&self) -> usize;

    /// Whether it keeps none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends stay number `at` to `block`, and as many of the following as come cheaply with it. `at` is below
    /// [`PieceStore::len`]; any number of threads and processes read at the same time.
    ///
    /// # Errors
    /// What the system says.
    fn read(&self, at: usize, block: &mut Vec<Piece>) -> io::Result<()>;
}

/// A store, and why it could not be read.
#[derive(Debug)]
struct Kept {
    store: Box<dyn PieceStore>,
    failure: OnceLock<String>,
}

impl Kept {
    /// Whether `block` holds stay number `at` and what follows it now.
    fn read(&self, at: usize, block: &mut Vec<Piece>) -> bool {
        block.clear();
        let why = match self.store.read(at, block) {
            Ok(()) if !block.is_empty() => return true,
            Ok(()) => format!("no stay number {at} of {}", self.store.len()),
            Err(e) => e.to_string(),
        };
        block.clear();
        self.failure.get_or_init(|| why);
        false
    }
}

impl Pieces {
    /// The stays that `store` keeps.
    #[must_use]
    pub fn kept(store: impl PieceStore + 'static) -> Self {
        Self(Held::Kept(Arc::new(Kept { store: Box::new(store), failure: OnceLock::new() })))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Memory(all) => all.len(),
            Held::Kept(kept) => kept.store.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stay number `n`, from 0.
    #[must_use]
    pub fn get(&self, n: usize) -> Option<Piece> {
        match &self.0 {
            Held::Memory(all) => all.get(n).copied(),
            Held::Kept(kept) => {
                let mut block = Vec::new();
                let there = n < kept.store.len() && kept.read(n, &mut block);
                block.first().copied().filter(|_| there)
            }
        }
    }

    /// One after the other.
    #[must_use]
    pub fn iter(&self) -> PieceIter<'_> {
        PieceIter(match &self.0 {
            Held::Memory(all) => Source::Memory(all.iter()),
            Held::Kept(kept) => Source::Kept { kept, at: 0, block: Vec::new(), next: 0 },
        })
    }

    /// All of them in memory.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Piece> {
        match &self.0 {
            Held::Memory(all) => all.clone(),
            Held::Kept(_) => self.iter().collect(),
        }
    }

    /// Whether they are in memory.
    #[must_use]
    pub fn in_memory(&self) -> bool {
        matches!(self.0, Held::Memory(_))
    }

    /// Why a reader did not get all of them: what the system said when the store was read.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match &self.0 {
            Held::Memory(_) => None,
            Held::Kept(kept) => kept.failure.get().map(String::as_str),
        }
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

/// By what they are, wherever they are; what cannot be read equals nothing.
impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        let same = self.len() == other.len() && self.iter().eq(other.iter());
        same && self.failure().is_none() && other.failure().is_none()
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Held::Memory(all) => f.debug_list().entries(all).finish(),
            Held::Kept(kept) => kept.fmt(f),
        }
    }
}

impl<'p> IntoIterator for &'p Pieces {
    type Item = Piece;
    type IntoIter = PieceIter<'p>;

    fn into_iter(self) -> PieceIter<'p> {
        self.iter()
    }
}

/// Goes through [`Pieces`].
#[derive(Clone, Debug)]
pub struct PieceIter<'p>(Source<'p>);

#[derive(Clone, Debug)]
enum Source<'p> {
    Memory(std::slice::Iter<'p, Piece>),
    /// Number `at` is the first that is not in `block`, of which `next` comes next.
    Kept {
        kept: &'p Kept,
        at: usize,
        block: Vec<Piece>,
        next: usize,
    },
}

impl Iterator for PieceIter<'_> {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        match &mut self.0 {
            Source::Memory(all) => all.next().copied(),
            Source::Kept { kept, at, block, next } => {
                if *next == block.len() {
                    *next = 0;
                    refill(kept, at, block);
                }
                let piece = block.get(*next).copied();
                *next += usize::from(piece.is_some());
                piece
            }
        }
    }
}

/// Has the stays from `at` on in `block`; none at the end, and after a failure.
#[cold]
fn refill(kept: &Kept, at: &mut usize, block: &mut Vec<Piece>) {
    block.clear();
    if *at < kept.store.len() {
        *at = if kept.read(*at, block) { *at + block.len() } else { usize::MAX };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::EMPTY;

    fn piece(start_ns: u64) -> Piece {
        Piece { start_ns, ..EMPTY }
    }

    /// Three at a time; from `broken` on nothing can be read.
    #[derive(Debug)]
    struct Store {
        all: Vec<Piece>,
        broken: usize,
    }

    impl PieceStore for Store {
        fn len(&self) -> usize {
            self.all.len()
        }

        fn read(&self, at: usize, block: &mut Vec<Piece>) -> io::Result<()> {
            if at >= self.broken {
                return Err(io::Error::other("a worn disk"));
            }
            block.extend(self.all.iter().skip(at).take(3));
            Ok(())
        }
    }

    fn both(n: u64, broken: usize) -> (Pieces, Pieces) {
        let all: Vec<Piece> = (0..n).map(piece).collect();
        (all.clone().into(), Pieces::kept(Store { all, broken }))
    }

    #[test]
    fn a_store_holds_what_memory_would() {
        for n in 0..10 {
            let (memory, kept) = both(n, usize::MAX);
            assert_eq!(memory, kept);
            assert_eq!(memory.to_vec(), kept.to_vec());
            assert_eq!((kept.len(), kept.is_empty(), kept.in_memory()), (n as usize, n == 0, false));
            for k in 0..=n as usize {
                assert_eq!(memory.get(k), kept.get(k));
            }
            assert_eq!(kept.failure(), None);
        }
        assert_ne!(both(3, usize::MAX).0, both(4, usize::MAX).1);
    }

    #[test]
    fn a_store_that_fails_does_not_pass_for_a_short_one() {
        let (memory, kept) = both(8, 6);
        assert_eq!(kept.iter().count(), 6);
        assert_eq!(kept.failure(), Some("a worn disk"));
        assert_ne!(memory, kept);
        let (_, copy) = both(8, 0);
        let seen = copy.clone();
        assert_eq!(seen.get(0), None);
        assert_eq!(copy.failure(), Some("a worn disk"), "every copy knows");
    }

    #[test]
    fn a_store_that_gives_nothing_has_failed() {
        #[derive(Debug)]
        struct Silent;
        impl PieceStore for Silent {
            fn len(&self) -> usize {
                2
            }
            fn read(&self, _: usize, _: &mut Vec<Piece>) -> io::Result<()> {
                Ok(())
            }
        }
        let kept = Pieces::kept(Silent);
        assert_eq!(kept.iter().count(), 0);
        assert_eq!(kept.failure(), Some("no stay number 0 of 2"));
    }
}

// SPDX-License-Identifier: GPL-2.0-only
use std::io;

use idlewise_model::{Piece, PieceStore, Pieces, PiecesError};

use crate::common::EMPTY;

/// Idle periods in a block of those in memory.
const BLOCK: usize = 1024;

fn piece(start_ns: u64) -> Piece {
    Piece { start_ns, ..EMPTY }
}

/// Three in a block; from block number `broken` on nothing can be read.
#[derive(Debug)]
struct Store {
    all: Vec<Piece>,
    broken: usize,
}

impl PieceStore for Store {
    fn periods(&self) -> usize {
        self.all.len()
    }

    fn blocks(&self) -> usize {
        self.all.len().div_ceil(3)
    }

    fn read(&self, n: usize) -> io::Result<Vec<Piece>> {
        if n >= self.broken {
            return Err(io::Error::other("a worn disk"));
        }
        Ok(self.all.chunks(3).nth(n).unwrap().to_vec())
    }
}

fn both(n: u64, broken: usize) -> (Pieces, Pieces) {
    let all: Vec<Piece> = (0..n).map(piece).collect();
    (all.clone().into(), Pieces::stored(Store { all, broken }))
}

#[test]
fn a_store_has_what_memory_would_have() {
    let block = BLOCK as u64;
    for n in (0..10).chain([block - 1, block, block + 1, 2 * block]) {
        let (memory, stored) = both(n, usize::MAX);
        assert_eq!(memory, stored);
        assert!(memory.to_vec().unwrap().into_iter().eq((0..n).map(piece)));
        assert_eq!((stored.len(), stored.is_empty(), stored.in_memory()), (n as usize, n == 0, false));
        for pieces in [memory, stored] {
            assert!(pieces.blocks().all(|block| !block.unwrap().is_empty()));
        }
    }
    assert_eq!(both(2 * block, usize::MAX).0.block(1).unwrap().unwrap().len(), BLOCK);
    assert_ne!(both(3, usize::MAX).0, both(4, usize::MAX).1);
}

#[test]
fn a_change_is_made_wherever_they_are() {
    let (memory, stored) = both(8, usize::MAX);
    let expected: Pieces = (0..8).map(|n| Piece { iowait: 7, ..piece(n) }).collect();
    for pieces in [memory, stored] {
        let changed = pieces.changed(|p| p.iowait = 7);
        assert_eq!((&changed, changed.in_memory()), (&expected, pieces.in_memory()));
        assert_ne!(changed, pieces);
    }
}

#[test]
fn a_store_that_fails_is_not_a_short_one() {
    let (memory, stored) = both(8, 2);
    let why = PiecesError { why: "a worn disk".to_owned() };
    assert_eq!(stored.blocks().filter(Result::is_ok).count(), 2);
    assert_eq!(stored.to_vec(), Err(why));
    assert_ne!(memory, stored);
    assert_ne!(stored, stored.clone());
}

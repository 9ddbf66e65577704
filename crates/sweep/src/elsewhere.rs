// SPDX-License-Identifier: GPL-2.0-only
//! A program that has a sweep computed elsewhere: its calls of the command on this thread.

use std::cell::RefCell;

use crate::known::KnownCase;
use crate::parts::Parts;

/// What a program wants of the next sweep.
enum Wanted {
    /// To be given its parts.
    Parts,
    Given(Box<Parts>),
    /// The result of what was computed.
    Result(Vec<KnownCase>),
}

thread_local! {
    // A command sweeps on the thread that it was called on.
    static WANTED: RefCell<Option<Wanted>> = const { RefCell::new(None) };
}

/// Calls the command by `call`, which runs nothing; gives the parts of its sweep, too, if it got that far.
pub fn parts_of<T>(call: impl FnOnce() -> T) -> (T, Option<Parts>) {
    WANTED.set(Some(Wanted::Parts));
    let called = call();
    match WANTED.take() {
        Some(Wanted::Given(parts)) => (called, Some(*parts)),
        _ => (called, None),
    }
}

/// Calls the command by `call`, which reads no recording: `cases` are what it has. All results have to be in its folder.
pub fn with_known<T>(cases: Vec<KnownCase>, call: impl FnOnce() -> T) -> T {
    WANTED.set(Some(Wanted::Result(cases)));
    let called = call();
    WANTED.set(None);
    called
}

pub(crate) fn wants_parts() -> bool {
    WANTED.with_borrow(|wanted| matches!(wanted, Some(Wanted::Parts)))
}

pub(crate) fn give(parts: Parts) {
    WANTED.set(Some(Wanted::Given(Box::new(parts))));
}

pub(crate) fn known() -> Option<Vec<KnownCase>> {
    match WANTED.take() {
        Some(Wanted::Result(cases)) => Some(cases),
        other => {
            WANTED.set(other);
            None
        }
    }
}

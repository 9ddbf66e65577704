// SPDX-License-Identifier: GPL-2.0-only
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Says when a recording is to end; it can be slept on.
#[derive(Debug)]
pub struct Stop {
    asked: PipeReader,
}

/// Ends the recording of its [`Stop`], from a signal's handler for instance.
#[derive(Debug)]
pub struct Stopper {
    ask: PipeWriter,
}

impl Stop {
    /// A pair of both ends.
    ///
    /// # Errors
    /// When the system has no pipe left.
    pub fn new() -> io::Result<(Self, Stopper)> {
        let (asked, ask) = io::pipe()?;
        Ok((Self { asked }, Stopper { ask }))
    }

    /// Takes note of a request that is known to have come.
    pub(super) fn heard(&mut self) {
        let _ = self.asked.read(&mut [0]);
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.asked.as_fd()
    }
}

impl Stopper {
    /// Asks for the end; asked again while the command goes on, it is killed.
    pub fn stop(&mut self) {
        let _ = self.ask.write_all(&[0]);
    }
}

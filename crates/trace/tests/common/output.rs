// SPDX-License-Identifier: GPL-2.0-only
//! What a running tool prints, line by line.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// A tool that runs as long as this lives.
pub struct Output {
    child: Child,
    lines: BufReader<ChildStdout>,
    buf: Vec<u8>,
}

impl Output {
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        Self { child, lines, buf: Vec::new() }
    }

    /// The next line, with its end.
    pub fn line(&mut self) -> Option<String> {
        self.buf.clear();
        let n = self.lines.read_until(b'\n', &mut self.buf).unwrap();
        (n > 0).then(|| String::from_utf8_lossy(&self.buf).into_owned())
    }

    /// How it ends.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

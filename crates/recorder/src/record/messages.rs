// SPDX-License-Identifier: GPL-2.0-only
use std::io::{self, Read, Write};
use std::thread;

/// Pairs of a sender and a receiver, as many as CPUs twice over.
const PAIRS_PER_CPU: usize = 2;
/// Messages of each pair, and their size, bytes.
const MESSAGES: usize = 20_000;
const SIZE: usize = 100;

/// A load of a second or so: pairs of threads that exchange messages through pipes, each waiting for the other's answer. What
/// a recording costs shows here, because nothing happens but switches and wakeups.
pub fn messages() {
    let pairs = PAIRS_PER_CPU * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|s| {
        for _ in 0..pairs {
            let (Ok((mut ask_in, mut ask_out)), Ok((mut answer_in, mut answer_out))) =
                (io::pipe(), io::pipe())
            else {
                return;
            };
            s.spawn(move || {
                let mut message = [0; SIZE];
                // At the end of the other side there is nothing more to read.
                while ask_in.read_exact(&mut message).and_then(|()| answer_out.write_all(&message)).is_ok() {}
            });
            s.spawn(move || {
                let mut message = [0; SIZE];
                for _ in 0..MESSAGES {
                    if ask_out.write_all(&message).and_then(|()| answer_in.read_exact(&mut message)).is_err()
                    {
                        return;
                    }
                }
            });
        }
    });
}

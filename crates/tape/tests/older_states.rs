// SPDX-License-Identifier: GPL-2.0-only
//! States of tasks as older kernels, and LTTng, record them: several bits at once.

use idlewise_madeinput::story::*;

/// How many tasks wait for I/O while CPU 0 is idle, after task 1 went to sleep with `prev_state`.
fn waiting(prev_state: u64) -> u16 {
    let mut s = Story::new(1);
    s.prelude(0);
    s.switch(0, TICK + 30 * US, prev_state, 0);
    s.idle(0, TICK + 40 * US, 0);
    s.exit(0, TICK + 50 * US);
    s.switch(0, TICK + 60 * US, RUNNING, 7);
    stays(&s.tape(), 0)[0].iowait
}

#[test]
fn sleeps_of_older_kernels_are_told_apart() {
    // Uninterruptible; with the bit that lets a fatal signal end it, before 4.14 and since.
    assert_eq!([2, 2 | 128, 2 | 256].map(waiting), [1, 1, 1]);
    // Interruptible, an idle kworker, preempted, stopped, parked.
    assert_eq!([1, 2 | 1024, 4096, 256, 4, 64].map(waiting), [0; 6]);
}

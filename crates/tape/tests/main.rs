// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod evidence;
mod impossible_events;
mod kernel_versions_page;
mod late_ticks;
mod lazy_cancels;
mod long_recordings;
mod missing_lines;
mod older_states;
mod partial_texts;
mod recordings_that_lack_something;
mod stories;
mod stories_of_visits;
mod timers_of_older_kernels;
mod timers_that_nobody_armed;
mod without_idle_events;

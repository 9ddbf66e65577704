// SPDX-License-Identifier: GPL-2.0-only
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::kit::{LoadRequest, broken, percentile_us, work};
use crate::{LiveError, clock};

const PERIOD: Duration = Duration::from_nanos(16_666_667);
/// What the two threads do of each frame, one after the other.
const FIRST: Duration = Duration::from_millis(2);
const SECOND: Duration = Duration::from_millis(4);

/// How much later than its work takes a frame is done, and how many are done after the next began.
pub(super) fn run(request: &LoadRequest) -> Result<Vec<f64>, LiveError> {
    let (to_renderer, frames) = channel::<Instant>();
    let (to_screen, done) = channel();
    let renderer = thread::spawn(move || {
        while let Ok(begin) = frames.recv() {
            work(SECOND);
            if to_screen.send(clock::now().saturating_duration_since(begin)).is_err() {
                break;
            }
        }
    });
    let start = clock::now();
    for frame in 1_u32.. {
        let begin = start + PERIOD * frame;
        if begin.saturating_duration_since(start) > request.duration {
            break;
        }
        thread::sleep(begin.saturating_duration_since(clock::now()));
        work(FIRST);
        to_renderer.send(begin).map_err(|_| broken("thread"))?;
    }
    drop(to_renderer);
    renderer.join().map_err(|_| broken("thread"))?;
    let took: Vec<Duration> = done.iter().collect();
    let missed = took.iter().filter(|t| **t > PERIOD).count();
    let mut late: Vec<Duration> = took.iter().map(|t| t.saturating_sub(FIRST + SECOND)).collect();
    let share = 100.0 * missed as f64 / took.len().max(1) as f64;
    Ok(vec![percentile_us(&mut late, 0.5), percentile_us(&mut late, 0.99), share])
}

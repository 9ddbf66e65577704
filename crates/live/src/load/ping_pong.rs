// SPDX-License-Identifier: GPL-2.0-only
use std::io::{Read, Write, pipe};
use std::thread;

use super::kit::{LoadRequest, allowed_cpus, broken, pin};
use crate::{LiveError, clock};

/// Trips between two looks at the clock.
const BATCH: u32 = 64;

pub(super) fn across(request: &LoadRequest) -> Result<Vec<f64>, LiveError> {
    match allowed_cpus().as_slice() {
        [first, second, ..] => run(request, [*first, *second]),
        _ => {
            let why = "ping-pong needs two CPUs; there is ping-pong-one";
            Err(LiveError::lacks(why))
        }
    }
}

pub(super) fn on_one(request: &LoadRequest) -> Result<Vec<f64>, LiveError> {
    let cpu = allowed_cpus().first().copied().unwrap_or(0);
    run(request, [cpu, cpu])
}

fn run(request: &LoadRequest, cpus: [usize; 2]) -> Result<Vec<f64>, LiveError> {
    let failed = |_| broken("pipe");
    let (mut there, mut to_there) = pipe().map_err(failed)?;
    let (mut here, mut to_here) = pipe().map_err(failed)?;
    let echo = thread::spawn(move || {
        pin(cpus[1]);
        let mut byte = [0];
        // The end of the pipe is the end of the load.
        while there.read_exact(&mut byte).is_ok() && to_here.write_all(&byte).is_ok() {}
    });
    pin(cpus[0]);
    let start = clock::now();
    let mut trips = 0_u64;
    while start.elapsed() < request.duration {
        for _ in 0..BATCH {
            let mut byte = [1];
            to_there.write_all(&byte).map_err(failed)?;
            here.read_exact(&mut byte).map_err(failed)?;
        }
        trips += u64::from(BATCH);
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(to_there);
    echo.join().map_err(|_| broken("thread"))?;
    Ok(vec![trips as f64 / seconds])
}

// SPDX-License-Identifier: GPL-2.0-only
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::kit::{Chance, LoadRequest, broken, percentile_us, work};
use crate::{LiveError, clock};

const WORKERS: usize = 4;
const WORK: Duration = Duration::from_micros(200);

pub(super) fn run(request: &LoadRequest) -> Result<Vec<f64>, LiveError> {
    let (report, done) = channel();
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let (order, orders) = channel::<()>();
        let report = report.clone();
        workers.push(order);
        thread::spawn(move || {
            while orders.recv().is_ok() {
                work(WORK);
                if report.send(()).is_err() {
                    break;
                }
            }
        });
    }
    let mut chance = Chance(request.seed);
    let mut took = Vec::new();
    let start = clock::now();
    while start.elapsed() < request.duration {
        thread::sleep(Duration::from_micros(5000 + chance.below(30_000)));
        let begin = clock::now();
        for worker in &workers {
            worker.send(()).map_err(|_| broken("thread"))?;
        }
        for _ in &workers {
            done.recv().map_err(|_| broken("thread"))?;
        }
        took.push(begin.elapsed());
    }
    Ok(vec![percentile_us(&mut took, 0.5), percentile_us(&mut took, 0.99)])
}

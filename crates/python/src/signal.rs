// SPDX-License-Identifier: GPL-2.0-only
//! PELT and WALT of a task's running intervals, as functions over arrays.

use idlewise_signal::pelt::{Avg, Config as PeltConfig, HalfLife, Pelt, PeltError, Speed};
use idlewise_signal::walt::{Config as WaltConfig, CpuSpec, Walt, WaltError};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Full capacity, and full utilisation.
const FULL: u32 = 1024;

/// Times in ns: a buffer of 64-bit integers (numpy, array), or any sequence of integers.
#[derive(Clone, Debug)]
pub(crate) struct Times(Vec<u64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Times {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(buffer) = PyBuffer::<u64>::get(&object) {
            return Ok(Self(buffer.to_vec(object.py())?));
        }
        if let Ok(buffer) = PyBuffer::<i64>::get(&object) {
            let negative = || PyValueError::new_err("a time is negative; times are ns from 0 on");
            let all = buffer.to_vec(object.py())?;
            let all: Option<Vec<u64>> = all.into_iter().map(|t| u64::try_from(t).ok()).collect();
            return all.map(Self).ok_or_else(negative);
        }
        object.extract().map(Self).map_err(|_| {
            let what =
                object.get_type().name().map_or_else(|_| String::new(), |name| format!(", not {name}"));
            PyTypeError::new_err(format!(
                "expected times as whole numbers of ns, 0 or more, in a list or an array{what}"
            ))
        })
    }
}

/// What happens at a time: the task begins to run, ends, or is looked at. At the same time an end comes first, a look last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    End,
    Start,
    Look,
}

/// The steps of these intervals in order of time, each with the place of its value.
fn steps(start: &[u64], end: &[u64], at: &[u64]) -> Result<Vec<(u64, Step, usize)>, String> {
    if start.len() != end.len() {
        return Err(format!("{} starts and {} ends; each interval has both", start.len(), end.len()));
    }
    for (i, (from, to)) in start.iter().zip(end).enumerate() {
        let before = i.checked_sub(1).and_then(|i| end.get(i)).copied().unwrap_or(0);
        if from > to || *from < before {
            return Err(format!(
                "interval {i}, {from} to {to} ns: expected a start after the end of the one before, {before} ns, and an end after it"
            ));
        }
    }
    let of =
        |times: &[u64], step| times.iter().enumerate().map(move |(i, t)| (*t, step, i)).collect::<Vec<_>>();
    let mut all = [of(start, Step::Start), of(end, Step::End), of(at, Step::Look)].concat();
    // Intervals without a length leave their order of start and end to their place.
    let empty = |i: usize| start.get(i) == end.get(i);
    all.retain(|(_, step, i)| *step == Step::Look || !empty(*i));
    all.sort_unstable();
    Ok(all)
}

/// What a task has had before it first ran is nothing, so periods are counted from there.
fn pelt_values(pelt: &Pelt, steps: &[(u64, Step, usize)], count: usize) -> Vec<u32> {
    let mut out = vec![0; count];
    let first = steps.iter().position(|(_, step, _)| *step == Step::Start).unwrap_or(steps.len());
    let steps = &steps[first..];
    let (mut avg, mut running) = (Avg::at(steps.first().map_or(0, |s| s.0)), false);
    for (now, step, place) in steps {
        let load = u64::from(running);
        if pelt.update(&mut avg, Speed::FULL, *now, load, load, running) {
            pelt.publish(&mut avg, 1);
        }
        match step {
            Step::Start => running = true,
            Step::End => running = false,
            Step::Look => out[*place] = avg.util as u32,
        }
    }
    out
}

/// PELT's utilisation of a task (0 to 1024) after an update at each time of `at`. The task runs from each `start` to the `end` of the same place on a CPU
/// at full speed and sleeps otherwise. All ns. 32-bit numbers as bytes.
#[pyfunction]
pub(crate) fn pelt<'p>(
    py: Python<'p>,
    start: Times,
    end: Times,
    at: Times,
    kernel: (u32, u32),
    half_life_ms: u32,
) -> PyResult<Bound<'p, PyBytes>> {
    let half_life = match half_life_ms {
        8 => HalfLife::Ms8,
        16 => HalfLife::Ms16,
        32 => HalfLife::Ms32,
        other => {
            let why = format!("half_life_ms {other}: expected 8, 16 or 32");
            return Err(PyValueError::new_err(why));
        }
    };
    let values = py.detach(|| {
        let config = PeltConfig::kernel(kernel.0, kernel.1).ok_or(PeltError::Kernel(kernel.0, kernel.1));
        let pelt = config.and_then(|c| Pelt::new(c.with_half_life(half_life))).map_err(|e| e.to_string())?;
        Ok(pelt_values(&pelt, &steps(&start.0, &end.0, &at.0)?, at.0.len()))
    });
    bytes(py, values)
}

/// Demand of the task and busy time of its CPU.
fn walt_values(
    config: WaltConfig,
    steps: &[(u64, Step, usize)],
    count: usize,
) -> Result<[Vec<u32>; 2], WaltError> {
    let mut out = [vec![0; count], vec![0; count]];
    let cpu = CpuSpec { capacity: FULL, max_freq_khz: 1_000_000 };
    let mut walt = Walt::new(config, &[cpu])?;
    walt.start(0)?;
    let task = walt.add_task(0, None)?;
    for (now, step, place) in steps {
        match step {
            Step::Start => {
                walt.wake(task, 0, *now)?;
                walt.switch(0, task, false, *now)?;
            }
            Step::End => walt.switch_to_idle(0, true, *now)?,
            Step::Look => {
                walt.tick(0, *now)?;
                let [demand, busy] = &mut out;
                demand[*place] = walt.task_util(task).unwrap_or(0);
                busy[*place] = walt.frequency_util(0).unwrap_or(0);
            }
        }
    }
    Ok(out)
}

/// WALT of a task that runs as [`pelt`] says: its demand, and the busy time of its CPU that a frequency governor reads (both 0 to
/// 1024). Windows begin at 0. 32-bit numbers as bytes.
#[pyfunction]
pub(crate) fn walt<'p>(
    py: Python<'p>,
    start: Times,
    end: Times,
    at: Times,
    window_ns: u32,
) -> PyResult<(Bound<'p, PyBytes>, Bound<'p, PyBytes>)> {
    let values = py.detach(|| {
        let config = WaltConfig { window_ns, ..WaltConfig::android() };
        let steps = steps(&start.0, &end.0, &at.0)?;
        walt_values(config, &steps, at.0.len()).map_err(|e| e.to_string())
    });
    let [demand, busy] = values.map_err(PyValueError::new_err)?;
    Ok((bytes(py, Ok(demand))?, bytes(py, Ok(busy))?))
}

fn bytes(py: Python<'_>, values: Result<Vec<u32>, String>) -> PyResult<Bound<'_, PyBytes>> {
    let values = values.map_err(PyValueError::new_err)?;
    let all: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    Ok(PyBytes::new(py, &all))
}

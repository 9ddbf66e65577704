// SPDX-License-Identifier: GPL-2.0-only
//! What a governor in Python is given: a CPU, its idle states, what may be asked at a decision. `python/idlewise/_idlewise.pyi` says
//! what each value is. Only the thread that has the GIL writes and reads them.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use idlewise_governor::{CpuToEnable, Device, Inputs};
use idlewise_model::IdleState;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// An idle state of a CPU.
#[pyclass(frozen, module = "idlewise", name = "State")]
pub(crate) struct StateView {
    #[pyo3(get)]
    index: usize,
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    target_residency_ns: i64,
    #[pyo3(get)]
    exit_latency_ns: i64,
    #[pyo3(get)]
    polling: bool,
    disabled: AtomicBool,
}

impl StateView {
    pub(crate) fn new(index: usize, state: &IdleState) -> Self {
        Self {
            index,
            name: state.name.clone(),
            target_residency_ns: state.target_residency_ns,
            exit_latency_ns: state.exit_latency_ns,
            polling: state.polling,
            disabled: AtomicBool::new(false),
        }
    }

    pub(crate) fn set_disabled(&self, disabled: bool) {
        self.disabled.store(disabled, Relaxed);
    }
}

#[pymethods]
impl StateView {
    #[getter]
    fn disabled(&self) -> bool {
        self.disabled.load(Relaxed)
    }

    fn __repr__(&self) -> String {
        let off = if self.disabled() { ", disabled" } else { "" };
        format!(
            "<state {} {}: target residency {} ns, exit latency {} ns{off}>",
            self.index, self.name, self.target_residency_ns, self.exit_latency_ns
        )
    }
}

/// A CPU that goes idle.
#[pyclass(frozen, module = "idlewise", name = "Cpu")]
pub(crate) struct CpuView {
    #[pyo3(get)]
    number: u32,
    #[pyo3(get)]
    capacity: u32,
    #[pyo3(get)]
    states: Py<PyTuple>,
    now_ns: AtomicU64,
    last_residency_ns: AtomicI64,
    poll_time_limit: AtomicBool,
    got_tick: AtomicBool,
}

impl CpuView {
    pub(crate) fn new(on: &CpuToEnable<'_>, states: Py<PyTuple>) -> Self {
        Self {
            number: on.number,
            capacity: on.capacity,
            states,
            now_ns: AtomicU64::new(0),
            last_residency_ns: AtomicI64::new(0),
            poll_time_limit: AtomicBool::new(false),
            got_tick: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn set(&self, device: &Device, now_ns: u64) {
        self.now_ns.store(now_ns, Relaxed);
        self.last_residency_ns.store(device.last_residency_ns, Relaxed);
        self.poll_time_limit.store(device.poll_time_limit, Relaxed);
        self.got_tick.store(device.got_tick, Relaxed);
    }

    /// Whether the tick's handler ran, and nobody has asked.
    #[inline]
    pub(crate) fn has_tick(&self) -> bool {
        self.got_tick.load(Relaxed)
    }
}

#[pymethods]
impl CpuView {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Relaxed)
    }

    #[getter]
    fn last_residency_ns(&self) -> i64 {
        self.last_residency_ns.load(Relaxed)
    }

    #[getter]
    fn poll_time_limit(&self) -> bool {
        self.poll_time_limit.load(Relaxed)
    }

    /// Whether the tick's handler ran since this was last asked.
    fn got_tick(&self) -> bool {
        self.got_tick.swap(false, Relaxed)
    }

    fn __repr__(&self) -> String {
        format!("<CPU {} at {} ns>", self.number, self.now_ns())
    }
}

/// What a governor may ask at a decision.
#[pyclass(frozen, module = "idlewise", name = "Inputs")]
pub(crate) struct InputsView {
    #[pyo3(get)]
    tick_period_ns: u64,
    sleep_length_ns: AtomicI64,
    delta_tick_ns: AtomicI64,
    latency_limit_ns: AtomicI64,
    util: AtomicU32,
    iowait: AtomicU32,
    random: AtomicU32,
    tick_stopped: AtomicBool,
    asked: AtomicBool,
}

impl InputsView {
    pub(crate) fn new(tick_period_ns: u64) -> Self {
        Self {
            tick_period_ns,
            sleep_length_ns: AtomicI64::new(0),
            delta_tick_ns: AtomicI64::new(0),
            latency_limit_ns: AtomicI64::new(0),
            util: AtomicU32::new(0),
            iowait: AtomicU32::new(0),
            random: AtomicU32::new(0),
            tick_stopped: AtomicBool::new(false),
            asked: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn set(&self, inputs: &Inputs) {
        self.sleep_length_ns.store(inputs.sleep_length_ns, Relaxed);
        self.delta_tick_ns.store(inputs.delta_tick_ns, Relaxed);
        self.latency_limit_ns.store(inputs.latency_limit_ns, Relaxed);
        self.util.store(inputs.util, Relaxed);
        self.iowait.store(inputs.iowait, Relaxed);
        self.random.store(inputs.random, Relaxed);
        self.tick_stopped.store(inputs.tick_stopped, Relaxed);
        self.asked.store(false, Relaxed);
    }

    /// Whether the sleep length was asked for since [`InputsView::set`].
    #[inline]
    pub(crate) fn was_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }
}

#[pymethods]
impl InputsView {
    #[getter]
    fn sleep_length_ns(&self) -> i64 {
        self.asked.store(true, Relaxed);
        self.sleep_length_ns.load(Relaxed)
    }

    #[getter]
    fn delta_tick_ns(&self) -> i64 {
        self.asked.store(true, Relaxed);
        self.delta_tick_ns.load(Relaxed)
    }

    #[getter]
    fn latency_limit_ns(&self) -> i64 {
        self.latency_limit_ns.load(Relaxed)
    }

    #[getter]
    fn util(&self) -> u32 {
        self.util.load(Relaxed)
    }

    #[getter]
    fn iowait(&self) -> u32 {
        self.iowait.load(Relaxed)
    }

    #[getter]
    fn random(&self) -> u32 {
        self.random.load(Relaxed)
    }

    #[getter]
    fn tick_stopped(&self) -> bool {
        self.tick_stopped.load(Relaxed)
    }
}

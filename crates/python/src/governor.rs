// SPDX-License-Identifier: GPL-2.0-only
//! Governors that are written in Python, for the engine. What they are and how one is written: `python/idlewise/_governor.py`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use idlewise_governor::{
    CallerCpu, CallerGovernor, Choice, CpuToEnable, Device, Inputs, OF_AN_OBJECT, Value, Variable,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyTuple};

use crate::place::in_governor;
use crate::view::{CpuView, InputsView, StateView};

/// What words of Python's are there for.
const HELPERS: &str = "idlewise._governor";
/// Characters of a value that an error shows.
const SHOWN: usize = 60;

/// Name, a function that makes a copy, and the file with its text where that is known.
pub(crate) type Given = (String, Py<PyAny>, Option<(PathBuf, String)>);

/// What the governors of a call share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The call has ended, and nobody wants to know any more.
    pub(crate) ended: AtomicBool,
    /// What was raised, with what errors say of it.
    raised: Mutex<Vec<(String, PyErr)>>,
    /// The threads, by Python's numbers, that run governors now.
    running: Mutex<Vec<u64>>,
}

impl Shared {
    /// The exception that is the reason of `failure`, if one is.
    pub(crate) fn cause(&self, py: Python<'_>, failure: &str) -> Option<PyErr> {
        let all = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let first = all.iter().filter_map(|(why, error)| Some((failure.find(why)?, error)));
        first.min_by_key(|(at, _)| *at).map(|(_, error)| error.clone_ref(py))
    }

    /// Ends what governors are doing, at the next line of theirs.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        py.import(HELPERS)?.call_method1("interrupt", (running,)).map(drop)
    }
}

/// A class, or an object that is copied.
#[derive(Debug)]
pub(crate) struct PythonGovernor {
    name: String,
    make: Py<PyAny>,
    source: Option<(PathBuf, String)>,
    shared: Arc<Shared>,
}

impl PythonGovernor {
    pub(crate) fn of((name, make, source): Given, shared: &Arc<Shared>) -> Self {
        Self { name, make, source, shared: Arc::clone(shared) }
    }
}

impl CallerGovernor for PythonGovernor {
    fn name(&self) -> &str {
        &self.name
    }

    fn source(&self) -> Option<(&Path, &str)> {
        self.source.as_ref().map(|(file, text)| (file.as_path(), text.as_str()))
    }

    /// The thread keeps the GIL: another of Python's gets it between two lines of the governor, as from any code of Python's.
    fn during(&self, job: &mut dyn FnMut()) {
        Python::attach(|py| {
            let thread = py.import("threading").and_then(|m| m.call_method0("get_ident")?.extract::<u64>());
            let running = || self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
            running().extend(thread.as_ref().ok());
            in_governor(job);
            running().retain(|other| thread.as_ref().ok() != Some(other));
        });
    }

    fn enable(&self, cpu: &CpuToEnable<'_>) -> Result<Box<dyn CallerCpu>, String> {
        if self.shared.ended.load(Ordering::Relaxed) {
            return Err("was ended".to_owned());
        }
        Python::attach(|py| match PythonCpu::new(py, self, cpu) {
            Ok(copy) => Ok(Box::new(copy) as Box<dyn CallerCpu>),
            Err(error) => Err(raised(py, &self.shared, error)),
        })
    }
}

/// Keeps an exception; what errors say of it.
fn raised(py: Python<'_>, shared: &Shared, error: PyErr) -> String {
    // With its traceback.
    let value = error.clone_ref(py).into_value(py);
    let sentence = py.import(HELPERS).and_then(|m| m.call_method1("sentence", (value,))?.extract());
    let why = sentence.unwrap_or_else(|_| format!("raised {error}"));
    shared.raised.lock().unwrap_or_else(PoisonError::into_inner).push((why.clone(), error));
    why
}

/// What is called, and with what.
type Called = (Py<PyAny>, Py<PyTuple>);

/// A copy for one CPU, and what it is given: objects that are made once, and hold other values at each decision.
struct PythonCpu {
    /// The caller's object of this CPU.
    copy: Py<PyAny>,
    select: Called,
    /// After each state; nothing where the class has no reflect of its own.
    reflect: Vec<Called>,
    cpu: Py<CpuView>,
    inputs: Py<InputsView>,
    states: Vec<Py<StateView>>,
    /// Bit i set for every state that `states` shows as disabled.
    disabled: u16,
    shared: Arc<Shared>,
}

impl PythonCpu {
    fn new(py: Python<'_>, governor: &PythonGovernor, on: &CpuToEnable<'_>) -> PyResult<Self> {
        let copy = governor.make.bind(py).call0()?;
        let states = (0..).zip(on.table.states()).map(|(i, state)| Py::new(py, StateView::new(i, state)));
        let states: Vec<Py<StateView>> = states.collect::<PyResult<_>>()?;
        let all = PyTuple::new(py, &states)?;
        let cpu = Py::new(py, CpuView::new(on, all.clone().unbind()))?;
        let inputs = Py::new(py, InputsView::new(on.tick_period_ns))?;
        let methods = py.import(HELPERS)?.call_method1("methods", (&copy, &cpu, all, &inputs))?;
        let (select, reflect) = methods.extract()?;
        let shared = Arc::clone(&governor.shared);
        Ok(Self { copy: copy.unbind(), select, reflect, cpu, inputs, states, disabled: 0, shared })
    }

    /// What `answer` means.
    fn choice(&self, answer: &Bound<'_, PyAny>) -> Result<Choice, String> {
        let (index, stop_tick) = match answer.cast::<PyTuple>() {
            // The kernel's default is to stop it.
            Err(_) => (self.index(answer), Some(true)),
            Ok(both) if both.len() != 2 => (None, None),
            Ok(both) => {
                let index = both.get_item(0).ok().and_then(|index| self.index(&index));
                let stop_tick =
                    both.get_item(1).ok().and_then(|tick| Some(tick.cast::<PyBool>().ok()?.is_true()));
                (index, stop_tick)
            }
        };
        let asked_sleep_length = self.inputs.get().was_asked();
        match (index, stop_tick) {
            (Some(index), Some(stop_tick)) => Ok(Choice { index, stop_tick, asked_sleep_length }),
            _ => Err(self.nonsense(answer)),
        }
    }

    /// The index of a state that there is.
    fn index(&self, answer: &Bound<'_, PyAny>) -> Option<i32> {
        if !answer.is_exact_instance_of::<PyInt>() && answer.is_instance_of::<PyBool>() {
            return None;
        }
        let index: i32 = answer.extract().ok()?;
        usize::try_from(index).is_ok_and(|at| at < self.states.len()).then_some(index)
    }

    #[cold]
    fn nonsense(&self, answer: &Bound<'_, PyAny>) -> String {
        let shown = answer.repr().map_or_else(|_| "what has no repr".to_owned(), |text| text.to_string());
        let end = shown.char_indices().nth(SHOWN).map_or(shown.len(), |(at, _)| at);
        let more = if end < shown.len() { "..." } else { "" };
        format!(
            "returned {}{more}; expected the index of an idle state, 0 to {}, or (index, stop_tick)",
            &shown[..end],
            self.states.len() - 1
        )
    }

    /// Calls a method, at `now_ns` of the CPU's clock.
    fn call<T>(
        &self,
        (function, arguments): &Called,
        device: &mut Device,
        now_ns: u64,
        take: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, String>,
    ) -> Result<T, String> {
        if self.shared.ended.load(Ordering::Relaxed) {
            return Err("was ended".to_owned());
        }
        let cpu = self.cpu.get();
        cpu.set(device, now_ns);
        let taken = Python::attach(|py| match function.bind(py).call1(arguments.bind(py)) {
            Ok(answer) => take(&answer),
            Err(error) => Err(raised(py, &self.shared, error)),
        });
        device.got_tick = cpu.has_tick();
        taken
    }

    fn set_disabled(&mut self, mask: u16) {
        if mask != self.disabled {
            self.disabled = mask;
            self.states.iter().enumerate().for_each(|(i, s)| s.get().set_disabled(mask >> i & 1 == 1));
        }
    }
}

impl CallerCpu for PythonCpu {
    fn select(&mut self, device: &mut Device, inputs: &Inputs) -> Result<Choice, String> {
        self.set_disabled(device.disabled());
        self.inputs.get().set(inputs);
        let answer = |answer: &Bound<'_, PyAny>| self.choice(answer);
        self.call(&self.select, device, inputs.now_ns, answer)
    }

    fn reflect(&mut self, device: &mut Device, entered: usize, now_ns: u64) -> Result<(), String> {
        let Some(reflect) = self.reflect.get(entered) else { return Ok(()) };
        self.call(reflect, device, now_ns, |_| Ok(()))
    }

    /// The attributes of the object, as one variable.
    fn memory(&self) -> Vec<Variable> {
        Python::attach(|py| {
            let attributes = py.import(HELPERS).and_then(|m| m.call_method1("attributes", (&self.copy,)));
            let value = attributes.map_or(Value::Other, |all| shown(&all));
            vec![Variable { name: OF_AN_OBJECT.to_owned(), value }]
        })
    }
}

/// A value that `attributes` has made simple.
fn shown(value: &Bound<'_, PyAny>) -> Value {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Value::Bool(flag.is_true());
    }
    if let Ok(members) = value.cast::<PyDict>() {
        let member = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Variable {
            name: name.to_string(),
            value: shown(&value),
        };
        return Value::Struct(members.iter().map(member).collect());
    }
    if let Ok(elements) = value.cast::<PyList>() {
        return Value::Array(elements.iter().map(|element| shown(&element)).collect());
    }
    value.extract::<i128>().map_or_else(|_| Value::Text(value.to_string()), Value::Number)
}

// SPDX-License-Identifier: GPL-2.0-only
//! Governors that the calling program has itself, such as a class of Python. An instance of one is an [`Object`] like any other,
//! whose functions lead back to the program.
#![expect(unsafe_code, reason = "stands where the object of a governor in C would be")]

use std::cell::RefCell;
use std::ffi::c_int;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use idlewise_debuginfo::Variable;
use idlewise_model::IdleTable;

use crate::abi::{ABI_VERSION, Abi, CpuDevice, Device, Driver, Env, Governor, Inputs, LAYOUT, Log};
use crate::choice::Choice;
use crate::error::GovernorError;
use crate::failure::FirstFailure;
use crate::position::{Place, Stage};

/// The variable of [`CallerCpu::memory`] that has all attributes of an object.
pub const OF_AN_OBJECT: &str = "self";

/// A governor that the calling program has. Where it goes wrong, the reason is a sentence about it without a subject, such as
/// `returned 7; expected 0 to 3`.
pub trait CallerGovernor: fmt::Debug + Send + Sync {
    /// What options name it by, and results call it.
    fn name(&self) -> &str;

    /// The file that it is written in, and its text, where both are known.
    fn source(&self) -> Option<(&Path, &str)>;

    /// Does `job` on this thread, which asks the governor many times.
    fn during(&self, job: &mut dyn FnMut());

    /// A new copy, for one CPU.
    ///
    /// # Errors
    /// Why there is none.
    fn enable(&self, cpu: &CpuToEnable<'_>) -> Result<Box<dyn CallerCpu>, String>;
}

/// The CPU that a copy is for.
#[derive(Clone, Copy, Debug)]
pub struct CpuToEnable<'t> {
    pub number: u32,
    /// 1024 for the biggest CPU of the machine.
    pub capacity: u32,
    pub table: &'t IdleTable,
    /// The kernel's `TICK_NSEC`.
    pub tick_period_ns: u64,
}

/// A copy of a [`CallerGovernor`] for one CPU.
pub trait CallerCpu: Send {
    /// As [`crate::Instance::select`].
    ///
    /// # Errors
    /// What it did instead of choosing an idle state.
    fn select(&mut self, device: &mut Device, inputs: &Inputs) -> Result<Choice, String>;

    /// As [`crate::Instance::reflect`].
    ///
    /// # Errors
    /// What it did instead.
    fn reflect(&mut self, device: &mut Device, entered: usize, now_ns: u64) -> Result<(), String>;

    /// What it remembers at this moment, as [`crate::Instance::memory`].
    fn memory(&self) -> Vec<Variable>;
}

thread_local! {
    // Options are read on the thread that a command was called on.
    static OFFERED: RefCell<Vec<Arc<dyn CallerGovernor>>> = const { RefCell::new(Vec::new()) };
}

/// From now on, options of commands on this thread may name `governors`, and no others that a program has.
pub fn offer(governors: Vec<Arc<dyn CallerGovernor>>) {
    OFFERED.set(governors);
}

/// Does `job`, in which options may name `governors` and no others that a program has: what [`on_offer`] gave on the thread that a
/// command was called on, for another thread that works for it.
pub fn offering<T>(governors: &[Arc<dyn CallerGovernor>], job: impl FnOnce() -> T) -> T {
    struct Before(Vec<Arc<dyn CallerGovernor>>);
    impl Drop for Before {
        fn drop(&mut self) {
            OFFERED.set(std::mem::take(&mut self.0));
        }
    }
    // A job of another call may have been begun on this thread, and waits.
    let _before = Before(OFFERED.replace(governors.to_vec()));
    job()
}

/// The governors that options of commands on this thread may name.
#[must_use]
pub fn on_offer() -> Vec<Arc<dyn CallerGovernor>> {
    OFFERED.with_borrow(Clone::clone)
}

/// The governor on offer that has this name.
pub(crate) fn offered(name: &str) -> Option<Arc<dyn CallerGovernor>> {
    OFFERED.with_borrow(|all| all.iter().find(|g| g.name() == name).cloned())
}

/// A CPU's own memory: what the object of a governor in C would have as its per-CPU variables.
#[repr(C)]
struct CpuMemory {
    device: CpuDevice,
    image: *mut CallerImage,
}

/// What an object of a governor in C has in its image.
struct CallerImage {
    env: Env,
    log: Log,
    fresh: CpuMemory,
    registered: Governor,
    governor: Arc<dyn CallerGovernor>,
    cpus: Vec<EnabledCpu>,
    tick_period_ns: u64,
    failure: FirstFailure,
    failed: bool,
}

struct EnabledCpu {
    number: u32,
    table: IdleTable,
    /// Times that it was asked.
    decisions: u64,
    copy: Option<Box<dyn CallerCpu>>,
}

/// The owner of a [`CallerImage`], which C would call a loaded object.
pub(crate) struct CallerObject(*mut CallerImage);

impl CallerObject {
    pub(crate) fn new(governor: Arc<dyn CallerGovernor>, tick_period_ns: u64, failure: FirstFailure) -> Self {
        let mut name = [0; 16];
        // One byte is left for the end that C wants.
        name.iter_mut().zip(governor.name().bytes().take(15)).for_each(|(to, from)| *to = from);
        let registered = Governor {
            name,
            rating: 0,
            enable: Some(enable),
            disable: None,
            select: Some(select),
            reflect: Some(reflect),
        };
        let env = Env {
            inputs: Inputs::default(),
            device: ptr::null_mut(),
            per_cpu_offset: ptr::null(),
            tick_nsec: 0,
            governor: ptr::null(),
            ask: 0,
            control: 0,
            stop_tick: false,
            asked_sleep_length: false,
        };
        let image = Box::into_raw(Box::new(CallerImage {
            env,
            log: Log { used: 0, text: [0; _] },
            fresh: CpuMemory { device: CpuDevice::fresh(0, 0, 0), image: ptr::null_mut() },
            registered,
            governor,
            cpus: Vec::new(),
            tick_period_ns,
            failure,
            failed: false,
        }));
        // SAFETY: just made, and nobody else has it yet.
        unsafe {
            (*image).fresh.image = image;
            (*image).env.governor = &raw const (*image).registered;
        }
        Self(image)
    }

    /// The table that an object of C would give.
    pub(crate) fn abi(&self) -> Abi {
        let image = self.0;
        // SAFETY: no reference is made, only addresses inside of the image are taken.
        let (env, log, fresh) = unsafe {
            (&raw mut (*image).env, &raw mut (*image).log, (&raw const (*image).fresh).cast::<u8>())
        };
        Abi {
            version: ABI_VERSION,
            layout: [0; LAYOUT],
            env,
            percpu: fresh,
            percpu_size: size_of::<CpuMemory>(),
            // Where the block begins.
            device: fresh,
            params: ptr::null(),
            nr_params: 0,
            descs: ptr::null(),
            nr_descs: 0,
            log,
            image_size: None,
            save: None,
            restore: None,
            memory_size: None,
            copy_memory: None,
            init: None,
        }
    }

    /// A CPU was added.
    pub(crate) fn add_cpu(&mut self, number: u32, table: &IdleTable) {
        let cpu = EnabledCpu { number, table: table.clone(), decisions: 0, copy: None };
        // SAFETY: the image lives, and none of its functions runs.
        unsafe { (*self.0).cpus.push(cpu) };
    }

    /// What the copy of the CPU that was added as number `index` remembers.
    pub(crate) fn memory(&self, index: usize) -> Vec<Variable> {
        // SAFETY: the image lives, and none of its functions runs.
        let cpus = unsafe { &(*self.0).cpus };
        cpus.get(index).and_then(|cpu| cpu.copy.as_ref()).map_or_else(Vec::new, |copy| copy.memory())
    }

    /// The CPU that was added last is taken away again.
    pub(crate) fn remove_last_cpu(&mut self) {
        // SAFETY: as above.
        unsafe { (*self.0).cpus.pop() };
    }
}

impl Drop for CallerObject {
    fn drop(&mut self) {
        // SAFETY: from Box::into_raw in `new`, once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl CallerImage {
    /// The governor went wrong, and is asked no more in this run.
    #[cold]
    fn fail(&mut self, stage: Stage, cpu: usize, now_ns: Option<u64>, why: String) {
        self.failed = true;
        let cpu = &self.cpus[cpu];
        let place = Place { stage, cpu: cpu.number, decision: cpu.decisions.saturating_sub(1) };
        let mut at = place.to_string();
        if let Some(now_ns) = now_ns {
            at.push_str(&format!(", at {}.{:09} s", now_ns / 1_000_000_000, now_ns % 1_000_000_000));
        }
        self.failure.keep(GovernorError::Misbehaved { id: self.governor.name().to_owned(), at, why });
    }
}

/// The image of a CPU, its device, and its number among the image's CPUs.
///
/// # Safety
/// `device` is the beginning of a CPU's [`CpuMemory`]; the result is gone when the function that was called with it returns.
unsafe fn image_of<'h>(device: *mut CpuDevice) -> (&'h mut CallerImage, &'h mut CpuDevice, usize) {
    // SAFETY: the caller says so; image and block are different memory.
    let (image, device) = unsafe { (&mut *(*device.cast::<CpuMemory>()).image, &mut *device) };
    let at = device.cpu as usize;
    (image, device, at)
}

unsafe extern "C" fn enable(_: *mut Driver, device: *mut CpuDevice) -> c_int {
    // SAFETY: the object calls this with the devices of its blocks only.
    let (image, device, at) = unsafe { image_of(device) };
    let tick_period_ns = image.tick_period_ns;
    let cpu = &mut image.cpus[at];
    cpu.decisions = 0;
    let on = CpuToEnable { number: cpu.number, capacity: device.capacity, table: &cpu.table, tick_period_ns };
    match image.governor.enable(&on) {
        Ok(copy) => cpu.copy = Some(copy),
        Err(why) => image.fail(Stage::Enable, at, None, why),
    }
    0
}

unsafe extern "C" fn select(_: *mut Driver, device: *mut CpuDevice, stop_tick: *mut bool) -> c_int {
    // SAFETY: as in `enable`.
    let (image, device, at) = unsafe { image_of(device) };
    if image.failed {
        return 0;
    }
    let cpu = &mut image.cpus[at];
    cpu.decisions += 1;
    let Some(copy) = &mut cpu.copy else { unreachable!("a CPU is enabled before it is asked") };
    match copy.select(&mut device.device, &image.env.inputs) {
        Ok(choice) => {
            image.env.asked_sleep_length = choice.asked_sleep_length;
            // SAFETY: the caller's variable, which may be in the environment; no reference to that is in use any more.
            unsafe { stop_tick.write(choice.stop_tick) };
            choice.index
        }
        Err(why) => {
            let now_ns = image.env.inputs.now_ns;
            image.fail(Stage::Select, at, Some(now_ns), why);
            0
        }
    }
}

unsafe extern "C" fn reflect(device: *mut CpuDevice, entered: c_int) {
    // SAFETY: as in `enable`.
    let (image, device, at) = unsafe { image_of(device) };
    if image.failed {
        return;
    }
    let now_ns = image.env.inputs.now_ns;
    let Some(copy) = &mut image.cpus[at].copy else {
        unreachable!("a CPU is enabled before it leaves a state")
    };
    // The object passes states that the CPU has.
    if let Err(why) = copy.reflect(&mut device.device, entered.unsigned_abs() as usize, now_ns) {
        image.fail(Stage::Reflect, at, Some(now_ns), why);
    }
}

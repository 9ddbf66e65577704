// SPDX-License-Identifier: GPL-2.0-only
//! A foreign governor's object, in a process of its own: questions to it, and answers that are checked.
#![expect(unsafe_code, reason = "copies structures to and from memory that a governor may write to")]

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use crate::GovernorError;
use crate::abi::{ABI_VERSION, Abi, CpuDevice, Device, Driver, Env, Governor, Inputs, Log, MAX_CPUS};
use crate::choice::Choice;
use crate::position::{Place, Stage};
use crate::process::Process;

/// Cache line, and so the alignment of what a CPU owns.
pub(crate) const LINE: usize = 64;

/// A CPU as its governor is asked about it.
#[derive(Clone, Copy)]
pub(crate) struct Cpu {
    /// Where the host has its device: the one of the object, or a copy if the object is foreign.
    pub(crate) device: *mut CpuDevice,
    /// Where the object has it.
    pub(crate) device_there: *mut CpuDevice,
    pub(crate) driver: *mut Driver,
    pub(crate) states: usize,
    /// Number of the CPU on the machine.
    pub(crate) number: u32,
    /// Times the governor was asked, where that is counted.
    pub(crate) decisions: u64,
}

/// The object of a foreign governor, and the addresses of its functions in its process.
pub(crate) struct Apart {
    pub(crate) process: Process,
    env: *mut Env,
    select: usize,
    reflect: usize,
    enable: usize,
    /// The host's device and the object's of the CPU whose reflect was posted: the copy is still to come.
    reflecting: Cell<Option<(*mut CpuDevice, *mut CpuDevice)>>,
}

impl Apart {
    /// The object that `process` has, and its table, whose addresses are all its own.
    pub(crate) fn new(id: &str, mut process: Process) -> Result<(Abi, Self), GovernorError> {
        let constructors = std::mem::take(&mut process.region.constructors);
        process.call_all(Place::LOAD, &constructors);
        let [scratch, _] = process.region.scratch;
        let wrong = |why: &str| GovernorError::Abi { id: id.to_owned(), why: why.to_owned() };
        let mut bytes = [0; size_of::<Abi>()];
        // The table begins with the version that is asked for.
        bytes[..4].copy_from_slice(&ABI_VERSION.to_ne_bytes());
        process.region.write(scratch.at, &bytes).ok_or_else(|| wrong("it has no room for its table"))?;
        process.call(Place::LOAD, process.region.abi, [scratch.at, 0, 0]);
        let bytes = process.region.read(scratch.at, size_of::<Abi>());
        let Some(bytes) = bytes else { unreachable!("the table was written there") };
        // SAFETY: as many bytes as it has, of which any are values of its fields: numbers, addresses, and functions or none. Those
        // functions are not called here.
        let abi = unsafe { bytes.as_ptr().cast::<Abi>().read_unaligned() };
        let region = &process.region;
        let at = |pointer: *const u8, size: usize| region.has(pointer as usize, size);
        let aligned =
            abi.env.is_aligned() && (abi.percpu as usize).is_multiple_of(LINE) && abi.log.is_aligned();
        let device = (abi.device as usize).wrapping_sub(abi.percpu as usize);
        let fits = at(abi.env.cast(), size_of::<Env>())
            && at(abi.log.cast(), size_of::<Log>())
            && at(abi.percpu, abi.percpu_size)
            && device.is_multiple_of(LINE)
            && device.saturating_add(size_of::<CpuDevice>()) <= abi.percpu_size
            && abi.percpu_size.div_ceil(LINE) * LINE * MAX_CPUS <= region.blocks.len;
        if process.has_failed() {
            // The run ends with that failure.
            return Err(wrong("it was not loaded"));
        }
        if !(aligned && fits) {
            return Err(wrong("its table has addresses that are not its own"));
        }
        let apart =
            Self { process, env: abi.env, select: 0, reflect: 0, enable: 0, reflecting: Cell::new(None) };
        Ok((abi, apart))
    }

    /// Takes the functions of the governor that registered; 0 stands for none.
    pub(crate) fn register(&mut self, governor: &Governor) {
        self.select = governor.select.map_or(0, |f| f as usize);
        self.reflect = governor.reflect.map_or(0, |f| f as usize);
        self.enable = governor.enable.map_or(0, |f| f as usize);
    }

    /// Enables the governor on a CPU; gives what it returned.
    pub(crate) fn enable(&self, cpu: &Cpu) -> c_int {
        if self.enable == 0 {
            return 0;
        }
        let place = Place { stage: Stage::Enable, cpu: cpu.number, decision: 0 };
        self.call(cpu, place, self.enable, [cpu.driver as usize, cpu.device_there as usize, 0]) as c_int
    }

    /// Asks the governor; state 0 where it has failed.
    ///
    /// The sleep length is given when it is asked for, since asking costs time in a kernel: what says so in the governor's memory is its own
    /// to change.
    #[cold]
    pub(crate) fn select(&self, cpu: &mut Cpu, inputs: &Inputs) -> Choice {
        let place = Place { stage: Stage::Select, cpu: cpu.number, decision: cpu.decisions };
        cpu.decisions += 1;
        self.settle();
        let env = self.env;
        let unasked = Inputs { sleep_length_ns: 0, delta_tick_ns: 0, ..*inputs };
        // SAFETY: env is valid, as the object was loaded, and it is the host's turn, also when it answers; the flag is read as a byte, since
        // anything may be there.
        unsafe {
            (&raw mut (*env).inputs).write_volatile(unasked);
            let stop = (&raw mut (*env).stop_tick).cast::<u8>();
            stop.write_volatile(1);
            let arguments = [cpu.driver as usize, cpu.device_there as usize, stop as usize];
            self.show(cpu);
            let (index, asked_sleep_length) =
                self.process.call_that_asks(place, self.select, arguments, || {
                    (&raw mut (*env).inputs.sleep_length_ns).write_volatile(inputs.sleep_length_ns);
                    (&raw mut (*env).inputs.delta_tick_ns).write_volatile(inputs.delta_tick_ns);
                });
            copy_back(cpu.device, cpu.device_there);
            if self.process.has_failed() {
                return Choice { index: 0, stop_tick: false, asked_sleep_length: false };
            }
            Choice { index: index as c_int, stop_tick: stop.read_volatile() != 0, asked_sleep_length }
        }
    }

    /// Reports to the governor that the CPU has left `entered`, a state that it has. It may take its time until [`Apart::settle`].
    #[cold]
    pub(crate) fn reflect(&self, cpu: &Cpu, entered: usize, now_ns: u64) {
        if self.reflect == 0 {
            return;
        }
        let place =
            Place { stage: Stage::Reflect, cpu: cpu.number, decision: cpu.decisions.saturating_sub(1) };
        self.settle();
        // SAFETY: env is valid, as the object was loaded.
        unsafe { (&raw mut (*self.env).inputs.now_ns).write_volatile(now_ns) };
        self.show(cpu);
        self.process.post(place, self.reflect, [cpu.device_there as usize, entered, 0]);
        self.reflecting.set(Some((cpu.device, cpu.device_there)));
    }

    /// Waits for the end of a reflect. Before that the object's memory is not to be read or written, nor the host's device.
    #[inline]
    pub(crate) fn settle(&self) {
        if let Some((device, device_there)) = self.reflecting.take() {
            self.process.settle();
            copy_back(device, device_there);
        }
    }

    /// Calls a function about a CPU: with the host's copy of its device before, and the object's after it.
    fn call(&self, cpu: &Cpu, place: Place, function: usize, arguments: [usize; 3]) -> usize {
        self.settle();
        self.show(cpu);
        let result = self.process.call(place, function, arguments);
        copy_back(cpu.device, cpu.device_there);
        result
    }

    /// Gives the object the host's copy of a CPU's device.
    fn show(&self, cpu: &Cpu) {
        // SAFETY: both devices are valid, as the object was loaded, and it is the host's turn.
        unsafe {
            (&raw mut (*self.env).device).write_volatile(cpu.device_there);
            ptr::copy_nonoverlapping(cpu.device, cpu.device_there, 1);
        }
    }
}

/// Takes over what the object made of a device.
fn copy_back(device: *mut CpuDevice, device_there: *mut CpuDevice) {
    let mut bytes = [0; size_of::<Device>()];
    // SAFETY: both are valid, as the object was loaded; the object's is read as bytes only. Of the host's copy only this part changes, and
    // no reference to it is in use.
    unsafe {
        ptr::copy_nonoverlapping(device_there.cast::<u8>(), bytes.as_mut_ptr(), bytes.len());
        (*device).device = Device::of_bytes(bytes);
    }
}

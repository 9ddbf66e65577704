// SPDX-License-Identifier: GPL-2.0-only
//! The memory layouts that Rust and the shim share; `governors/shim/include/` has the other side.
#![expect(unsafe_code, reason = "reads a structure from its bytes")]

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::mem::offset_of;
use std::sync::atomic::AtomicU32;

use idlewise_model::{IdleTable, MAX_STATES, StateIndex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `IDLEWISE_ABI_VERSION`: changes whenever a layout here or there does.
pub(crate) const ABI_VERSION: u32 = 4;

/// Most CPUs of one instance.
pub const MAX_CPUS: usize = 8192;

/// `CPUIDLE_FLAG_POLLING`.
const FLAG_POLLING: c_uint = 1;

/// What a governor may ask during one decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[repr(C)]
pub struct Inputs {
    /// The CPU's clock, ns (`local_clock()`).
    pub now_ns: u64,
    /// Time to the next event if the tick is stopped, ns; may be negative (`governor-behaviour.md` 1.8).
    pub sleep_length_ns: i64,
    /// Time to the next event if the tick is kept, ns; may be negative.
    pub delta_tick_ns: i64,
    /// Largest exit latency allowed, ns; [`idlewise_model::NO_LATENCY_LIMIT_NS`] without a limit
    /// (`governor-behaviour.md` 1.7).
    pub latency_limit_ns: i64,
    /// Utilisation of the CPU, 0..=1024 (`governor-behaviour.md` 8.3).
    pub util: u32,
    /// Tasks that wait for I/O and belong to this CPU.
    pub iowait: u32,
    /// The random number of this decision, any value.
    pub random: u32,
    /// The tick is stopped already.
    pub tick_stopped: bool,
}

/// The CPU as its governor sees it: the memory that the C side calls `struct cpuidle_device`.
///
/// The default is a CPU after boot, all states enabled.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Device {
    /// How long the last stay was by the core's measure, ns; 0 after a rejected entry (`governor-behaviour.md` 1.4).
    pub last_residency_ns: i64,
    /// Limit of the polling loop, ns; 0 until it is computed (`governor-behaviour.md` 1.6).
    pub poll_limit_ns: u64,
    /// The last run of the polling loop ended at its limit.
    pub poll_time_limit: bool,
    /// The tick's handler ran since a governor asked for it; asking clears it (`governor-behaviour.md` 1.8).
    pub got_tick: bool,
    last_state_idx: c_int,
    disable: [u64; MAX_STATES],
}

/// `struct cpuidle_device` in full.
///
/// The number is kept out of [`Device`], which callers may replace as a whole: C uses it as an index.
#[repr(C)]
pub(crate) struct CpuDevice {
    pub(crate) device: Device,
    pub(crate) cpu: c_uint,
    pub(crate) capacity: c_uint,
}

impl CpuDevice {
    pub(crate) fn fresh(cpu: u32, capacity: u32, disabled: u16) -> Self {
        Self::of(cpu, capacity, disabled, Device::default())
    }

    pub(crate) fn of(cpu: u32, capacity: u32, disabled: u16, mut device: Device) -> Self {
        device.store_disabled(disabled);
        Self { device, cpu, capacity }
    }
}

impl Device {
    /// A device that was in use before: the governor that was in charge of it was last told about state `last`, or has put
    /// -1 there, which is none. All states are enabled.
    #[must_use]
    pub fn used(last: Option<StateIndex>) -> Self {
        // C uses it as an index; a table has no more than MAX_STATES.
        let last_state_idx = last.map_or(-1, |state| state.get() as c_int);
        Self { last_state_idx, ..Self::default() }
    }

    /// The state that the governor was last told about; some governors overwrite it with -1 in between.
    #[inline]
    #[must_use]
    pub fn last_state_idx(&self) -> i32 {
        self.last_state_idx
    }

    /// Bit i set for every disabled state.
    #[must_use]
    pub fn disabled(&self) -> u16 {
        self.disable.iter().enumerate().map(|(i, d)| u16::from(*d != 0) << i).sum()
    }

    pub(crate) fn store_disabled(&mut self, mask: u16) {
        for (i, disable) in self.disable.iter_mut().enumerate() {
            *disable = u64::from(mask >> i & 1);
        }
    }
}

/// `struct cpuidle_state` of the shim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct State {
    exit_latency_ns: i64,
    target_residency_ns: i64,
    flags: c_uint,
    exit_latency_us: c_uint,
    target_residency_us: c_uint,
    power_usage: c_int,
}

/// `struct cpuidle_driver`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Driver {
    state_count: c_int,
    safe_state_index: c_int,
    states: [State; MAX_STATES],
}

impl Driver {
    pub(crate) fn new(table: &IdleTable) -> Self {
        let us = |ns: i64| c_uint::try_from(ns / 1000).unwrap_or(c_uint::MAX);
        let mut states = [State::default(); MAX_STATES];
        let mut state_count = 0;
        for (to, from) in states.iter_mut().zip(table.states()) {
            *to = State {
                exit_latency_ns: from.exit_latency_ns,
                target_residency_ns: from.target_residency_ns,
                flags: if from.polling { FLAG_POLLING } else { 0 },
                exit_latency_us: us(from.exit_latency_ns),
                target_residency_us: us(from.target_residency_ns),
                power_usage: 0,
            };
            state_count += 1;
        }
        Self { state_count, safe_state_index: 0, states }
    }
}

/// `struct idlewise_env`.
#[repr(C)]
pub(crate) struct Env {
    pub(crate) inputs: Inputs,
    pub(crate) device: *mut CpuDevice,
    pub(crate) per_cpu_offset: *const c_ulong,
    pub(crate) tick_nsec: c_long,
    pub(crate) governor: *const Governor,
    /// The address of `idlewise_ask` and what it takes, where the object has a process of its own.
    pub(crate) ask: usize,
    pub(crate) control: usize,
    pub(crate) stop_tick: bool,
    pub(crate) asked_sleep_length: bool,
}

pub(crate) type EnableFn = unsafe extern "C" fn(*mut Driver, *mut CpuDevice) -> c_int;
pub(crate) type DisableFn = unsafe extern "C" fn(*mut Driver, *mut CpuDevice);
pub(crate) type SelectFn = unsafe extern "C" fn(*mut Driver, *mut CpuDevice, *mut bool) -> c_int;
pub(crate) type ReflectFn = unsafe extern "C" fn(*mut CpuDevice, c_int);

/// `struct cpuidle_governor`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Governor {
    pub(crate) name: [u8; 16],
    pub(crate) rating: c_uint,
    pub(crate) enable: Option<EnableFn>,
    pub(crate) disable: Option<DisableFn>,
    pub(crate) select: Option<SelectFn>,
    pub(crate) reflect: Option<ReflectFn>,
}

/// `struct idlewise_param`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RawParam {
    pub(crate) name: *const c_char,
    pub(crate) type_name: *const c_char,
    pub(crate) value: *mut c_void,
    pub(crate) size: usize,
    pub(crate) line: usize,
}

/// `struct idlewise_param_desc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RawParamDesc {
    pub(crate) name: *const c_char,
    pub(crate) text: *const c_char,
}

/// `struct idlewise_log`.
#[repr(C)]
pub(crate) struct Log {
    pub(crate) used: u32,
    pub(crate) text: [u8; 16380],
}

/// How many sizes and offsets are compared (`IDLEWISE_ABI_LAYOUT`).
pub(crate) const LAYOUT: usize = 24;

/// `struct idlewise_abi`.
#[repr(C)]
pub(crate) struct Abi {
    pub(crate) version: u32,
    pub(crate) layout: [u32; LAYOUT],
    pub(crate) env: *mut Env,
    pub(crate) percpu: *const u8,
    pub(crate) percpu_size: usize,
    pub(crate) device: *const u8,
    pub(crate) params: *const RawParam,
    pub(crate) nr_params: usize,
    pub(crate) descs: *const RawParamDesc,
    pub(crate) nr_descs: usize,
    pub(crate) log: *mut Log,
    pub(crate) image_size: Option<unsafe extern "C" fn() -> usize>,
    pub(crate) save: Option<unsafe extern "C" fn(*mut u8)>,
    pub(crate) restore: Option<unsafe extern "C" fn(*const u8)>,
    pub(crate) memory_size: Option<unsafe extern "C" fn() -> usize>,
    pub(crate) copy_memory: Option<unsafe extern "C" fn(*mut u8)>,
    pub(crate) init: Option<unsafe extern "C" fn() -> c_int>,
}

/// What [`Abi::layout`] must hold.
pub(crate) fn layout() -> [u32; LAYOUT] {
    let layout = [
        size_of::<Abi>(),
        size_of::<Env>(),
        offset_of!(Env, inputs.latency_limit_ns),
        offset_of!(Env, inputs.random),
        offset_of!(Env, inputs.tick_stopped),
        offset_of!(Env, device),
        offset_of!(Env, tick_nsec),
        offset_of!(Env, stop_tick),
        size_of::<CpuDevice>(),
        offset_of!(CpuDevice, device.poll_limit_ns),
        offset_of!(CpuDevice, device.poll_time_limit),
        offset_of!(CpuDevice, device.got_tick),
        offset_of!(CpuDevice, device.last_state_idx),
        offset_of!(CpuDevice, device.disable),
        offset_of!(CpuDevice, cpu),
        offset_of!(CpuDevice, capacity),
        size_of::<Driver>(),
        offset_of!(Driver, states),
        size_of::<State>(),
        offset_of!(State, flags),
        size_of::<Governor>(),
        offset_of!(Governor, select),
        size_of::<RawParam>(),
        size_of::<Log>(),
    ];
    layout.map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

/// Whose turn it is, in [`Control::turn`], and whether the other side sleeps until then.
pub(crate) const HOSTS_TURN: u32 = 0;
pub(crate) const GOVERNORS_TURN: u32 = 1;
pub(crate) const SLEEPS: u32 = 2;

/// `struct idlewise_control`.
#[repr(C)]
pub(crate) struct Control {
    pub(crate) turn: AtomicU32,
    pub(crate) spins: u32,
    pub(crate) function: c_ulong,
    pub(crate) arguments: [c_ulong; 3],
    pub(crate) result: c_ulong,
    pub(crate) may_ask: u32,
    pub(crate) asks: u32,
    nr_kept: c_ulong,
    kept: [[c_ulong; 2]; 4],
}

impl Control {
    /// A control block with the host's turn first; the process polls for its own turn `spins` times before it sleeps.
    pub(crate) fn new(spins: u32) -> Self {
        let turn = AtomicU32::new(HOSTS_TURN);
        Self {
            turn,
            spins,
            function: 0,
            arguments: [0; 3],
            result: 0,
            may_ask: 0,
            asks: 0,
            nr_kept: 0,
            kept: [[0; 2]; 4],
        }
    }

    /// Sets the memory that the process keeps: from and to, from low to high.
    pub(crate) fn keep(&mut self, parts: &[(usize, usize)]) {
        for (to, part) in self.kept.iter_mut().zip(parts) {
            *to = [part.0 as c_ulong, part.1 as c_ulong];
            self.nr_kept += 1;
        }
    }
}

impl Device {
    /// Reads one from bytes that a governor may have written.
    pub(crate) fn of_bytes(mut bytes: [u8; size_of::<Self>()]) -> Self {
        for at in [offset_of!(Self, poll_time_limit), offset_of!(Self, got_tick)] {
            bytes[at] = u8::from(bytes[at] != 0);
        }
        // SAFETY: as many bytes as it has, and all of them are values of its fields: numbers, and two that are 0 or 1.
        unsafe { std::mem::transmute::<[u8; size_of::<Self>()], Self>(bytes) }
    }
}

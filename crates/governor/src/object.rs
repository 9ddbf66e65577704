// SPDX-License-Identifier: GPL-2.0-only
//! A loaded copy of a governor's shared object: the only place where Rust and C meet.
//!
//! The object of one of ours is in this process, that of a foreign one in a process of its own, whose memory is at the same addresses
//! here. So both are handled alike, but for calls, and but for what is read from a foreign one's memory: that is copied and checked.
#![expect(unsafe_code, reason = "loads shared objects and calls the C functions in them")]

use std::ffi::{c_char, c_int, c_long, c_ulong};
use std::fs::File;
use std::io::Write as _;
use std::mem::offset_of;
use std::os::fd::AsRawFd as _;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use idlewise_debuginfo::{Layout, StateValue, Variable};
use idlewise_model::IdleTable;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::GovernorError;
use crate::abi::{
    ABI_VERSION, Abi, CpuDevice, Device, Driver, EnableFn, Env, Governor, Inputs, LAYOUT, Log, RawParam,
    RawParamDesc, ReflectFn, SelectFn, layout,
};
use crate::apart::{Apart, Cpu, LINE};
use crate::choice::Choice;
use crate::of_caller::CallerObject;
use crate::param::Kind;
use crate::position::Place;
use crate::process::Process;
use crate::region::memory_file;

/// Most parameters of a governor, and the longest text about one, bytes.
const MOST_PARAMS: usize = 1 << 9;
const LONGEST_TEXT: usize = 1 << 12;

/// Memory of one CPU in whole cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// A parameter as declared in the object.
pub(crate) struct ParamInfo {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) type_name: String,
    /// Nothing for a type that the host does not know.
    pub(crate) kind: Option<Kind>,
    /// Where its variable is in the object's memory.
    value: usize,
    size: usize,
}

/// One private copy of a shared object, or what stands for one, and the memory of its CPUs.
pub(crate) struct Object {
    select: SelectFn,
    reflect: Option<ReflectFn>,
    env: *mut Env,
    cpus: Vec<Cpu>,
    enable: Option<EnableFn>,
    abi: Abi,
    /// The object's writable memory as it was after loading.
    image: Vec<u8>,
    /// For each CPU the way from the image of per-CPU variables to its own; C reads it, or a copy of it if the object is foreign.
    offsets: Vec<c_ulong>,
    /// The address of each CPU's variables.
    blocks: Vec<usize>,
    /// The memory of these, where the object has no process of its own.
    own_blocks: Vec<Vec<Line>>,
    /// The devices of CPUs of a foreign object; from `Box::into_raw`.
    copies: Vec<*mut CpuDevice>,
    /// One for each different table.
    drivers: Vec<(Driver, *mut Driver)>,
    params: Vec<ParamInfo>,
    tick_period_ns: c_long,
    /// The writable memory when the governor was last known to have nothing but its CPUs' data changed.
    memory: Vec<u8>,
    /// Something was seen to change that belongs to no CPU.
    shared_changed: bool,
    /// Keeps the code in memory; the last field, so that it goes last.
    code: Code,
}

/// Where the functions of an object are.
enum Code {
    Library(#[expect(dead_code, reason = "is only kept")] Library),
    /// In the program that called.
    Caller(CallerObject),
    /// In a process of its own, with the functions' addresses there.
    Apart(Box<Apart>),
}

// SAFETY: all pointers lead to memory that this copy of the object or this structure owns alone. The C code has no
// thread-local data, and `&mut self` on everything that runs it keeps it to one thread at a time.
unsafe impl Send for Object {}

/// Stands in for select until the object has registered its own.
unsafe extern "C" fn no_select(_: *mut Driver, _: *mut CpuDevice, _: *mut bool) -> c_int {
    0
}

impl Object {
    /// Loads a copy of the shared object in `bytes` and checks that it speaks this version's language.
    pub(crate) fn load(id: &str, bytes: &[u8]) -> Result<Self, GovernorError> {
        let library = open_copy(id, bytes)?;
        // SAFETY: the symbol is this function in every version; it writes no more than the version if that differs.
        let abi = unsafe {
            let fill = library.get::<unsafe extern "C" fn(*mut Abi)>(b"idlewise_abi\0").map_err(|e| {
                GovernorError::Abi { id: id.to_owned(), why: format!("it has no idlewise_abi ({e})") }
            })?;
            let mut abi = empty_abi();
            fill(&raw mut abi);
            abi
        };
        Self::of(id, abi, Code::Library(library))
    }

    /// One whose functions are in the calling program.
    pub(crate) fn of_caller(object: CallerObject) -> Self {
        Self::with(object.abi(), Code::Caller(object))
    }

    /// The object that `process` has.
    pub(crate) fn apart(id: &str, process: Process) -> Result<Self, GovernorError> {
        let (abi, apart) = Apart::new(id, process)?;
        Self::of(id, abi, Code::Apart(Box::new(apart)))
    }

    fn of(id: &str, abi: Abi, code: Code) -> Result<Self, GovernorError> {
        let wrong = |why: String| GovernorError::Abi { id: id.to_owned(), why };
        if abi.version != ABI_VERSION {
            return Err(wrong(format!("it speaks version {}, this program {ABI_VERSION}", abi.version)));
        }
        if abi.layout != layout() {
            return Err(wrong(format!(
                "its structures are laid out as {:?}, not {:?}",
                abi.layout,
                layout()
            )));
        }
        let mut object = Self::with(abi, code);
        object.image = object
            .copied(object.abi.image_size.map(|f| f as usize), object.abi.save.map(|f| f as usize))
            .ok_or_else(|| wrong("its table has holes".to_owned()))?;
        Ok(object)
    }

    fn with(abi: Abi, code: Code) -> Self {
        let mut object = Self {
            select: no_select,
            reflect: None,
            env: abi.env,
            cpus: Vec::new(),
            enable: None,
            image: Vec::new(),
            offsets: Vec::new(),
            blocks: Vec::new(),
            own_blocks: Vec::new(),
            copies: Vec::new(),
            drivers: Vec::new(),
            params: Vec::new(),
            tick_period_ns: 0,
            abi,
            memory: Vec::new(),
            shared_changed: false,
            code,
        };
        object.params = object.read_params();
        object
    }

    /// What a function of the object writes into memory that is so large as another one says.
    fn copied(&mut self, size: Option<usize>, copy: Option<usize>) -> Option<Vec<u8>> {
        let (size, copy) = (size?, copy?);
        let len = self.call(Place::LOAD, size, [0; 3]);
        let to = match &self.code {
            Code::Apart(apart) => apart.process.region.scratch[0],
            Code::Library(_) | Code::Caller(_) => {
                let mut bytes = vec![0_u8; len];
                self.call(Place::LOAD, copy, [bytes.as_mut_ptr() as usize, 0, 0]);
                return Some(bytes);
            }
        };
        if len > to.len {
            return None;
        }
        self.call(Place::LOAD, copy, [to.at, 0, 0]);
        self.read(to.at, len)
    }

    /// Waits until the governor's process is done with what it was given to do: before its memory is used.
    fn settle(&self) {
        if let Code::Apart(apart) = &self.code {
            apart.settle();
        }
    }

    /// Calls a function of the object, which takes up to three numbers or addresses.
    fn call(&mut self, place: Place, function: usize, arguments: [usize; 3]) -> usize {
        self.settle();
        match &mut self.code {
            Code::Apart(apart) => apart.process.call(place, function, arguments),
            Code::Library(_) | Code::Caller(_) => {
                let [first, second, third] = arguments;
                // SAFETY: a function of the loaded object, in registers that it may leave unread.
                unsafe {
                    let function =
                        std::mem::transmute::<usize, extern "C" fn(usize, usize, usize) -> usize>(function);
                    function(first, second, third)
                }
            }
        }
    }

    /// A copy of the object's memory; nothing where an address is not its own.
    fn read(&self, at: usize, len: usize) -> Option<Vec<u8>> {
        self.settle();
        match &self.code {
            Code::Apart(apart) => apart.process.region.read(at, len),
            Code::Library(_) | Code::Caller(_) => {
                // SAFETY: an address that the object of one of ours gave, with as many bytes as it said.
                (at != 0).then(|| unsafe { std::slice::from_raw_parts(at as *const u8, len) }.to_vec())
            }
        }
    }

    /// Writes into the object's memory, if an address is its own.
    fn write(&self, at: usize, bytes: &[u8]) {
        self.settle();
        match &self.code {
            Code::Apart(apart) => drop(apart.process.region.write(at, bytes)),
            Code::Library(_) | Code::Caller(_) => {
                // SAFETY: as in `read`; no C code runs meanwhile.
                unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
            }
        }
    }

    /// The text at an address, up to its end or [`LONGEST_TEXT`].
    fn text(&self, at: *const c_char) -> String {
        let byte = |i: usize| self.read((at as usize).checked_add(i)?, 1)?.first().copied();
        let bytes: Vec<u8> = (0..LONGEST_TEXT).map_while(byte).take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The elements of a table of the object, as `T`, of which any bytes are values.
    fn table<T: Copy>(&self, start: *const T, count: usize) -> Vec<T> {
        let count = count.min(MOST_PARAMS);
        let bytes = self.read(start as usize, count * size_of::<T>()).unwrap_or_default();
        // SAFETY: numbers and addresses, as many bytes as they have.
        bytes
            .chunks_exact(size_of::<T>())
            .map(|b| unsafe { b.as_ptr().cast::<T>().read_unaligned() })
            .collect()
    }

    fn read_params(&self) -> Vec<ParamInfo> {
        let descs: Vec<RawParamDesc> = self.table(self.abi.descs, self.abi.nr_descs);
        let descs: Vec<(String, String)> =
            descs.iter().map(|d| (self.text(d.name), self.text(d.text))).collect();
        let describe = |name: &str| {
            descs.iter().find(|(named, _)| named == name).map(|(_, text)| text.clone()).unwrap_or_default()
        };
        let info = |p: &RawParam| {
            let (name, type_name) = (self.text(p.name), self.text(p.type_name));
            let kind = Kind::new(&type_name, p.size);
            ParamInfo {
                description: describe(&name),
                name,
                type_name,
                kind,
                value: p.value as usize,
                size: if kind.is_some() { p.size } else { 0 },
            }
        };
        let mut params: Vec<RawParam> = self.table(self.abi.params, self.abi.nr_params);
        params.sort_by_key(|p| p.line);
        params.iter().map(info).collect()
    }

    /// Begins to look for changes of memory that belongs to no CPU.
    pub(crate) fn watch_memory(&mut self) {
        self.memory = self.copy_memory();
    }

    /// Whether [`Object::watch_memory`] was called.
    pub(crate) fn watched(&self) -> bool {
        !self.memory.is_empty()
    }

    /// Whether the governor keeps state that its CPUs share; known only where [`Object::watch_memory`] was called.
    pub(crate) fn shared_state_changed(&mut self) -> bool {
        if self.watched() && !self.shared_changed {
            self.shared_changed = self.copy_memory() != self.memory;
        }
        self.shared_changed
    }

    fn copy_memory(&mut self) -> Vec<u8> {
        let (size, copy) =
            (self.abi.memory_size.map(|f| f as usize), self.abi.copy_memory.map(|f| f as usize));
        self.copied(size, copy).unwrap_or_default()
    }

    /// What registered, if something did.
    fn governor(&self) -> Option<Governor> {
        let env = self.env as usize;
        let address = self.read(env + offset_of!(Env, governor), size_of::<usize>())?;
        let address = usize::from_ne_bytes(address.try_into().ok()?);
        let bytes = self.read(address, size_of::<Governor>())?;
        // SAFETY: as many bytes as it has, and any of them are values of its fields.
        Some(unsafe { bytes.as_ptr().cast::<Governor>().read_unaligned() })
    }

    /// Name and rating of the governor as it registered.
    pub(crate) fn registered(&self) -> (String, u32) {
        self.governor().map_or_else(Default::default, |g| {
            let end = g.name.iter().position(|b| *b == 0).unwrap_or(g.name.len());
            let name = g.name.get(..end).unwrap_or_default();
            (String::from_utf8_lossy(name).into_owned(), g.rating)
        })
    }

    /// Sets the parameters in `set` and runs the initcalls.
    pub(crate) fn start(
        &mut self,
        id: &str,
        set: &[(usize, u64)],
        tick_period_ns: u64,
    ) -> Result<(), GovernorError> {
        self.tick_period_ns = c_long::try_from(tick_period_ns).unwrap_or(c_long::MAX);
        let wrong = |why: String| GovernorError::Init { id: id.to_owned(), why };
        match self.run_initcalls(set) {
            0 => {}
            code => {
                let said: String =
                    self.take_log().lines().filter_map(|l| l.get(1..)).map(|l| format!("; {l}")).collect();
                return Err(wrong(format!("its initcall failed with error {code}{said}")));
            }
        }
        let Some((governor, select)) = self.governor().and_then(|g| Some((g, g.select?))) else {
            return Err(wrong(
                "it registers no governor: is cpuidle_register_governor() called from an initcall?"
                    .to_owned(),
            ));
        };
        if let Code::Apart(apart) = &mut self.code {
            apart.register(&governor);
        } else {
            (self.select, self.reflect, self.enable) = (select, governor.reflect, governor.enable);
        }
        Ok(())
    }

    /// Puts the object's memory back to how it was loaded and starts it again, with the CPUs' memory still to come.
    pub(crate) fn restart(&mut self, set: &[(usize, u64)]) {
        if let Some(restore) = self.abi.restore {
            let mut from = self.image.as_ptr() as usize;
            if let Code::Apart(apart) = &self.code {
                from = apart.process.region.scratch[1].at;
                self.write(from, &self.image);
            }
            self.call(Place::LOAD, restore as usize, [from, 0, 0]);
        }
        // It worked before from the same memory.
        let _ = self.run_initcalls(set);
    }

    fn run_initcalls(&mut self, set: &[(usize, u64)]) -> c_int {
        let env = self.env as usize;
        self.write(env + offset_of!(Env, tick_nsec), &self.tick_period_ns.to_ne_bytes());
        self.show_offsets();
        if let Code::Apart(apart) = &self.code {
            let region = &apart.process.region;
            self.write(env + offset_of!(Env, ask), &region.ask.to_ne_bytes());
            self.write(env + offset_of!(Env, control), &(region.control() as usize).to_ne_bytes());
        }
        for &(index, raw) in set {
            self.set_param(index, raw);
        }
        self.abi.init.map_or(0, |init| self.call(Place::INIT, init as usize, [0; 3]) as c_int)
    }

    /// Lets C see the ways to the CPUs' variables.
    fn show_offsets(&self) {
        let mut at = self.offsets.as_ptr() as usize;
        if let Code::Apart(apart) = &self.code {
            at = apart.process.region.offsets.at;
            let bytes: Vec<u8> = self.offsets.iter().flat_map(|offset| offset.to_ne_bytes()).collect();
            self.write(at, &bytes);
        }
        self.write(self.env as usize + offset_of!(Env, per_cpu_offset), &at.to_ne_bytes());
    }

    /// The parameters in the order of the governor's file.
    pub(crate) fn params(&self) -> &[ParamInfo] {
        &self.params
    }

    /// The bytes of a parameter, as the low bits.
    pub(crate) fn param_value(&self, index: usize) -> u64 {
        let mut bytes = [0; 8];
        if let Some(p) = self.params.get(index) {
            let at = if cfg!(target_endian = "big") { 8 - p.size } else { 0 };
            let value = self.read(p.value, p.size).unwrap_or_default();
            bytes.iter_mut().skip(at).zip(value).for_each(|(to, from)| *to = from);
        }
        u64::from_ne_bytes(bytes)
    }

    fn set_param(&self, index: usize, raw: u64) {
        if let Some(p) = self.params.get(index) {
            let bytes = raw.to_ne_bytes();
            let at = if cfg!(target_endian = "big") { 8 - p.size } else { 0 };
            self.write(p.value, bytes.get(at..at + p.size).unwrap_or_default());
        }
    }

    /// The messages since the last call, a line each with its level as the first letter.
    pub(crate) fn take_log(&mut self) -> String {
        self.settle();
        let log = self.abi.log;
        // SAFETY: of the loaded object; any bytes are a number.
        let used = unsafe { (&raw const (*log).used).read_volatile() } as usize;
        if used == 0 {
            return String::new();
        }
        // SAFETY: as above; no C code runs meanwhile.
        unsafe { (&raw mut (*log).used).write_volatile(0) };
        let room = size_of::<Log>() - offset_of!(Log, text);
        let text = if used > room { None } else { self.read(log as usize + offset_of!(Log, text), used) };
        String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
    }

    /// Lets messages go unheard until the next [`Object::take_log`].
    pub(crate) fn mute(&mut self) {
        self.write(self.abi.log as usize + offset_of!(Log, used), &u32::MAX.to_ne_bytes());
    }

    /// The variables in `layout` as they are now: those of a CPU, then those that all share, parameters left out.
    pub(crate) fn memory(&self, index: usize, layout: &Layout) -> Vec<Variable> {
        if let Code::Caller(object) = &self.code {
            return object.memory(index);
        }
        let Some(bytes) = self.blocks.get(index).and_then(|at| self.read(*at, self.block_size())) else {
            return Vec::new();
        };
        let mut found: Vec<Variable> = layout.per_cpu.iter().map(|p| p.read(&bytes)).collect();
        let base = (self.abi.percpu as u64).wrapping_sub(layout.per_cpu_address);
        for place in &layout.shared {
            let address = base.wrapping_add(place.at);
            if self.params.iter().any(|p| p.value as u64 == address) {
                continue;
            }
            // A variable of the loaded object, as large as its debugging information says.
            let bytes = usize::try_from(address).ok().and_then(|at| self.read(at, place.bytes()));
            found.extend(bytes.map(|bytes| place.moved_to(0).read(&bytes)));
        }
        found
    }

    /// Puts `values` into variables of a CPU, as [`Layout::write`].
    pub(crate) fn restore(&mut self, index: usize, layout: &Layout, values: &[StateValue]) -> bool {
        let Some(&at) = self.blocks.get(index) else { return false };
        let Some(mut bytes) = self.read(at, self.block_size()) else { return false };
        let could = layout.write(&mut bytes, values);
        self.write(at, &bytes);
        could
    }

    /// Bytes of a CPU's variables, in whole cache lines.
    fn block_size(&self) -> usize {
        self.abi.percpu_size.div_ceil(LINE) * LINE
    }

    /// Gives a new CPU its memory.
    pub(crate) fn add_cpu(&mut self, number: u32, table: &IdleTable, device: CpuDevice) {
        let driver = self.share_driver(Driver::new(table));
        if let Code::Caller(object) = &mut self.code {
            object.add_cpu(number, table);
        }
        let start = match &self.code {
            Code::Apart(apart) => apart.process.region.blocks.at + self.blocks.len() * self.block_size(),
            Code::Library(_) | Code::Caller(_) => {
                let mut block = vec![Line([0; LINE]); self.abi.percpu_size.div_ceil(LINE)];
                let start = block.as_mut_ptr() as usize;
                self.own_blocks.push(block);
                start
            }
        };
        self.offsets.push(start.wrapping_sub(self.abi.percpu as usize) as c_ulong);
        self.blocks.push(start);
        let way = (self.abi.device as usize).wrapping_sub(self.abi.percpu as usize);
        let device_there = start.wrapping_add(way) as *mut CpuDevice;
        let device_at = if matches!(self.code, Code::Apart(_)) {
            let copy = Box::into_raw(Box::new(CpuDevice::fresh(0, 0, 0)));
            self.copies.push(copy);
            copy
        } else {
            device_there
        };
        let states = table.len();
        self.cpus.push(Cpu { device: device_at, device_there, driver, states, number, decisions: 0 });
        // They may have moved.
        self.show_offsets();
        self.refresh_cpu(self.cpus.len() - 1, device);
    }

    /// Takes the CPU added last away again.
    pub(crate) fn remove_last_cpu(&mut self) {
        if let Code::Caller(object) = &mut self.code {
            object.remove_last_cpu();
        }
        self.cpus.pop();
        self.blocks.pop();
        self.own_blocks.pop();
        self.offsets.pop();
    }

    /// Puts a CPU's variables back to their initial values, and `device` in place.
    pub(crate) fn refresh_cpu(&mut self, index: usize, device: CpuDevice) {
        self.settle();
        let (Some(cpu), Some(&block)) = (self.cpus.get(index), self.blocks.get(index)) else { return };
        // SAFETY: the block has room for the image, which the object never changes; the device is a part of it, with
        // the alignment and size of CpuDevice (the layouts were compared), or the host's copy of that.
        unsafe {
            // A foreign governor's may lie anywhere in its memory.
            ptr::copy(self.abi.percpu, block as *mut u8, self.abi.percpu_size);
            cpu.device.write(device);
        }
    }

    /// Enables the governor on a CPU; the error is what it returned.
    pub(crate) fn enable(&mut self, index: usize) -> Result<(), c_int> {
        let Some(cpu) = self.cpus.get(index) else { return Ok(()) };
        let code = match (&mut self.code, self.enable) {
            (Code::Apart(apart), _) => apart.enable(cpu),
            // SAFETY: device and driver are valid and ours; the environment names this CPU.
            (_, Some(enable)) => unsafe {
                (*self.env).device = cpu.device;
                enable(cpu.driver, cpu.device)
            },
            (_, None) => 0,
        };
        if code == 0 { Ok(()) } else { Err(code) }
    }

    /// The CPU added as number `index` from 0, to be asked.
    #[inline]
    pub(crate) fn seat(&mut self, index: usize) -> Seat<'_> {
        let cpu = &mut self.cpus[index];
        let apart = if let Code::Apart(apart) = &self.code {
            Some(&**apart)
        } else {
            // SAFETY: env and device are valid and ours while the seat borrows `self`, and nobody else names another CPU meanwhile.
            unsafe { (*self.env).device = cpu.device };
            None
        };
        Seat {
            select: self.select,
            reflect: self.reflect,
            env: self.env,
            device: cpu.device,
            driver: cpu.driver,
            states: cpu.states,
            apart,
            cpu,
        }
    }

    #[inline]
    pub(crate) fn device(&mut self, index: usize) -> &mut Device {
        self.settle();
        let cpu = self.cpus[index];
        // SAFETY: the device is valid and ours, and no C code runs while the reference borrows `self`.
        unsafe { &mut (*cpu.device).device }
    }

    /// CPUs with equal tables share one driver, as in a kernel; it is fewer cache lines.
    fn share_driver(&mut self, driver: Driver) -> *mut Driver {
        if let Some((_, same)) = self.drivers.iter().find(|(d, _)| *d == driver) {
            return *same;
        }
        let at = match &self.code {
            Code::Apart(apart) => {
                let at = apart.process.region.drivers.at + self.drivers.len() * size_of::<Driver>();
                // SAFETY: there is room for one for each CPU, and it is in no use yet.
                unsafe { (at as *mut Driver).write(driver.clone()) };
                at as *mut Driver
            }
            Code::Library(_) | Code::Caller(_) => Box::into_raw(Box::new(driver.clone())),
        };
        self.drivers.push((driver, at));
        at
    }
}

/// One CPU of an [`crate::Instance`] and its governor, ready to be asked again and again: all that a question needs is at hand.
pub struct Seat<'o> {
    select: SelectFn,
    reflect: Option<ReflectFn>,
    env: *mut Env,
    device: *mut CpuDevice,
    driver: *mut Driver,
    states: usize,
    apart: Option<&'o Apart>,
    cpu: &'o mut Cpu,
}

impl Seat<'_> {
    /// As [`crate::Instance::select`].
    #[inline]
    pub fn select(&mut self, inputs: &Inputs) -> Choice {
        let env = self.env;
        if let Some(apart) = self.apart {
            return apart.select(self.cpu, inputs);
        }
        // SAFETY: env, device and driver are valid and ours while the seat lasts; C writes the two flags as `bool`.
        unsafe {
            (*env).inputs = *inputs;
            (*env).stop_tick = true;
            (*env).asked_sleep_length = false;
            let index = (self.select)(self.driver, self.device, &raw mut (*env).stop_tick);
            // Each by itself: to read them as one number just after C wrote one of them, a processor has to wait.
            let stop_tick = (&raw const (*env).stop_tick).read_volatile();
            let asked_sleep_length = (&raw const (*env).asked_sleep_length).read_volatile();
            Choice { index, stop_tick, asked_sleep_length }
        }
    }

    /// As [`crate::Instance::reflect`].
    #[inline]
    pub fn reflect(&mut self, entered: usize, now_ns: u64) {
        if entered >= self.states {
            return;
        }
        if let Some(apart) = self.apart {
            apart.reflect(self.cpu, entered, now_ns);
        } else if let Some(reflect) = self.reflect {
            // SAFETY: as in select; the state exists, so the governor may use it as an index.
            unsafe {
                (*self.env).inputs.now_ns = now_ns;
                reflect(self.device, entered as c_int);
            }
        }
    }

    /// As [`crate::Instance::device`].
    #[inline]
    pub fn device(&mut self) -> &mut Device {
        if let Some(apart) = self.apart {
            apart.settle();
        }
        // SAFETY: the device is valid and ours, and no C code runs while the reference borrows `self`.
        unsafe { &mut (*self.device).device }
    }

    /// As [`crate::Instance::set_disabled`].
    #[inline]
    pub fn set_disabled(&mut self, mask: u16) {
        let device = self.device();
        if device.disabled() != mask {
            device.store_disabled(mask);
            device.poll_limit_ns = 0;
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.settle();
        let drivers =
            if matches!(self.code, Code::Apart(_)) { Vec::new() } else { std::mem::take(&mut self.drivers) };
        for (_, driver) in drivers {
            // SAFETY: from Box::into_raw in share_driver, each once; no C code runs any more.
            drop(unsafe { Box::from_raw(driver) });
        }
        for copy in self.copies.drain(..) {
            // SAFETY: from Box::into_raw in add_cpu, each once, and no seat is in use any more.
            drop(unsafe { Box::from_raw(copy) });
        }
    }
}

/// Loads `bytes` from an anonymous file that no other load shares.
fn open_copy(id: &str, bytes: &[u8]) -> Result<Library, GovernorError> {
    let wrong =
        |what: &str, why: String| GovernorError::Load { id: id.to_owned(), what: what.to_owned(), why };
    let mut file = memory_file().map_err(|e| wrong("create a memory file", e.to_string()))?;
    file.write_all(bytes).map_err(|e| wrong("write a memory file", e.to_string()))?;
    let path = unique_path(&file);
    // SAFETY: the object's constructors are none (it is linked without start files), and its symbols are its own.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| {
        let why = std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string);
        wrong("load it (needs /proc and memory files that may be executed)", why)
    })
}

/// A path to `file` that was never used before in this process.
///
/// The dynamic linker takes a path that it has seen for the object that it has loaded, and file descriptors are used
/// again. So a serial number is written into the path, as `/.` and `/` for its bits, which lead nowhere.
fn unique_path(file: &File) -> String {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let bits = u64::BITS - serial.leading_zeros();
    let mut path = String::from("/proc");
    for bit in (0..bits).rev() {
        path.push_str(if serial >> bit & 1 == 1 { "/." } else { "/" });
    }
    path.push_str("/self/fd/");
    path.push_str(&file.as_raw_fd().to_string());
    path
}

fn empty_abi() -> Abi {
    Abi {
        memory_size: None,
        copy_memory: None,
        version: ABI_VERSION,
        layout: [0; LAYOUT],
        env: ptr::null_mut(),
        percpu: ptr::null(),
        percpu_size: 0,
        device: ptr::null(),
        params: ptr::null(),
        nr_params: 0,
        descs: ptr::null(),
        nr_descs: 0,
        log: ptr::null_mut(),
        image_size: None,
        save: None,
        restore: None,
        init: None,
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! A loaded copy of a governor's shared object: the only place where Rust and C meet.
#![expect(unsafe_code, reason = "loads shared objects and calls the C functions in them")]

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong};
use std::fs::File;
use std::io::Write as _;
use std::marker::PhantomData;
use std::os::fd::AsRawFd as _;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use idlewise_debuginfo::{Layout, StateValue, Variable};
use idlewise_model::IdleTable;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::GovernorError;
use crate::abi::{
    ABI_VERSION, Abi, CpuDevice, Device, Driver, EnableFn, Env, Inputs, LAYOUT, RawParam, RawParamDesc,
    ReflectFn, SelectFn, layout,
};
use crate::apart::{ApartObject, Settler};
use crate::choice::Choice;
use crate::memfd::code_file;
use crate::of_caller::CallerObject;
use crate::param::{Declared, Kind};

/// Held around every call of the dynamic linker: what it said last is one for all threads.
static LOADER: Mutex<()> = Mutex::new(());

/// Waits until nobody else uses the dynamic linker.
fn loader() -> MutexGuard<'static, ()> {
    LOADER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cache line, and so the alignment of what a CPU owns.
const LINE: usize = 64;

/// Memory of one CPU in whole cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// What a decision needs of a CPU.
#[derive(Clone, Copy)]
struct Cpu {
    device: *mut CpuDevice,
    driver: *mut Driver,
    states: usize,
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
    /// For each CPU the way from the image of per-CPU variables to its own; C reads it.
    offsets: Vec<c_ulong>,
    blocks: Vec<Vec<Line>>,
    /// One for each different table; from `Box::into_raw`.
    drivers: Vec<*mut Driver>,
    params: Vec<Declared>,
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
    Library(#[expect(dead_code, reason = "is only kept")] Loaded),
    /// In the program that called.
    Caller(CallerObject),
    /// In a process of its own.
    Apart(ApartObject),
}

/// A library that is let go under the loader's lock.
struct Loaded(Option<Library>);

impl Drop for Loaded {
    fn drop(&mut self) {
        let _guard = loader();
        drop(self.0.take());
    }
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
        let (library, abi) = {
            let _guard = loader();
            let library = open_copy(id, bytes)?;
            let abi = query(id, &library)?;
            (Loaded(Some(library)), abi)
        };
        let wrong = |why: &str| GovernorError::Abi { id: id.to_owned(), why: why.to_owned() };
        let (Some(image_size), Some(save)) = (abi.image_size, abi.save) else {
            return Err(wrong("its table has holes"));
        };
        // SAFETY: both functions belong to the loaded object, and save writes image_size bytes.
        let image = unsafe {
            let mut image = vec![0; image_size()];
            save(image.as_mut_ptr());
            image
        };
        let params = read_params(&abi);
        Ok(Self::of(abi, image, params, Code::Library(library)))
    }

    /// One whose functions are in the calling program.
    pub(crate) fn of_caller(object: CallerObject) -> Self {
        Self::of(object.abi(), Vec::new(), Vec::new(), Code::Caller(object))
    }

    /// One whose functions are in a process of its own.
    pub(crate) fn apart(mut object: ApartObject) -> Self {
        let params = object.params();
        Self::of(object.abi(), Vec::new(), params, Code::Apart(object))
    }

    fn of(abi: Abi, image: Vec<u8>, params: Vec<Declared>, code: Code) -> Self {
        Self {
            select: no_select,
            reflect: None,
            env: abi.env,
            cpus: Vec::new(),
            enable: None,
            image,
            offsets: Vec::new(),
            blocks: Vec::new(),
            drivers: Vec::new(),
            params,
            tick_period_ns: 0,
            abi,
            memory: Vec::new(),
            shared_changed: false,
            code,
        }
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
        if let Code::Apart(object) = &mut self.code {
            return object.memory_copy();
        }
        let (Some(size), Some(copy)) = (self.abi.memory_size, self.abi.copy_memory) else {
            return Vec::new();
        };
        // SAFETY: both functions belong to the loaded object, and copy_memory writes memory_size bytes.
        unsafe {
            let mut memory = vec![0; size()];
            copy(memory.as_mut_ptr());
            memory
        }
    }

    /// Name and rating of the governor as it registered.
    pub(crate) fn registered(&self) -> (String, u32) {
        // SAFETY: env points to the object's environment, and what registered is a static of the object.
        let governor = unsafe { (*self.env).governor.as_ref() };
        governor.map_or_else(Default::default, |g| {
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
        // SAFETY: env points to the object's environment, and what registered is a static of the object.
        let governor = unsafe { (*self.env).governor.as_ref() };
        let Some((governor, select)) = governor.and_then(|g| Some((g, g.select?))) else {
            return Err(wrong(
                "it registers no governor: is cpuidle_register_governor() called from an initcall?"
                    .to_owned(),
            ));
        };
        (self.select, self.reflect, self.enable) = (select, governor.reflect, governor.enable);
        Ok(())
    }

    /// Puts the object's memory back to how it was loaded and starts it again, with the CPUs' memory still to come.
    pub(crate) fn restart(&mut self, set: &[(usize, u64)]) {
        if let Code::Apart(object) = &mut self.code {
            return object.restart();
        }
        if let Some(restore) = self.abi.restore {
            // SAFETY: image was written by save of the same object, which has the same layout.
            unsafe { restore(self.image.as_ptr()) };
        }
        // It worked before from the same memory.
        let _ = self.run_initcalls(set);
    }

    fn run_initcalls(&mut self, set: &[(usize, u64)]) -> c_int {
        if let Code::Apart(object) = &mut self.code {
            return object.run_initcalls(set, self.tick_period_ns);
        }
        // SAFETY: env points to the object's environment; offsets lives as long as the object.
        unsafe {
            (*self.env).tick_nsec = self.tick_period_ns;
            (*self.env).per_cpu_offset = self.offsets.as_ptr();
        }
        for &(index, raw) in set {
            self.set_param(index, raw);
        }
        // SAFETY: the function belongs to the loaded object.
        self.abi.init.map_or(0, |init| unsafe { init() })
    }

    /// The parameters in the order of the governor's file.
    pub(crate) fn params(&self) -> &[Declared] {
        &self.params
    }

    /// The bytes of a parameter, as the low bits.
    pub(crate) fn param_value(&mut self, index: usize) -> u64 {
        if let Code::Apart(object) = &mut self.code {
            return object.param_value(index);
        }
        let mut bytes = [0; 8];
        if let Some(p) = self.params.get(index) {
            let at = if cfg!(target_endian = "big") { 8 - p.size } else { 0 };
            // SAFETY: a variable of the object of size bytes, at most 8 by read_params.
            unsafe { ptr::copy_nonoverlapping(p.address as *const u8, bytes.as_mut_ptr().add(at), p.size) };
        }
        u64::from_ne_bytes(bytes)
    }

    /// The messages since the last call, a line each with its level as the first letter.
    pub(crate) fn take_log(&mut self) -> String {
        if let Code::Apart(object) = &mut self.code {
            return object.take_log();
        }
        // SAFETY: log points to a static of the object, and no C code runs meanwhile.
        let log = unsafe { &mut *self.abi.log };
        let used = std::mem::take(&mut log.used) as usize;
        String::from_utf8_lossy(log.text.get(..used).unwrap_or_default()).into_owned()
    }

    /// Lets messages go unheard until the next [`Object::take_log`].
    pub(crate) fn mute(&mut self) {
        if let Code::Apart(object) = &mut self.code {
            return object.mute();
        }
        // SAFETY: as in take_log.
        unsafe { (*self.abi.log).used = u32::MAX };
    }

    /// The variables in `layout` as they are now: those of a CPU, then those that all share, parameters left out.
    pub(crate) fn memory(&mut self, index: usize, layout: &Layout) -> Vec<Variable> {
        match &mut self.code {
            Code::Caller(object) => return object.memory(index),
            Code::Apart(object) => return object.memory(index, layout),
            Code::Library(_) => {}
        }
        let Some(block) = self.blocks.get(index) else { return Vec::new() };
        // SAFETY: a line is plain bytes, and no C code runs meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(block.as_ptr().cast::<u8>(), block.len() * LINE) };
        let mut found: Vec<Variable> = layout.per_cpu.iter().map(|p| p.read(bytes)).collect();
        let base = (self.abi.percpu as u64).wrapping_sub(layout.per_cpu_address);
        for place in &layout.shared {
            let address = base.wrapping_add(place.at);
            if self.params.iter().any(|p| p.address == address) {
                continue;
            }
            // SAFETY: a variable of the loaded object, as large as its debugging information says.
            let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, place.size()) };
            found.push(place.moved_to(0).read(bytes));
        }
        found
    }

    /// Puts `values` into variables of a CPU, as [`Layout::write`].
    pub(crate) fn restore(&mut self, index: usize, layout: &Layout, values: &[StateValue]) -> bool {
        if let Code::Apart(object) = &mut self.code {
            return object.restore(index, layout, values);
        }
        let Some(block) = self.blocks.get_mut(index) else { return false };
        // SAFETY: a line is plain bytes, the block is this structure's own, and no C code runs meanwhile.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr().cast::<u8>(), block.len() * LINE) };
        layout.write(bytes, values)
    }

    fn set_param(&mut self, index: usize, raw: u64) {
        if let Some(p) = self.params.get(index) {
            let bytes = raw.to_ne_bytes();
            let at = if cfg!(target_endian = "big") { 8 - p.size } else { 0 };
            // SAFETY: as in param_value; no C code runs meanwhile.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr().add(at), p.address as *mut u8, p.size) };
        }
    }

    /// Gives a new CPU its memory.
    pub(crate) fn add_cpu(&mut self, number: u32, table: &IdleTable, device: CpuDevice) {
        let driver = self.share_driver(Driver::new(table));
        if let Code::Caller(object) = &mut self.code {
            object.add_cpu(number, table);
        }
        let mut block = vec![Line([0; LINE]); self.abi.percpu_size.div_ceil(LINE)];
        let start = block.as_mut_ptr().cast::<u8>();
        self.offsets.push((start as usize).wrapping_sub(self.abi.percpu as usize) as c_ulong);
        self.blocks.push(block);
        let way = (self.abi.device as usize).wrapping_sub(self.abi.percpu as usize);
        let (device_at, states) = (start.wrapping_add(way).cast(), table.len());
        self.cpus.push(Cpu { device: device_at, driver, states });
        if let Code::Apart(object) = &mut self.code {
            // SAFETY: from Box::into_raw in share_driver.
            object.add_cpu(number, unsafe { &*driver }, device_at);
        }
        // SAFETY: env points to the object's environment; offsets may have moved.
        unsafe { (*self.env).per_cpu_offset = self.offsets.as_ptr() };
        self.refresh_cpu(self.cpus.len() - 1, device);
    }

    /// Takes the CPU added last away again.
    pub(crate) fn remove_last_cpu(&mut self) {
        match &mut self.code {
            Code::Caller(object) => object.remove_last_cpu(),
            Code::Apart(object) => object.remove_last_cpu(),
            Code::Library(_) => {}
        }
        self.cpus.pop();
        self.blocks.pop();
        self.offsets.pop();
    }

    /// Puts a CPU's variables back to their initial values, and `device` in place.
    pub(crate) fn refresh_cpu(&mut self, index: usize, device: CpuDevice) {
        let (Some(cpu), Some(block)) = (self.cpus.get(index), self.blocks.get_mut(index)) else { return };
        // SAFETY: the block has room for the image, which the object never changes; the device is a part of it, with
        // the alignment and size of CpuDevice (query compared the layouts).
        unsafe {
            ptr::copy_nonoverlapping(self.abi.percpu, block.as_mut_ptr().cast(), self.abi.percpu_size);
            cpu.device.write(device);
        }
        if let Code::Apart(object) = &mut self.code {
            object.refresh_cpu(index);
        }
    }

    /// Enables the governor on a CPU; the error is what it returned.
    pub(crate) fn enable(&mut self, index: usize) -> Result<(), c_int> {
        let (Some(cpu), Some(enable)) = (self.cpus.get(index), self.enable) else { return Ok(()) };
        let (device, driver) = (cpu.device, cpu.driver);
        // SAFETY: device and driver are valid and ours; the environment names this CPU.
        let code = unsafe {
            (*self.env).device = device;
            enable(driver, device)
        };
        if code == 0 { Ok(()) } else { Err(code) }
    }

    /// The CPU added as number `index` from 0, to be asked.
    #[inline]
    pub(crate) fn seat(&mut self, index: usize) -> Seat<'_> {
        let (cpu, settler) = (self.cpus[index], self.settler());
        // SAFETY: env and device are valid and ours while the seat borrows `self`, and nobody else names another CPU meanwhile.
        unsafe { (*self.env).device = cpu.device };
        Seat {
            select: self.select,
            reflect: self.reflect,
            env: self.env,
            device: cpu.device,
            driver: cpu.driver,
            states: cpu.states,
            settler,
            object: PhantomData,
        }
    }

    fn settler(&self) -> Option<Settler> {
        match &self.code {
            Code::Apart(object) => Some(object.settler()),
            Code::Library(_) | Code::Caller(_) => None,
        }
    }

    #[inline]
    pub(crate) fn device(&mut self, index: usize) -> &mut Device {
        if let Some(settler) = self.settler() {
            settler.settle();
        }
        let cpu = self.cpus[index];
        // SAFETY: the device is valid and ours, and no C code runs while the reference borrows `self`.
        unsafe { &mut (*cpu.device).device }
    }

    /// CPUs with equal tables share one driver, as in a kernel; it is fewer cache lines.
    fn share_driver(&mut self, driver: Driver) -> *mut Driver {
        // SAFETY: all come from Box::into_raw below and live as long as self.
        let same = self.drivers.iter().find(|d| unsafe { **(*d) == driver });
        same.copied().unwrap_or_else(|| {
            let raw = Box::into_raw(Box::new(driver));
            self.drivers.push(raw);
            raw
        })
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
    settler: Option<Settler>,
    object: PhantomData<&'o mut Object>,
}

impl Seat<'_> {
    /// As [`crate::Instance::select`].
    #[inline]
    pub fn select(&mut self, inputs: &Inputs) -> Choice {
        // SAFETY: env is valid and ours while the seat lasts.
        unsafe { (*self.env).inputs = *inputs };
        let env = self.env;
        // SAFETY: env, device and driver are valid and ours while the seat lasts; C writes the two flags as `bool`.
        unsafe {
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
        let Some(reflect) = self.reflect else { return };
        if entered >= self.states {
            return;
        }
        // SAFETY: as in select; the state exists, so the governor may use it as an index.
        unsafe {
            (*self.env).inputs.now_ns = now_ns;
            reflect(self.device, entered as c_int);
        }
    }

    /// As [`crate::Instance::device`].
    #[inline]
    pub fn device(&mut self) -> &mut Device {
        if let Some(settler) = self.settler {
            settler.settle();
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
        // What it does when it is told that a state was left can go wrong, too.
        if let Some(settler) = self.settler() {
            settler.settle();
        }
        for driver in self.drivers.drain(..) {
            // SAFETY: from Box::into_raw in share_driver, each once; no C code runs any more.
            drop(unsafe { Box::from_raw(driver) });
        }
    }
}

/// Loads `bytes` from an anonymous file that no other load shares.
fn open_copy(id: &str, bytes: &[u8]) -> Result<Library, GovernorError> {
    let wrong =
        |what: &str, why: String| GovernorError::Load { id: id.to_owned(), what: what.to_owned(), why };
    let mut file = code_file().map_err(|e| wrong("create a memory file", e.to_string()))?;
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

/// Asks the object for its table.
fn query(id: &str, library: &Library) -> Result<Abi, GovernorError> {
    let wrong = |why: String| GovernorError::Abi { id: id.to_owned(), why };
    let mut abi = Abi {
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
    };
    // SAFETY: the symbol is this function in every version; it writes no more than the version if that differs.
    unsafe {
        let fill = library
            .get::<unsafe extern "C" fn(*mut Abi)>(b"idlewise_abi\0")
            .map_err(|e| wrong(format!("it has no idlewise_abi ({e})")))?;
        fill(&raw mut abi);
    }
    if abi.version != ABI_VERSION {
        return Err(wrong(format!("it speaks version {}, this program {ABI_VERSION}", abi.version)));
    }
    if abi.layout != layout() {
        return Err(wrong(format!("its structures are laid out as {:?}, not {:?}", abi.layout, layout())));
    }
    Ok(abi)
}

fn read_params(abi: &Abi) -> Vec<Declared> {
    let descs = table(abi.descs, abi.nr_descs);
    let describe = |name: &str| {
        let found = descs.iter().find(|d: &&RawParamDesc| text(d.name) == name);
        found.map(|d| text(d.text)).unwrap_or_default()
    };
    let info = |p: &RawParam| {
        let (name, type_name) = (text(p.name), text(p.type_name));
        let kind = Kind::new(&type_name, p.size);
        Declared {
            description: describe(&name),
            name,
            type_name,
            kind,
            address: p.value as u64,
            size: if kind.is_some() { p.size } else { 0 },
        }
    };
    let mut params: Vec<&RawParam> = table(abi.params, abi.nr_params).iter().collect();
    params.sort_by_key(|p| p.line);
    params.into_iter().map(info).collect()
}

/// A table of a loaded object; `T` is one of the two descriptor types.
fn table<'a, T>(start: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the object's linker sections hold `count` of them, and the layouts were compared.
    unsafe { std::slice::from_raw_parts(start, count) }
}

fn text(c: *const c_char) -> String {
    // SAFETY: descriptors hold string literals of the object.
    unsafe { CStr::from_ptr(c) }.to_string_lossy().into_owned()
}

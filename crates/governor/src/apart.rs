// SPDX-License-Identifier: GPL-2.0-only
//! A foreign governor in a process of its own. An instance of one is an [`Object`](crate::object::Object) like any other, whose
//! functions ask the process.
//!
//! The process is a program of its own: the governor, the shim, no C library. It is told what a kernel would tell the governor
//! at that moment, one call at a time, so the rest of a recording, the numbers that are made of the choices, and everything
//! else that this process has are not there to be read or written. All that comes back is a choice.
#![expect(unsafe_code, reason = "stands where the object of a governor in C would be")]

mod process;
mod program;
mod shared;
mod turn;

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;

use idlewise_debuginfo::{Layout, StateValue, Variable};

use crate::abi::{
    ABI_VERSION, Abi, CpuDevice, Device, Driver, Env, Governor, Inputs, LAYOUT, Log, RawParam, RawParamDesc,
    layout,
};
use crate::child::Bounds;
use crate::error::GovernorError;
use crate::param::{Declared, Kind};
use crate::position::{FirstFailure, Stage};

use process::{Gone, Process};
use program::{Program, long};
use shared::{Part, Question};
pub(crate) use turn::Turn;

/// Most CPUs that the table of ways to their memory has room for.
const MOST_CPUS: usize = crate::instance::MAX_CPUS;
/// Parameters and descriptions that are looked at, at most.
const MOST_PARAMS: u64 = 4_096;
/// Bytes of the room that bytes are copied through, at least.
const LEAST_ROOM: usize = 4_096;

/// What the object calls a CPU's own memory.
#[repr(C)]
struct CpuMemory {
    device: CpuDevice,
    image: *mut Image,
}

/// What an object has in its image.
struct Image {
    env: Env,
    log: Log,
    fresh: CpuMemory,
    registered: Governor,
    id: String,
    process: Process,
    table: Table,
    /// Room to copy bytes through.
    room: (Part, usize),
    /// The ways to the CPUs' memory.
    offsets: Part,
    /// A fresh CPU's variables, as the initcalls leave them.
    block: Vec<u8>,
    /// The writable memory: address, size, and a copy as it is before the initcalls, parameters set.
    writable: Vec<(u64, usize, Part)>,
    params: Vec<Declared>,
    drivers: Vec<(Driver, Part)>,
    cpus: Vec<Cpu>,
    /// The CPU that has left a state, which its governor was not told yet: it is told with the next question.
    left: Option<usize>,
    /// Bytes of messages when it answered last.
    log_used: u32,
    failure: FirstFailure,
    failed: bool,
}

/// Where everything is in the process, as its program says before any of the governor runs.
struct Table {
    env: u64,
    percpu: u64,
    log: u64,
    memory_size: u64,
    copy_memory: u64,
    init: u64,
    /// The way from a CPU's variables to its device.
    device_at: usize,
}

struct Cpu {
    number: u32,
    /// Times that it was asked.
    decisions: u64,
    driver: Part,
    block: Part,
    /// Ours.
    device: *mut CpuDevice,
    /// The disabled states that the process knows of.
    disabled: Option<u16>,
}

/// The owner of an [`Image`], which C would call a loaded object.
pub(crate) struct ApartObject(*mut Image);

impl ApartObject {
    /// Starts `program`, which must not take more than its `bounds`. What goes wrong later is kept in `failure`.
    pub(crate) fn start(
        id: &str,
        program: &[u8],
        bounds: Bounds,
        failure: FirstFailure,
    ) -> Result<Self, GovernorError> {
        let wrong = |why: String| GovernorError::Load { id: id.to_owned(), what: "start it".to_owned(), why };
        let at = || Stage::Load.describe(0, 0);
        let gone = |gone: Gone| gone.error(id, at());
        let read = Program::read(program).map_err(wrong)?;
        if read.memory() > bounds.memory {
            let why =
                format!("takes too much memory: the limit is {} MiB (IDLEWISE_MEMORY)", bounds.memory >> 20);
            return Err(GovernorError::Stuck { id: id.to_owned(), why, at: at() });
        }
        let mut process = Process::start(program, bounds).map_err(gone)?;
        let abi = |why: String| GovernorError::Abi { id: id.to_owned(), why };
        Table::check(&process).map_err(abi)?;
        let params = params(&read, &process).ok_or_else(|| abi("its parameters are nowhere".to_owned()))?;
        let address = |offset| process.memory.abi(offset);
        let table = Table {
            env: address(offset_of!(Abi, env)),
            percpu: address(offset_of!(Abi, percpu)),
            log: address(offset_of!(Abi, log)),
            memory_size: address(offset_of!(Abi, memory_size)),
            copy_memory: address(offset_of!(Abi, copy_memory)),
            init: address(offset_of!(Abi, init)),
            device_at: address(offset_of!(Abi, device)).wrapping_sub(address(offset_of!(Abi, percpu)))
                as usize,
        };
        let block = read.at(table.percpu, address(offset_of!(Abi, percpu_size)) as usize);
        let block = block.filter(|b| table.device_at <= b.len().saturating_sub(size_of::<CpuDevice>()));
        let block = block.ok_or_else(|| abi("its per-CPU variables are nowhere".to_owned()))?.to_vec();
        let most = read.memory() as usize;
        let no_room = |e: std::io::Error| {
            Gone::Lost(format!("no memory to share with its process: {e}")).error(id, at())
        };
        let room = most.max(LEAST_ROOM);
        let room = (process.memory.take(room).map_err(no_room)?, room);
        let offsets = process.memory.take(MOST_CPUS * size_of::<u64>()).map_err(no_room)?;
        let mut writable = Vec::new();
        for (address, size) in read.writable() {
            writable.push((address, size, process.memory.take(size).map_err(no_room)?));
        }
        let env = Env {
            inputs: Inputs::default(),
            device: ptr::null_mut(),
            per_cpu_offset: ptr::null(),
            tick_nsec: 0,
            governor: ptr::null(),
            stop_tick: false,
            asked_sleep_length: false,
        };
        let nothing =
            Governor { name: [0; 16], rating: 0, enable: None, disable: None, select: None, reflect: None };
        let log_used = process.memory.log_used();
        let image = Box::into_raw(Box::new(Image {
            env,
            log: Log { used: 0, text: [0; _] },
            fresh: CpuMemory { device: CpuDevice::fresh(0, 0, 0), image: ptr::null_mut() },
            registered: nothing,
            id: id.to_owned(),
            process,
            table,
            room,
            offsets,
            block,
            writable,
            params,
            drivers: Vec::new(),
            cpus: Vec::new(),
            left: None,
            log_used,
            failure,
            failed: false,
        }));
        // SAFETY: just made, and nobody else has it yet.
        unsafe { (*image).fresh.image = image };
        Ok(Self(image))
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

    fn image(&mut self) -> &mut Image {
        // SAFETY: the image lives, and none of the functions below runs meanwhile.
        unsafe { &mut *self.0 }
    }

    /// The parameters as declared, in the order of the governor's file.
    pub(crate) fn params(&mut self) -> Vec<Declared> {
        self.image().params.clone()
    }

    /// What has to be done before our copy of a device is looked at.
    pub(crate) fn settler(&self) -> Settler {
        Settler(self.0)
    }

    /// Sets the parameters and runs the initcalls; what the first one that failed returned, or 0.
    pub(crate) fn run_initcalls(&mut self, set: &[(usize, u64)], tick_period_ns: i64) -> c_int {
        let image = self.image();
        let told = image.told(set, tick_period_ns);
        let Some(code) = told.and_then(|()| image.call_init()) else { return 0 };
        if code == 0 {
            image.registers();
            // They may have set what every CPU's variables begin with.
            if let Some(block) = image.peek(image.table.percpu, image.block.len()) {
                image.block = block;
            }
        }
        code
    }

    /// Puts its memory back to how it was before the initcalls, and runs them again.
    pub(crate) fn restart(&mut self) {
        let image = self.image();
        let _failed = image.settle().and_then(|()| image.start_again());
    }

    /// The writable memory as it is, but for what the host writes.
    pub(crate) fn memory_copy(&mut self) -> Vec<u8> {
        let image = self.image();
        let copy =
            image.settle().and_then(|()| image.copied(image.table.memory_size, image.table.copy_memory));
        copy.unwrap_or_default()
    }

    /// Bytes of a parameter, as the low bits.
    pub(crate) fn param_value(&mut self, index: usize) -> u64 {
        let image = self.image();
        let Some((at, size)) = image.params.get(index).map(|p| (p.address, p.size)) else { return 0 };
        let bytes = image.settle().and_then(|()| image.peek(at, size)).unwrap_or_default();
        let mut value = [0; 8];
        value.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        u64::from_ne_bytes(value)
    }

    /// As [`crate::object::Object::take_log`].
    pub(crate) fn take_log(&mut self) -> String {
        let image = self.image();
        let taken = image.settle().and_then(|()| {
            let used = image.log_used as usize;
            if used == 0 {
                return Some(Vec::new());
            }
            let most = size_of::<Log>() - offset_of!(Log, text);
            let text = if used > most {
                Vec::new()
            } else {
                image.peek(image.table.log + offset_of!(Log, text) as u64, used)?
            };
            image.set_log_used(0)?;
            Some(text)
        });
        String::from_utf8_lossy(&taken.unwrap_or_default()).into_owned()
    }

    /// As [`crate::object::Object::mute`].
    pub(crate) fn mute(&mut self) {
        let image = self.image();
        let _failed = image.settle().and_then(|()| image.set_log_used(u32::MAX));
    }

    /// As [`crate::object::Object::memory`].
    pub(crate) fn memory(&mut self, index: usize, layout: &Layout) -> Vec<Variable> {
        let image = self.image();
        let Some((cpu, ())) = image.cpus.get(index).map(|cpu| cpu.block).zip(image.settle()) else {
            return Vec::new();
        };
        let bytes = image.process.memory.read(cpu, image.block.len());
        let mut found: Vec<Variable> = layout.per_cpu.iter().map(|p| p.read(&bytes)).collect();
        let base = image.table.percpu.wrapping_sub(layout.per_cpu_address);
        for place in &layout.shared {
            let address = base.wrapping_add(place.at);
            if image.params.iter().any(|p| p.address == address) {
                continue;
            }
            let Some(bytes) = image.peek(address, place.size()) else { break };
            found.push(place.moved_to(0).read(&bytes));
        }
        found
    }

    /// As [`crate::object::Object::restore`].
    pub(crate) fn restore(&mut self, index: usize, layout: &Layout, values: &[StateValue]) -> bool {
        let image = self.image();
        let Some((block, ())) = image.cpus.get(index).map(|cpu| cpu.block).zip(image.settle()) else {
            return false;
        };
        let mut bytes = image.process.memory.read(block, image.block.len());
        let could = layout.write(&mut bytes, values);
        image.process.memory.write(block, &bytes);
        could
    }

    /// Gives a new CPU its memory; `device` is ours.
    pub(crate) fn add_cpu(&mut self, number: u32, driver: &Driver, device: *mut CpuDevice) {
        let image = self.image();
        let Some((driver, block)) = image.place(driver) else { return };
        image.cpus.push(Cpu { number, decisions: 0, driver, block, device, disabled: None });
    }

    /// The CPU that was added last is taken away again.
    pub(crate) fn remove_last_cpu(&mut self) {
        let image = self.image();
        image.settle();
        image.cpus.pop();
    }

    /// Puts a CPU's variables back to their initial values; its device follows ours.
    pub(crate) fn refresh_cpu(&mut self, index: usize) {
        let image = self.image();
        image.settle();
        let Some(cpu) = image.cpus.get_mut(index) else { return };
        (cpu.decisions, cpu.disabled) = (0, None);
        image.process.memory.write(cpu.block, &image.block);
        // SAFETY: the device is ours, and plain bytes.
        let device = unsafe { std::slice::from_raw_parts(cpu.device.cast::<u8>(), size_of::<CpuDevice>()) };
        image.process.memory.write(cpu.block.at(image.table.device_at), device);
    }
}

impl Drop for ApartObject {
    fn drop(&mut self) {
        // SAFETY: from Box::into_raw in `start`, once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Lets a governor hear what it was not told yet, before our copy of a device is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Settler(*mut Image);

impl Settler {
    #[inline]
    pub(crate) fn settle(self) {
        // SAFETY: the object that it is of lives as long as what has it, and nothing else uses the image meanwhile.
        unsafe { (*self.0).settle() };
    }
}

impl Table {
    /// Whether the program speaks this version's language.
    fn check(process: &Process) -> Result<(), String> {
        let head = process.memory.abi_head();
        let mut numbers = head.chunks_exact(4).map(|b| b.first_chunk().map_or(0, |b| u32::from_ne_bytes(*b)));
        let version = numbers.next().unwrap_or(0);
        if version != ABI_VERSION {
            return Err(format!("it speaks version {version}, this program {ABI_VERSION}"));
        }
        let found: Vec<u32> = numbers.take(LAYOUT).collect();
        if found != layout() {
            return Err(format!("its structures are laid out as {found:?}, not {:?}", layout()));
        }
        Ok(())
    }
}

/// The parameters that a program declares.
fn params(program: &Program<'_>, process: &Process) -> Option<Vec<Declared>> {
    let entries = |start: usize, count: usize, size: usize| {
        let (start, count) = (process.memory.abi(start), process.memory.abi(count));
        if count == 0 {
            return Some(&[][..]);
        }
        program.at(start, usize::try_from(count.min(MOST_PARAMS)).ok()?.checked_mul(size)?)
    };
    let size = size_of::<RawParamDesc>();
    let descs = entries(offset_of!(Abi, descs), offset_of!(Abi, nr_descs), size)?;
    let mut words = Vec::new();
    for desc in descs.chunks_exact(size) {
        let text = |at| program.text(long(desc, at)?);
        words.push((text(offset_of!(RawParamDesc, name))?, text(offset_of!(RawParamDesc, text))?));
    }
    let size = size_of::<RawParam>();
    let raw = entries(offset_of!(Abi, params), offset_of!(Abi, nr_params), size)?;
    let mut params = Vec::new();
    for param in raw.chunks_exact(size) {
        let number = |at| long(param, at);
        let name = program.text(number(offset_of!(RawParam, name))?)?;
        let type_name = program.text(number(offset_of!(RawParam, type_name))?)?;
        let size = number(offset_of!(RawParam, size))? as usize;
        let kind = Kind::new(&type_name, size);
        let description = words.iter().find(|(of, _)| *of == name).map(|(_, text)| text.clone());
        let declared = Declared {
            name,
            description: description.unwrap_or_default(),
            type_name,
            kind,
            address: number(offset_of!(RawParam, value))?,
            size: if kind.is_some() { size } else { 0 },
        };
        params.push((number(offset_of!(RawParam, line))?, declared));
    }
    params.sort_by_key(|(line, _)| *line);
    Some(params.into_iter().map(|(_, declared)| declared).collect())
}

impl Image {
    /// Asks, and waits for the answer; nothing where something went wrong, which is kept.
    #[inline]
    fn ask(&mut self, question: Question, arg: [u64; 3], cpu: Option<usize>) -> Option<()> {
        if self.failed {
            return None;
        }
        match self.process.ask(question, arg) {
            Ok(()) => {
                self.log_used = self.process.memory.log_used();
                Some(())
            }
            Err(gone) => {
                self.fail(gone, cpu);
                None
            }
        }
    }

    /// The governor went wrong, and is asked no more.
    #[cold]
    fn fail(&mut self, gone: Gone, cpu: Option<usize>) {
        self.failed = true;
        let cpu = cpu.and_then(|cpu| self.cpus.get(cpu));
        let (number, decisions) = cpu.map_or((0, 0), |cpu| (cpu.number, cpu.decisions));
        let stage = Stage::said(self.process.memory.stage());
        // While it reflects, the next decision may have been asked for.
        let at = stage.describe(
            number,
            decisions.saturating_sub(1 + u64::from(stage == Stage::Reflect && self.left.is_none())),
        );
        self.failure.keep(gone.error(&self.id, at));
    }

    /// Tells the governor what it was not told yet.
    #[inline]
    fn settle(&mut self) -> Option<()> {
        match self.left {
            None => (!self.failed).then_some(()),
            Some(index) => self.settle_left(index),
        }
    }

    #[cold]
    fn settle_left(&mut self, index: usize) -> Option<()> {
        let device = self.device_there(index);
        self.ask(Question::Reflect, [0, device.address(), 0], Some(index))?;
        self.left = None;
        self.pull(index);
        Some(())
    }

    /// Calls a function of the process.
    fn call(&mut self, function: u64, argument: u64) -> Option<i64> {
        self.ask(Question::Call, [function, argument, 0], None)?;
        Some(self.process.memory.result().0)
    }

    fn call_init(&mut self) -> Option<c_int> {
        self.process.memory.put_stage(Stage::Init as u32);
        self.call(self.table.init, 0).map(|code| code as c_int)
    }

    /// A copy of memory of the process.
    fn peek(&mut self, address: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let some = (size - bytes.len()).min(self.room.1);
            let from = address.wrapping_add(bytes.len() as u64);
            self.ask(Question::Copy, [self.room.0.address(), from, some as u64], None)?;
            bytes.extend(self.process.memory.read(self.room.0, some));
        }
        Some(bytes)
    }

    /// Writes a few bytes into memory of the process.
    fn poke(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        self.process.memory.write(self.room.0, bytes);
        self.ask(Question::Copy, [address, self.room.0.address(), bytes.len() as u64], None)
    }

    /// What `copy` writes, as many bytes as `size` says.
    fn copied(&mut self, size: u64, copy: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(self.call(size, 0)?).unwrap_or(0).min(self.room.1);
        self.call(copy, self.room.0.address())?;
        Some(self.process.memory.read(self.room.0, size))
    }

    /// Writes environment and parameters, and keeps the memory as it is then.
    fn told(&mut self, set: &[(usize, u64)], tick_period_ns: i64) -> Option<()> {
        let env = self.table.env;
        self.poke(env + offset_of!(Env, tick_nsec) as u64, &tick_period_ns.to_ne_bytes())?;
        let offsets = self.offsets.address().to_ne_bytes();
        self.poke(env + offset_of!(Env, per_cpu_offset) as u64, &offsets)?;
        for (index, raw) in set {
            if let Some((address, size)) = self.params.get(*index).map(|p| (p.address, p.size)) {
                self.poke(address, raw.to_ne_bytes().get(..size).unwrap_or_default())?;
            }
        }
        for n in 0..self.writable.len() {
            let (address, size, saved) = self.writable[n];
            self.ask(Question::Copy, [saved.address(), address, size as u64], None)?;
        }
        Some(())
    }

    /// Puts the writable memory back, and runs the initcalls. It worked before from the same memory.
    fn start_again(&mut self) -> Option<()> {
        let last = self.writable.len().checked_sub(1)?;
        for n in 0..=last {
            let (address, size, saved) = self.writable[n];
            let question = if n == last { Question::Restart } else { Question::Copy };
            self.ask(question, [address, saved.address(), size as u64], None)?;
        }
        Some(())
    }

    /// Reads what it registered.
    fn registers(&mut self) -> Option<()> {
        let env = self.table.env + offset_of!(Env, governor) as u64;
        let governor = long(&self.peek(env, 8)?, 0)?;
        if governor == 0 {
            return None;
        }
        let bytes = self.peek(governor, size_of::<Governor>())?;
        let is_there = |at| long(&bytes, at).is_some_and(|function| function != 0);
        let rating =
            bytes.get(offset_of!(Governor, rating)..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))?;
        self.registered = Governor {
            name: *bytes.first_chunk()?,
            rating,
            enable: is_there(offset_of!(Governor, enable)).then_some(enable),
            disable: None,
            select: is_there(offset_of!(Governor, select)).then_some(select),
            reflect: is_there(offset_of!(Governor, reflect)).then_some(reflect),
        };
        self.env.governor = &raw const self.registered;
        Some(())
    }

    fn set_log_used(&mut self, used: u32) -> Option<()> {
        self.poke(self.table.log + offset_of!(Log, used) as u64, &used.to_ne_bytes())
    }

    /// Room for a CPU's variables, and its driver. CPUs with equal tables share one, as in a kernel.
    fn place(&mut self, driver: &Driver) -> Option<(Part, Part)> {
        let placed = self.drivers.iter().find(|(d, _)| d == driver).map(|(_, part)| *part);
        let (memory, size) = (&mut self.process.memory, self.block.len());
        let parts = placed.map_or_else(|| memory.take(size_of::<Driver>()), Ok);
        let parts = parts.and_then(|driver| Ok((driver, memory.take(size)?)));
        let (at, block) = match parts {
            Ok(parts) => parts,
            Err(e) => {
                self.fail(Gone::Lost(format!("no memory for its CPUs: {e}")), None);
                return None;
            }
        };
        if placed.is_none() {
            // SAFETY: a driver is plain bytes, of numbers without gaps.
            let bytes = unsafe {
                std::slice::from_raw_parts(ptr::from_ref(driver).cast::<u8>(), size_of::<Driver>())
            };
            self.process.memory.write(at, bytes);
            self.drivers.push((driver.clone(), at));
        }
        let way = block.address().wrapping_sub(self.table.percpu);
        self.process.memory.write(self.offsets.at(self.cpus.len() * size_of::<u64>()), &way.to_ne_bytes());
        Some((at, block))
    }

    /// A CPU's device in the memory that both see.
    fn device_there(&self, index: usize) -> Part {
        self.cpus[index].block.at(self.table.device_at)
    }

    /// Writes our copy of a device, but for what never changes.
    #[inline]
    fn push(&mut self, index: usize) {
        let there = self.device_there(index);
        let there = self.process.memory.pointer(there, size_of::<CpuDevice>()).cast::<Device>();
        let cpu = &mut self.cpus[index];
        // SAFETY: our copy lives as long as the object; that of the process is mapped, aligned and large enough.
        unsafe {
            let device = &(*cpu.device).device;
            (&raw mut (*there).last_residency_ns).write_volatile(device.last_residency_ns);
            (&raw mut (*there).poll_limit_ns).write_volatile(device.poll_limit_ns);
            (&raw mut (*there).poll_time_limit).write_volatile(device.poll_time_limit);
            (&raw mut (*there).got_tick).write_volatile(device.got_tick);
            (&raw mut (*there).last_state_idx).write_volatile(device.last_state_idx);
            let disabled = device.disabled();
            if cpu.disabled != Some(disabled) {
                cpu.disabled = Some(disabled);
                (&raw mut (*there).disable).write_volatile(device.disable);
            }
        }
    }

    /// Takes over what the governor may have changed in a device.
    #[inline]
    fn pull(&mut self, index: usize) {
        let there = self.device_there(index);
        let there = self.process.memory.pointer(there, size_of::<CpuDevice>()).cast::<Device>();
        // SAFETY: as in push; bytes of the other side are no bools yet.
        unsafe {
            let device = &mut (*self.cpus[index].device).device;
            device.last_residency_ns = (&raw const (*there).last_residency_ns).read_volatile();
            device.poll_limit_ns = (&raw const (*there).poll_limit_ns).read_volatile();
            device.poll_time_limit = (&raw const (*there).poll_time_limit).cast::<u8>().read_volatile() != 0;
            device.got_tick = (&raw const (*there).got_tick).cast::<u8>().read_volatile() != 0;
            device.last_state_idx = (&raw const (*there).last_state_idx).read_volatile();
        }
    }
}

impl Gone {
    fn error(self, id: &str, at: String) -> GovernorError {
        let id = id.to_owned();
        match self {
            Self::Crashed(signal) => GovernorError::Crashed { id, signal, at },
            Self::Stuck(why) => GovernorError::Stuck { id, why, at },
            Self::Lost(why) => GovernorError::Lost { id, why: format!("{why} {at}") },
        }
    }
}

/// The image of a CPU, and its number among the image's CPUs.
///
/// # Safety
/// `device` is the beginning of a CPU's [`CpuMemory`]; the result is gone when the function that was called with it returns.
unsafe fn image_of<'h>(device: *mut CpuDevice) -> (&'h mut Image, usize) {
    // SAFETY: the caller says so.
    unsafe { (&mut *(*device.cast::<CpuMemory>()).image, (*device).cpu as usize) }
}

unsafe extern "C" fn enable(_: *mut Driver, device: *mut CpuDevice) -> c_int {
    // SAFETY: the object calls this with the devices of its blocks only.
    let (image, at) = unsafe { image_of(device) };
    let enabled = image.settle().and_then(|()| {
        image.cpus.get_mut(at)?.decisions = 0;
        image.push(at);
        let (driver, there) = (image.cpus[at].driver, image.device_there(at));
        image.ask(Question::Enable, [driver.address(), there.address(), 0], Some(at))?;
        image.pull(at);
        Some(image.process.memory.result().0 as c_int)
    });
    enabled.unwrap_or(0)
}

unsafe extern "C" fn select(_: *mut Driver, device: *mut CpuDevice, stop_tick: *mut bool) -> c_int {
    // SAFETY: as in `enable`.
    let (image, at) = unsafe { image_of(device) };
    if image.failed {
        return 0;
    }
    let mut question = Question::Select;
    if image.left == Some(at) {
        // Nobody has touched its device since.
        question = Question::ReflectSelect;
        image.left = None;
    } else {
        image.settle();
        image.push(at);
    }
    let (driver, there) = (image.cpus[at].driver, image.device_there(at));
    image.cpus[at].decisions += 1;
    image.process.memory.put_inputs(&image.env.inputs);
    if image.ask(question, [driver.address(), there.address(), 0], Some(at)).is_none() {
        return 0;
    }
    image.pull(at);
    let (index, stops, asked) = image.process.memory.result();
    image.env.asked_sleep_length = asked;
    // SAFETY: the caller's variable, which may be in the environment; no reference to that is in use any more.
    unsafe { stop_tick.write(stops) };
    index as c_int
}

unsafe extern "C" fn reflect(device: *mut CpuDevice, entered: c_int) {
    // SAFETY: as in `enable`.
    let (image, at) = unsafe { image_of(device) };
    if image.settle().is_some() {
        image.push(at);
        image.process.memory.put_left(entered, image.env.inputs.now_ns);
        image.left = Some(at);
    }
}

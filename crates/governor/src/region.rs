// SPDX-License-Identifier: GPL-2.0-only
//! Memory that this process shares with a governor's own, at the same addresses in both, and the governor's object in it.
//!
//! The object is loaded there as a dynamic linker would, but names nothing outside of itself. Next to it is the loop that the process
//! runs, an object of ours that the governor is not linked with. The governor may write what it wants to
//! any byte at any time, so what is read here is copied out first, and whatever is an address is checked.
#![expect(unsafe_code, reason = "maps memory, and copies bytes from and to it")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr;

use object::elf::RelocationType;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};

use crate::abi::{Control, Driver, MAX_CPUS};

/// Parts begin at multiples of it, which are those of pages everywhere, bytes.
const PAGES: usize = 1 << 16;
/// What a governor's functions may use, bytes; a kernel gives them 16 KiB.
const STACK: usize = 1 << 20;
/// Where the stack begins: behind the control block and a part that nobody can touch.
const STACK_AT: usize = 2 * PAGES;
const OBJECT_AT: usize = STACK_AT + STACK;
/// The object with `idlewise_apart`, written by build.rs from governors/shim/apart.c.
static CHILD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/apart.so"));

/// A part of the region: its first byte's address and its length, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) at: usize,
    pub(crate) len: usize,
}

/// Part of an object that the processor may execute, or only read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protected {
    pub(crate) part: Part,
    pub(crate) executed: bool,
}

/// The memory, with an object in it.
pub(crate) struct Region {
    base: usize,
    size: usize,
    /// The pages that the governor's process does not write to.
    pub(crate) protected: Vec<Protected>,
    /// Functions that run before everything else.
    pub(crate) constructors: Vec<usize>,
    /// `idlewise_abi` of the governor's object, and `idlewise_apart` and `idlewise_ask` of ours.
    pub(crate) abi: usize,
    pub(crate) entry: usize,
    pub(crate) ask: usize,
    /// For the object's writable memory, twice.
    pub(crate) scratch: [Part; 2],
    /// The ways to the CPUs' variables.
    pub(crate) offsets: Part,
    pub(crate) drivers: Part,
    pub(crate) blocks: Part,
}

impl Region {
    /// Puts `object` into new memory. More than `most` bytes are refused.
    pub(crate) fn with_object(bytes: &[u8], most: u64) -> Result<Self, String> {
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")) {
            return Err("a governor of your own runs on x86-64, arm64 and riscv64 only".to_owned());
        }
        let file = object::File::parse(bytes).map_err(|e| format!("it is no shared object ({e})"))?;
        let child = object::File::parse(CHILD).map_err(|e| e.to_string())?;
        let writable = file.segments().filter(|segment| !protection(segment.flags()).1);
        let writable = writable.fold(0_u64, |sum, segment| sum.saturating_add(segment.size()));
        let per_cpu = file.section_by_name("idlewise_percpu").map_or(0, |section| section.size());
        let pages = |size: u64| size.saturating_add(PAGES as u64 - 1) / PAGES as u64 * PAGES as u64;
        let cpus = MAX_CPUS as u64;
        let (object, scratch, child_size) = (pages(end(&file)), pages(writable), pages(end(&child)));
        let (offsets, drivers) = (pages(cpus * 8), pages(cpus * size_of::<Driver>() as u64));
        let blocks = pages(cpus.saturating_mul(per_cpu.div_ceil(64).saturating_mul(64)));
        let sizes = [object, scratch, scratch, offsets, drivers, blocks, child_size];
        let all = sizes.iter().fold(OBJECT_AT as u64, |all, size| all.saturating_add(*size));
        if all > most {
            return Err(format!(
                "takes too much memory: {} MiB with that of {MAX_CPUS} CPUs; the limit is {} MiB (IDLEWISE_MEMORY)",
                all >> 20,
                most >> 20
            ));
        }
        let size = usize::try_from(all).map_err(|e| e.to_string())?;
        let base = map(size).map_err(|e| format!("no memory to share with its process: {e}"))?;
        let mut at = base + OBJECT_AT;
        let [object, first, second, offsets, drivers, blocks, child_room] = sizes.map(|len| {
            let part = Part { at, len: usize::try_from(len).unwrap_or(0) };
            at += part.len;
            part
        });
        let mut region = Self {
            base,
            size,
            protected: Vec::new(),
            constructors: Vec::new(),
            abi: 0,
            entry: 0,
            ask: 0,
            scratch: [first, second],
            offsets,
            drivers,
            blocks,
        };
        region.load(&file, object)?;
        region.constructors = region.constructors_of(&file, object)?;
        region.abi = symbol(&file, object, "idlewise_abi")?;
        region.load(&child, child_room)?;
        region.entry = symbol(&child, child_room, "idlewise_apart")?;
        region.ask = symbol(&child, child_room, "idlewise_ask")?;
        Ok(region)
    }

    /// Puts an object into `room`, and nothing of it anywhere else.
    fn load(&mut self, file: &object::File<'_>, room: Part) -> Result<(), String> {
        for segment in file.segments() {
            let data = segment.data().map_err(|e| wrong(&e.to_string()))?;
            let at = room
                .within(segment.address(), segment.size().max(data.len() as u64))
                .ok_or_else(|| wrong("a segment at no address"))?;
            self.write(at, data).ok_or_else(|| wrong("a segment that is larger than itself"))?;
            let (executed, read_only) = protection(segment.flags());
            if read_only || executed {
                let part = Part { at, len: usize::try_from(segment.size()).unwrap_or(0) };
                self.protected.push(Protected { part, executed });
            }
        }
        for (offset, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let object::RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            if r_type == RelocationType(0) {
                continue;
            }
            if Some(r_type) != relative(file.architecture()) {
                let name = match relocation.target() {
                    object::RelocationTarget::Symbol(index) => file
                        .dynamic_symbol_table()
                        .and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, index).ok())
                        .and_then(|symbol| symbol.name().ok().map(|name| format!("`{name}`"))),
                    _ => None,
                };
                let name = name.unwrap_or_else(|| format!("a relocation of kind {r_type:?}"));
                return Err(wrong(&format!("{name}, which nothing here gives it")));
            }
            let value = room.at.wrapping_add_signed(isize::try_from(relocation.addend()).unwrap_or(0));
            room.within(offset, size_of::<usize>() as u64)
                .and_then(|at| self.write(at, &value.to_ne_bytes()))
                .ok_or_else(|| wrong("a relocation at no address"))?;
        }
        Ok(())
    }

    fn constructors_of(&self, file: &object::File<'_>, room: Part) -> Result<Vec<usize>, String> {
        let Some(section) = file.section_by_name(".init_array") else { return Ok(Vec::new()) };
        let len = usize::try_from(section.size()).unwrap_or(usize::MAX);
        let at = room.within(section.address(), section.size());
        let bytes =
            at.and_then(|at| self.read(at, len)).ok_or_else(|| wrong("constructors beyond its end"))?;
        let (functions, _) = bytes.as_chunks::<{ size_of::<usize>() }>();
        Ok(functions.iter().map(|f| usize::from_ne_bytes(*f)).collect())
    }

    /// What both sides call each other with.
    pub(crate) fn control(&self) -> *mut Control {
        self.base as *mut Control
    }

    /// The pages that nobody may touch, so that a stack that grows too far ends the governor.
    pub(crate) fn guard(&self) -> Part {
        Part { at: self.base + PAGES, len: PAGES }
    }

    pub(crate) fn stack(&self) -> Part {
        Part { at: self.base + STACK_AT, len: STACK }
    }

    pub(crate) fn all(&self) -> Part {
        Part { at: self.base, len: self.size }
    }

    /// Whether `len` bytes at `at` belong to it, behind the control block.
    pub(crate) fn has(&self, at: usize, len: usize) -> bool {
        let from = self.base + STACK_AT;
        at >= from && at.checked_add(len).is_some_and(|end| end <= self.base + self.size)
    }

    /// A copy of `len` bytes at `at`; nothing where they are not all in it.
    pub(crate) fn read(&self, at: usize, len: usize) -> Option<Vec<u8>> {
        self.has(at, len).then(|| {
            let mut bytes = vec![0; len];
            // SAFETY: mapped as long as `self`, and as long as the vector.
            unsafe { ptr::copy_nonoverlapping(at as *const u8, bytes.as_mut_ptr(), len) };
            bytes
        })
    }

    /// Puts `bytes` at `at`; nothing where they do not all fit.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> Option<()> {
        // SAFETY: mapped as long as `self`.
        self.has(at, bytes.len())
            .then(|| unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`, once.
        unsafe { libc::munmap(self.base as *mut libc::c_void, self.size) };
    }
}

impl Part {
    /// Where the byte number `offset` of it is, if `len` bytes from there are all in it.
    fn within(self, offset: u64, len: u64) -> Option<usize> {
        let is_inside = offset.checked_add(len).is_some_and(|end| end <= self.len as u64);
        is_inside.then(|| usize::try_from(offset).ok().map(|offset| self.at + offset)).flatten()
    }
}

/// What is wrong with an object.
fn wrong(what: &str) -> String {
    format!("its object has {what}")
}

/// Where the last segment of an object ends.
fn end(file: &object::File<'_>) -> u64 {
    file.segments().map(|segment| segment.address().saturating_add(segment.size())).max().unwrap_or(0)
}

/// Where what an object in `room` calls `name` is.
fn symbol(file: &object::File<'_>, room: Part, name: &str) -> Result<usize, String> {
    let found = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name));
    found.and_then(|symbol| room.within(symbol.address(), 1)).ok_or_else(|| format!("it has no {name}"))
}

/// Whether a segment is executed, and whether it is never written to.
fn protection(flags: object::SegmentFlags) -> (bool, bool) {
    match flags {
        object::SegmentFlags::Elf { p_flags, .. } => {
            (p_flags.contains(object::elf::PF_X), !p_flags.contains(object::elf::PF_W))
        }
        _ => (false, false),
    }
}

/// The kind of relocation that adds where the object lies (the psABI of each architecture).
fn relative(architecture: object::Architecture) -> Option<RelocationType> {
    match architecture {
        object::Architecture::X86_64 => Some(object::elf::R_X86_64_RELATIVE),
        object::Architecture::Aarch64 => Some(object::elf::R_AARCH64_RELATIVE),
        object::Architecture::Riscv64 => Some(object::elf::R_RISCV_RELATIVE),
        _ => None,
    }
}

/// New memory that a child keeps sharing: where it begins.
fn map(size: usize) -> io::Result<usize> {
    let file = memory_file()?;
    file.set_len(size as u64)?;
    // SAFETY: a new mapping, which nobody else knows.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            file.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at as usize) }
}

/// A file without a name that may be executed.
pub(crate) fn memory_file() -> io::Result<File> {
    let create = |flags| {
        // SAFETY: the name is a C string; the descriptor is new and owned by nobody else.
        unsafe {
            let fd = libc::memfd_create(c"idlewise-governor".as_ptr(), flags);
            (fd >= 0).then(|| File::from(OwnedFd::from_raw_fd(fd)))
        }
    };
    // Kernels since 6.3 want to know that it will be executed; older ones refuse the flag.
    create(libc::MFD_CLOEXEC | libc::MFD_EXEC)
        .or_else(|| create(libc::MFD_CLOEXEC))
        .ok_or_else(io::Error::last_os_error)
}

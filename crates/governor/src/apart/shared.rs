// SPDX-License-Identifier: GPL-2.0-only
//! The memory that this process and a governor's own see: one question, one answer, room for bytes to copy, and each CPU's
//! variables. `governors/shim/include/idlewise/shared.h` has the other side.
//!
//! Whatever is read here may have been written by the governor, at any time: it is copied once, as plain numbers, and believed
//! in nothing.
#![expect(unsafe_code, reason = "shares memory with another process")]

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd as _;
use std::ptr;
use std::sync::atomic::AtomicU32;

use crate::abi::{Abi, FILTER, Inputs, Shared};
use crate::memfd::memory_file;

/// Where the memory is in the governor's process (`IDLEWISE_AT`).
const AT: u64 = 0x20_0000_0000;
/// The most that it can be, bytes (`IDLEWISE_ROOM`).
const ROOM: usize = 4 << 30;
/// Parts of it begin at whole cache lines.
const LINE: usize = 64;

/// What is asked (`IDLEWISE_COPY` and the like).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Question {
    /// Copy bytes: to, from, how many.
    Copy,
    /// Call a function: its address, two arguments.
    Call,
    /// Driver, device.
    Enable,
    /// A CPU has left a state: 0, device.
    Reflect,
    /// Driver, device.
    Select,
    /// The one and then the other: driver, device.
    ReflectSelect,
    /// Copy bytes, then run the initcalls.
    Restart,
}

/// A part of the memory that both see, as the way from its beginning.
#[derive(Clone, Copy)]
pub(super) struct Part(usize);

impl Part {
    /// Its address in the governor's process.
    pub(super) fn address(self) -> u64 {
        AT + self.0 as u64
    }

    pub(super) fn at(self, offset: usize) -> Self {
        Self(self.0 + offset)
    }
}

/// The memory.
pub(super) struct Memory {
    file: File,
    start: *mut u8,
    used: usize,
    size: usize,
}

impl Memory {
    /// New memory with a question that was not asked yet.
    pub(super) fn new() -> io::Result<Self> {
        let file = memory_file(c"idlewise", 0)?;
        // SAFETY: a new mapping of a file that nobody else has yet.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                ROOM,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut memory = Self { file, start: start.cast(), used: 0, size: 0 };
        memory.take(size_of::<Shared>())?;
        Ok(memory)
    }

    /// The file behind it, for the governor's process.
    pub(super) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// A new part of so many bytes, zeros.
    pub(super) fn take(&mut self, bytes: usize) -> io::Result<Part> {
        let part = Part(self.used);
        let used = bytes.checked_next_multiple_of(LINE).and_then(|bytes| self.used.checked_add(bytes));
        let used = used.filter(|used| *used <= ROOM).ok_or(io::ErrorKind::OutOfMemory)?;
        if used > self.size {
            // Twice what is needed: a machine's CPUs are added one by one.
            let size = (2 * used).min(ROOM);
            self.file.set_len(size as u64)?;
            self.size = size;
        }
        self.used = used;
        Ok(part)
    }

    pub(super) fn shared(&self) -> *mut Shared {
        self.start.cast()
    }

    /// Copies `bytes` to `part`, which has the room.
    pub(super) fn write(&self, part: Part, bytes: &[u8]) {
        assert!(part.0 + bytes.len() <= self.used, "a part that was taken");
        // SAFETY: inside of the mapping and of the file, as was just checked.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(part.0), bytes.len()) };
    }

    /// A copy of `size` bytes of `part`, which has so many.
    pub(super) fn read(&self, part: Part, size: usize) -> Vec<u8> {
        assert!(part.0 + size <= self.used, "a part that was taken");
        let mut bytes = vec![0; size];
        // SAFETY: as in write; any bytes are bytes.
        unsafe { ptr::copy_nonoverlapping(self.start.add(part.0), bytes.as_mut_ptr(), size) };
        bytes
    }

    /// A pointer to a part that has `size` bytes.
    pub(super) fn pointer(&self, part: Part, size: usize) -> *mut u8 {
        assert!(part.0 + size <= self.used, "a part that was taken");
        self.start.wrapping_add(part.0)
    }

    /// The numbers by which both sides wait for each other.
    pub(super) fn turns(&self) -> Turns<'_> {
        let shared = self.shared();
        // SAFETY: mapped and aligned while `self` lives; atomics may change at any time.
        unsafe {
            Turns {
                asked: &*&raw const (*shared).asked,
                host_sleeps: &*&raw const (*shared).host_sleeps,
                spins: &*&raw const (*shared).spins,
                answered: &*&raw const (*shared).answer.answered,
                sleeps: &*&raw const (*shared).answer.sleeps,
            }
        }
    }

    /// What the process needs when it starts: who asks, and which system calls are let through.
    pub(super) fn prepare(&self, filter: &[u64]) {
        assert!(filter.len() <= FILTER, "the shim's header says how many");
        let shared = self.shared();
        // SAFETY: mapped, aligned, large enough; the process does not run yet.
        unsafe {
            // It answers the first question, which is to be there.
            *(&raw mut (*shared).asked).cast::<u32>() = 1;
            (&raw mut (*shared).start.parent).write(std::process::id());
            (&raw mut (*shared).start.error).write(libc::ECHILD);
            (&raw mut (*shared).start.nr_filter).write(filter.len() as u32);
            for (to, from) in (*(&raw mut (*shared).start.filter)).iter_mut().zip(filter) {
                *to = *from;
            }
        }
    }

    /// Puts a question; it is asked by [`Memory::turns`].
    pub(super) fn put(&self, question: Question, arg: [u64; 3]) {
        let shared = self.shared();
        // SAFETY: mapped and aligned; plain numbers.
        unsafe {
            (&raw mut (*shared).question).write_volatile(question as u32);
            (&raw mut (*shared).arg).write_volatile(arg);
        }
    }

    /// What the next question to select says.
    #[inline]
    pub(super) fn put_inputs(&self, inputs: &Inputs) {
        // SAFETY: as in put.
        unsafe { (&raw mut (*self.shared()).inputs).write_volatile(*inputs) };
    }

    /// What the next call of reflect is told.
    #[inline]
    pub(super) fn put_left(&self, entered: c_int, left_ns: u64) {
        // SAFETY: as in put.
        unsafe {
            (&raw mut (*self.shared()).entered).write_volatile(entered);
            (&raw mut (*self.shared()).left_ns).write_volatile(left_ns);
        }
    }

    /// Result of the function that was called, select's second answer, and whether it asked for the sleep length.
    #[inline]
    pub(super) fn result(&self) -> (i64, bool, bool) {
        // SAFETY: as in put; bytes are no bools yet.
        unsafe {
            let answer = &raw const (*self.shared()).answer;
            (
                (&raw const (*answer).result).read_volatile(),
                (&raw const (*answer).stop_tick).read_volatile() != 0,
                (&raw const (*answer).asked_sleep_length).read_volatile() != 0,
            )
        }
    }

    /// Bytes of messages when it answered last.
    pub(super) fn log_used(&self) -> u32 {
        // SAFETY: as in put.
        unsafe { (&raw const (*self.shared()).answer.log_used).read_volatile() }
    }

    /// What it is doing.
    pub(super) fn stage(&self) -> u32 {
        // SAFETY: as in put.
        unsafe { (&raw const (*self.shared()).answer.stage).read_volatile() }
    }

    /// It is doing this now.
    pub(super) fn put_stage(&self, stage: u32) {
        // SAFETY: as in put.
        unsafe { (&raw mut (*self.shared()).answer.stage).write_volatile(stage) };
    }

    /// Why it has no filter, an errno; 0 if it has one.
    pub(super) fn start_error(&self) -> i32 {
        // SAFETY: as in put.
        unsafe { (&raw const (*self.shared()).start.error).read_volatile() }
    }

    /// A member of its table, an address or a number of it; `offset` is that of the member.
    pub(super) fn abi(&self, offset: usize) -> u64 {
        let at = offset_of!(Shared, start.abi) + offset;
        assert!(at % 8 == 0 && offset + 8 <= size_of::<Abi>(), "a member of 8 bytes");
        // SAFETY: mapped and aligned; a number.
        unsafe { self.start.add(at).cast::<u64>().read_volatile() }
    }

    /// The version of its table, and the layouts.
    pub(super) fn abi_head(&self) -> Vec<u8> {
        self.read(Part(offset_of!(Shared, start.abi)), offset_of!(Abi, env))
    }
}

/// What [`Shared`] has for taking turns.
pub(super) struct Turns<'m> {
    pub(super) asked: &'m AtomicU32,
    pub(super) host_sleeps: &'m AtomicU32,
    pub(super) spins: &'m AtomicU32,
    pub(super) answered: &'m AtomicU32,
    pub(super) sleeps: &'m AtomicU32,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, once; no reference into it is left.
        unsafe { libc::munmap(self.start.cast(), ROOM) };
    }
}

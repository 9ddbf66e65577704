// SPDX-License-Identifier: GPL-2.0-only
//! bpf(2) and the memory that BPF's ring buffers share with us. All of the room's `unsafe` is here.
//!
//! Numbers and layouts are the kernel's interface to user space, as `man 2 bpf` and the header `linux/bpf.h` give them.

#![expect(
    unsafe_code,
    reason = "bpf(2) has no safe wrapper, and a ring buffer is memory that the kernel writes"
)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const PROG_LOAD: i32 = 5;
const PROG_TEST_RUN: i32 = 10;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const ENABLE_STATS: i32 = 32;

const MAP_ARRAY: u32 = 2;
const MAP_PERCPU_ARRAY: u32 = 6;
const MAP_ARRAY_OF_MAPS: u32 = 12;
const MAP_RINGBUF: u32 = 27;

const PROG_RAW_TRACEPOINT: u32 = 17;
const PROG_TRACING: u32 = 26;
const ATTACH_RAW_TP: u32 = 23;

const LOG_BYTES: usize = 1 << 16;
/// The programs read the kernel's memory, which it lets only programs under its own licence do.
const LICENCE: &[u8] = b"GPL\0";

/// The argument of bpf(2), put together by the offsets of its fields. The kernel takes it longer than it knows if the rest is 0.
struct Attr([u64; 16]);

impl Attr {
    fn new() -> Self {
        Self([0; 16])
    }

    fn word(mut self, at: usize, value: u32) -> Self {
        if let Some(slot) = self.0.get_mut(at / 8) {
            let mut bytes = slot.to_ne_bytes();
            if let Some(half) = bytes.get_mut(at % 8..at % 8 + 4) {
                half.copy_from_slice(&value.to_ne_bytes());
            }
            *slot = u64::from_ne_bytes(bytes);
        }
        self
    }

    fn double(mut self, at: usize, value: u64) -> Self {
        if let Some(slot) = self.0.get_mut(at / 8) {
            *slot = value;
        }
        self
    }

    fn pointer<T>(self, at: usize, to: *const T) -> Self {
        self.double(at, to as u64)
    }

    /// # Safety
    /// Every pointer in it must be valid for what `command` reads and writes there.
    unsafe fn call(mut self, command: i32) -> io::Result<i32> {
        let size = size_of_val(&self.0);
        // SAFETY: the buffer is alive and `size` bytes long; its pointers are the caller's promise.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), size) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    /// # Safety
    /// As [`Self::call`], and `command` must be one that returns a new file.
    unsafe fn open(self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: the caller's promise; the number is a new file's, and nobody else has it.
        unsafe { self.call(command).map(|fd| OwnedFd::from_raw_fd(fd)) }
    }
}

/// A table that programs and we share, with keys from 0 on.
pub(super) struct Map {
    fd: OwnedFd,
    /// Bytes that the kernel copies for a key.
    value: usize,
}

impl Map {
    fn create(kind: u32, key: u32, value: u32, entries: u32, inner: Option<&Self>) -> io::Result<OwnedFd> {
        let inner = inner.map_or(0, |map| map.number().unsigned_abs());
        let attr = Attr::new().word(0, kind).word(4, key).word(8, value).word(12, entries).word(20, inner);
        // SAFETY: no pointers; MAP_CREATE returns a file.
        unsafe { attr.open(MAP_CREATE) }
    }

    /// `entries` values of `value` bytes.
    pub(super) fn array(value: u32, entries: u32) -> io::Result<Self> {
        let fd = Self::create(MAP_ARRAY, 4, value, entries, None)?;
        Ok(Self { fd, value: value as usize })
    }

    /// One value of `value` bytes on each of `cpus` possible CPUs.
    pub(super) fn per_cpu(value: u32, cpus: usize) -> io::Result<Self> {
        let fd = Self::create(MAP_PERCPU_ARRAY, 4, value, 1, None)?;
        Ok(Self { fd, value: (value as usize).next_multiple_of(8) * cpus })
    }

    /// A ring buffer of `bytes`, which must be a power of two of pages.
    pub(super) fn ring(bytes: u32) -> io::Result<Self> {
        Ok(Self { fd: Self::create(MAP_RINGBUF, 0, 0, bytes, None)?, value: 0 })
    }

    /// A table of maps like `inner`.
    pub(super) fn of_maps(inner: &Self, entries: u32) -> io::Result<Self> {
        Ok(Self { fd: Self::create(MAP_ARRAY_OF_MAPS, 4, 4, entries, Some(inner))?, value: 4 })
    }

    /// The number of its file.
    pub(super) fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    fn element(&self, key: &u32, value: *const u8) -> Attr {
        Attr::new().word(0, self.number().unsigned_abs()).pointer(8, key).pointer(16, value)
    }

    /// The value of `key`.
    pub(super) fn get(&self, key: u32) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value];
        let attr = self.element(&key, value.as_mut_ptr());
        // SAFETY: the key is alive, and the value has as many bytes as the kernel copies for this map.
        unsafe { attr.call(MAP_LOOKUP) }?;
        Ok(value)
    }

    /// Puts `value` at `key`; it must be as long as the map's values are.
    pub(super) fn set(&self, key: u32, value: &[u8]) -> io::Result<()> {
        if value.len() != self.value {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let attr = self.element(&key, value.as_ptr());
        // SAFETY: key and value are alive, and the value's length was checked.
        unsafe { attr.call(MAP_UPDATE) }.map(drop)
    }
}

/// What a program is for.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// The tracepoint with this type.
    Tracepoint(u32),
    /// Being run once, by us.
    Once,
}

/// A program, checked and loaded.
pub(super) struct Program(OwnedFd);

impl Program {
    /// Loads `code`. The error has what the kernel's checker said.
    pub(super) fn load(purpose: Purpose, code: &[[u8; 8]]) -> Result<Self, (io::Error, String)> {
        let (kind, attach, id) = match purpose {
            Purpose::Tracepoint(id) => (PROG_TRACING, ATTACH_RAW_TP, id),
            Purpose::Once => (PROG_RAW_TRACEPOINT, 0, 0),
        };
        let load = |log: Option<&mut Vec<u8>>| {
            let mut attr = Attr::new().word(0, kind).word(4, code.len() as u32);
            attr =
                attr.pointer(8, code.as_ptr()).pointer(16, LICENCE.as_ptr()).word(68, attach).word(108, id);
            if let Some(log) = log {
                attr = attr.word(24, 1).word(28, log.len() as u32).pointer(32, log.as_mut_ptr());
            }
            // SAFETY: code, licence and log are alive for the call, with the lengths given; PROG_LOAD returns a file.
            unsafe { attr.open(PROG_LOAD) }
        };
        load(None).map(Self).map_err(|error| {
            // Once more, for the reason: a log makes loading slow.
            let mut log = vec![0; LOG_BYTES];
            let _ = load(Some(&mut log));
            log.truncate(log.iter().position(|b| *b == 0).unwrap_or(log.len()));
            (error, String::from_utf8_lossy(&log).into_owned())
        })
    }

    /// Lets it run at its tracepoint until what is returned is dropped.
    pub(super) fn attach(&self) -> io::Result<OwnedFd> {
        let attr = Attr::new().word(8, self.number().unsigned_abs());
        // SAFETY: the name is null, as it shall be for such programs; RAW_TRACEPOINT_OPEN returns a file.
        unsafe { attr.open(RAW_TRACEPOINT_OPEN) }
    }

    /// Runs it once, now, as part of this process.
    pub(super) fn run(&self) -> io::Result<()> {
        let attr = Attr::new().word(0, self.number().unsigned_abs());
        // SAFETY: no data and no context are given.
        unsafe { attr.call(PROG_TEST_RUN) }.map(drop)
    }

    /// The number of its file.
    pub(super) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Lets the kernel measure how long programs take, until what is returned is dropped.
pub(super) fn count_run_time() -> io::Result<OwnedFd> {
    // SAFETY: no pointers; ENABLE_STATS returns a file.
    unsafe { Attr::new().open(ENABLE_STATS) }
}

/// Our side of a ring buffer: the kernel appends records, we take them.
pub(super) struct Ring {
    /// How far we have read; one page, ours to write.
    consumer: Mapping,
    /// How far the kernel has written, one page; then the data, twice in a row, so that a record never wraps.
    producer: Mapping,
    page: usize,
    size: usize,
    _map: Map,
}

/// A record that is still being written.
const BUSY: u32 = 1 << 31;
/// A record that was given up.
const DISCARDED: u32 = 1 << 30;
/// Bytes before a record: its length and flags, and a word of the kernel's own.
const RECORD_HEAD: usize = 8;

impl Ring {
    /// Takes over `map`, a ring buffer of `size` bytes.
    pub(super) fn new(map: Map, size: u32) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let size = size as usize;
        let consumer = Mapping::new(&map, 0, page, libc::PROT_READ | libc::PROT_WRITE)?;
        let producer = Mapping::new(&map, page, page + 2 * size, libc::PROT_READ)?;
        Ok(Self { consumer, producer, page, size, _map: map })
    }

    /// Hands every record that is complete to `take`, oldest first.
    pub(super) fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        // SAFETY: both mappings begin with an aligned counter that lives as long as they do. The kernel's is only read.
        let (ours, theirs) = unsafe {
            (
                AtomicU64::from_ptr(self.consumer.start.as_ptr().cast()),
                &*self.producer.start.as_ptr().cast::<AtomicU64>(),
            )
        };
        let mut at = ours.load(Ordering::Relaxed);
        let end = theirs.load(Ordering::Acquire);
        while at < end {
            let offset = self.page + at as usize % self.size;
            // SAFETY: `offset` is below page + size, and multiples of 8 are all that the kernel adds: the head is inside.
            let head = unsafe { &*self.producer.start.as_ptr().add(offset).cast::<AtomicU32>() };
            let head = head.load(Ordering::Acquire);
            if head & BUSY != 0 {
                break;
            }
            let len = (head & !DISCARDED) as usize;
            if len > self.size {
                break;
            }
            if head & DISCARDED == 0 {
                let from = offset + RECORD_HEAD;
                // SAFETY: the data is there twice, so `len` bytes from an offset in the first copy are inside; the kernel does
                // not write to a record again before we have moved on.
                take(unsafe { std::slice::from_raw_parts(self.producer.start.as_ptr().add(from), len) });
            }
            at += (len + RECORD_HEAD).next_multiple_of(8) as u64;
            ours.store(at, Ordering::Release);
        }
    }
}

struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to this value alone, on our side; a ring is drained through `&mut`.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(map: &Map, offset: usize, len: usize, protection: i32) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: a new mapping where the kernel likes it, of a file that we hold.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, map.number(), offset)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { start, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

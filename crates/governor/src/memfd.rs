// SPDX-License-Identifier: GPL-2.0-only
//! Files without a name.
#![expect(unsafe_code, reason = "makes one by a system call")]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// A new file in memory, called `name` where processes are looked at, with `flags` besides close-on-exec.
pub(crate) fn memory_file(name: &CStr, flags: u32) -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor is new and owned by nobody else.
    unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | flags);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from(OwnedFd::from_raw_fd(fd))) }
    }
}

/// The same, for code.
pub(crate) fn code_file() -> io::Result<File> {
    // Kernels since 6.3 want to know that it will be executed; older ones refuse the flag.
    let name = c"idlewise-governor";
    memory_file(name, libc::MFD_EXEC).or_else(|_| memory_file(name, 0))
}

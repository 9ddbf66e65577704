// SPDX-License-Identifier: GPL-2.0-only
//! The `idlewise` command.
#![expect(unsafe_code, reason = "looks at file descriptors before the Rust runtime does")]

use std::process::ExitCode;

/// Runs before the Rust runtime, which would put /dev/null in the place of a closed standard output: what is written would be
/// lost without a word.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_THE_RUNTIME: extern "C" fn() = keep_closed;

/// Puts /dev/null there so that it can only be read: writing fails as it does where it is closed.
extern "C" fn keep_closed() {
    for descriptor in [libc::STDIN_FILENO, libc::STDOUT_FILENO] {
        // SAFETY: asks about a number; the path is a C string. What is opened gets the lowest free number, which is this one.
        unsafe {
            if libc::fcntl(descriptor, libc::F_GETFD) < 0 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
            }
        }
    }
}

fn main() -> ExitCode {
    idlewise_cli::main()
}

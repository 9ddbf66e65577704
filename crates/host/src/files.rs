// SPDX-License-Identifier: GPL-2.0-only
//! New files, which a signal does not leave half written.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process;
use std::sync::Once;

use idlewise_files::new_file::{self, end_without_unfinished};

use crate::caller::is_called;
use crate::failure::Failure;

/// Exit status of a command that a signal ended, as shells have it for SIGINT.
const INTERRUPTED: i32 = 130;

/// Ends the command because of a signal. The file that is being written is removed; guests, and what builds them, end.
pub fn interrupted() -> ! {
    idlewise_boot::end_all();
    end_without_unfinished(|| process::exit(INTERRUPTED))
}

/// From now on a signal (SIGINT, SIGTERM, SIGHUP) ends the command by [`interrupted`], as nobody would find a file later that is half
/// written. A handler that the command has set before stays.
pub fn remove_when_interrupted() {
    static ONCE: Once = Once::new();
    // A program has its own handler.
    if is_called() {
        return;
    }
    // Where no handler can be set, a signal ends the command as it always does.
    ONCE.call_once(|| {
        let _ = ctrlc::set_handler(|| interrupted());
    });
}

/// [`new_file::write_new`], interruptible.
pub fn write_new(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    remove_when_interrupted();
    Ok(new_file::write_new(path, bytes, force)?)
}

/// [`new_file::write_new_with`], interruptible.
pub fn write_new_with<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    remove_when_interrupted();
    new_file::write_new_with(path, force, write)
}

/// [`new_file::write_new_file`], interruptible.
pub fn write_new_file<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&fs::File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    remove_when_interrupted();
    new_file::write_new_file(path, force, write)
}

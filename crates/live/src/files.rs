// SPDX-License-Identifier: GPL-2.0-only
//! Small files of sysfs and procfs: they come and go, and one that is not there is no error.

use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use idlewise_platform::cpu_ranges;
use rustix::fs::OFlags;

/// The longest number of 64 bits has 20 digits; a file that begins with more is no counter.
const NUMBER_BYTES: usize = 32;

/// The first line of a file; `None` where it cannot be read.
pub fn line(path: &Path) -> Option<String> {
    let text = idlewise_files::read_to_string(path).ok()?;
    Some(text.lines().next().unwrap_or_default().trim().to_string())
}

/// The whole number that a file holds; `None` where it cannot be read or is none. One open, one read, one close: a look at
/// a large machine reads some ten thousand of them. What stands in a copied tree and is no file of sysfs (a pipe) is not
/// waited for.
pub fn number(path: &Path) -> Option<u64> {
    let mut bytes = [0; NUMBER_BYTES];
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(at_once).open(path).ok()?;
    let length = file.read(&mut bytes).ok()?;
    std::str::from_utf8(bytes.get(..length)?).ok()?.trim().parse().ok()
}

/// The names in a folder, sorted; none where it cannot be read.
pub fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

/// Reads `0-3,8`; parts that are no CPUs are left out.
pub(crate) fn cpu_numbers(text: &str) -> Vec<u32> {
    cpu_ranges(text).flatten().flatten().collect()
}

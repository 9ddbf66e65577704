// SPDX-License-Identifier: GPL-2.0-only
//! Keeps a compiler from writing files outside of one folder (Landlock, Linux 5.13 and later): a source may choose what it runs.
#![expect(unsafe_code, reason = "makes system calls that no library here has")]

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// `LANDLOCK_ACCESS_FS_*` of include/uapi/linux/landlock.h: to write to a file, and, since version 3, to truncate one; to remove and to
/// make files and folders of all kinds.
const WRITE: u64 = 1 << 1;
const TRUNCATE: u64 = 1 << 14;
const CHANGE_FOLDER: u64 = 0b1_1111_1111 << 4;
/// `LANDLOCK_CREATE_RULESET_VERSION`, `LANDLOCK_RULE_PATH_BENEATH`.
const VERSION: u32 = 1;
const PATH_BENEATH: u32 = 1;

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    fd: i32,
}

/// Lets what `command` starts write to files in `folder`, to `/dev/null` and to what it has open, and to nothing else. A kernel without
/// Landlock lets it.
pub(crate) fn write_only_in(command: &mut Command, folder: &Path) -> io::Result<()> {
    let version = version();
    if version < 1 {
        return Ok(());
    }
    let write = if version < 3 { WRITE } else { WRITE | TRUNCATE };
    let handled = write | CHANGE_FOLDER;
    // SAFETY: the first field of the structure, which has only that in the first version; the descriptor is new and nobody else's.
    let rules = unsafe {
        let fd =
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size_of::<u64>(), 0_u32);
        OwnedFd::from_raw_fd(descriptor(fd)?)
    };
    for (path, allowed) in [(folder, handled), (Path::new("/dev/null"), write)] {
        let Ok(at) = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path) else { continue };
        let rule = PathBeneath { allowed, fd: at.as_raw_fd() };
        // SAFETY: the structure is valid, and read only.
        descriptor(unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                rules.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0_u32,
            )
        })?;
    }
    let restrict = move || {
        // SAFETY: plain system calls on this process alone.
        descriptor(unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0_u32)
        })
        .map(drop)
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(restrict) };
    Ok(())
}

/// The version of the kernel's Landlock; below 1 where it has none.
fn version() -> libc::c_long {
    // SAFETY: asks for the version.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u64>(), 0_usize, VERSION) }
}

/// What a system call gave, or its error.
fn descriptor(result: libc::c_long) -> io::Result<i32> {
    match i32::try_from(result) {
        Ok(fd) if fd >= 0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_elsewhere_stay_as_they_are_and_can_be_read() {
        if version() < 1 {
            eprintln!("skipped: the kernel has no Landlock");
            return;
        }
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let user = other.path().join("user");
        fs::write(&user, "mine").unwrap();
        let shell = |folder: &Path, script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).current_dir(folder).stderr(std::process::Stdio::null());
            write_only_in(&mut command, own.path()).unwrap();
            command.status().unwrap().success()
        };
        let changes = [
            "echo x >user",
            "echo x >>user",
            "echo x >new",
            "rm user",
            "mkdir new",
            "ln -s / new",
            "mv user new",
        ];
        for change in changes {
            assert!(!shell(other.path(), change), "{change}");
        }
        assert_eq!(fs::read_to_string(&user).unwrap(), "mine");
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
        assert!(shell(other.path(), "cat user >/dev/null"));
        assert!(shell(own.path(), "echo x >user && mkdir new && mv user other && rm other"));
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The system's C compiler.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::child::{kill_group, limit};
use crate::landlock;

/// What is tried where `CC` names none.
const NAMES: [&str; 3] = ["cc", "gcc", "clang"];
/// Memory that a compiler may take, bytes.
const LARGEST: u64 = 4 << 30;
/// Programs that a compiler calls to do its work. Where its package is another than theirs, they change without it.
const CALLED: [&str; 3] = ["cc1", "as", "ld"];
/// Variables that name folders to be searched although the shim's headers are all there is, other programs than those of [`CALLED`] that
/// the compiler names, other libraries, and options.
const REMOVED: [&str; 8] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
    "LD_RUN_PATH",
    "GCC_COMPARE_DEBUG",
    "CCC_OVERRIDE_OPTIONS",
];
/// A machine whose processors and disk are busy takes so many times the CPU time that a compiler may take.
pub(crate) const BUSY: u32 = 4;
/// Messages that are read, bytes.
const MESSAGES: u64 = 1 << 20;

/// A compiler to call.
#[derive(Clone, Debug)]
pub(crate) struct Toolchain {
    program: PathBuf,
    /// What stands behind the program's name in `CC`.
    arguments: Vec<String>,
    /// Tells this compiler from another, or another version of it, without calling it.
    pub(crate) identity: String,
    is_clang: bool,
}

impl Toolchain {
    /// Finds the compiler that `cc` names (the variable `CC`; it may have arguments), else one of the usual names in `path` (the
    /// variable `PATH`). The error is what was looked for.
    pub(crate) fn find(cc: Option<&str>, path: &OsStr) -> Result<Self, String> {
        let words: Vec<&str> = cc.into_iter().flat_map(str::split_whitespace).collect();
        let (program, arguments) = match words.split_first() {
            Some((name, arguments)) => {
                let program =
                    which(name, path).ok_or_else(|| format!("CC names `{name}`, which does not exist"))?;
                (program, arguments.iter().map(|a| (*a).to_owned()).collect())
            }
            None => {
                let found = NAMES.iter().find_map(|name| which(name, path));
                (found.ok_or_else(|| format!("none of {} is installed", NAMES.join(", ")))?, Vec::new())
            }
        };
        let program = std::path::absolute(&program).unwrap_or(program);
        // A word behind the program may be the compiler itself, as in `ccache gcc`.
        let programs = words.iter().skip(1).filter_map(|word| which(word, path));
        let stamps: Vec<String> = [program.clone()].into_iter().chain(programs).map(|p| stamp(&p)).collect();
        let identity = format!("{} {}", stamps.join(" "), arguments.join(" "));
        let is_clang = identity.contains("clang");
        Ok(Self { program, arguments, identity, is_clang })
    }

    /// Tells it from the same compiler with another assembler or linker, which it finds in `path`; `folder`, `temporary` and `longest` are
    /// those of [`Toolchain::call`].
    pub(crate) fn stamp_called(
        &mut self,
        path: &OsStr,
        folder: &Path,
        temporary: &Path,
        longest: Duration,
    ) -> Result<(), String> {
        // What it names stays the same as long as it is the same itself.
        static NAMED: Mutex<Vec<(String, Vec<PathBuf>)>> = Mutex::new(Vec::new());
        let known = |named: &Vec<(String, Vec<PathBuf>)>| {
            named
                .iter()
                .find(|(identity, _)| *identity == self.identity)
                .map(|(_, programs)| programs.clone())
        };
        let found = known(&NAMED.lock().unwrap_or_else(PoisonError::into_inner));
        let programs = match found {
            Some(programs) => programs,
            None => {
                let mut programs = Vec::new();
                for name in CALLED {
                    let question = [format!("-print-prog-name={name}").into()];
                    let (_, said) = self.call(&question, folder, temporary, longest)?;
                    programs.extend(said.lines().last().and_then(|name| which(name.trim(), path)));
                }
                let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
                named.push((self.identity.clone(), programs.clone()));
                programs
            }
        };
        for program in programs {
            self.identity.push(' ');
            self.identity.push_str(&stamp(&program));
        }
        Ok(())
    }

    /// Options with which the system's assembler assembles: clang's own has no list of the files that it reads.
    pub(crate) fn for_assembler(&self) -> Vec<OsString> {
        self.is_clang.then(|| "-fno-integrated-as".into()).into_iter().collect()
    }

    /// The option that makes the assembler write the names of the files that it read to `list`.
    pub(crate) fn list_assembled(&self, list: &Path) -> OsString {
        let mut option = OsString::from("-Wa,--MD,");
        option.push(list);
        option
    }

    /// Calls the compiler in `folder`: how it ended, and its messages, English and without colours. It can write to files in `temporary`
    /// only, where the kernel has Landlock.
    ///
    /// One that does not come to an end in `longest` of CPU time, or [`BUSY`] times as long, because of what a file includes or by
    /// itself, is killed and has no status.
    pub(crate) fn call(
        &self,
        arguments: &[OsString],
        folder: &Path,
        temporary: &Path,
        longest: Duration,
    ) -> Result<(Option<ExitStatus>, String), String> {
        let mut command = Command::new(&self.program);
        // A message quotes whatever file `#line` names.
        let quotes = if self.is_clang { "-fno-caret-diagnostics" } else { "-fno-diagnostics-show-caret" };
        command.args(&self.arguments).arg(quotes).args(arguments).current_dir(folder);
        command.env("LC_ALL", "C").env("TMPDIR", temporary);
        for name in REMOVED {
            command.env_remove(name);
        }
        let wrong = |e: std::io::Error| format!("cannot run {}: {e}", self.program.display());
        let mut said = tempfile::tempfile().map_err(wrong)?;
        command
            .stdin(Stdio::null())
            .stdout(said.try_clone().map_err(wrong)?)
            .stderr(said.try_clone().map_err(wrong)?);
        limit(&mut command, longest, LARGEST);
        // It keeps files elsewhere, and what it would keep is kept here.
        command.env("CCACHE_DISABLE", "1");
        landlock::write_only_in(&mut command, temporary).map_err(wrong)?;
        let guard = Guard::new();
        if let Some(group) = guard.group() {
            command.process_group(group.cast_signed());
        }
        let mut child = command.spawn().map_err(wrong)?;
        let group = guard.group().unwrap_or(child.id());
        let status = wait_for(&mut child, group, longest * BUSY).map_err(wrong)?;
        drop(guard);
        let mut text = Vec::new();
        said.rewind().and_then(|()| said.take(MESSAGES).read_to_end(&mut text)).map_err(wrong)?;
        Ok((status, String::from_utf8_lossy(&text).into_owned()))
    }
}

/// A shell that ends its process group, a compiler with what that called, when this process has gone: the kernel ends only what this
/// process started itself.
struct Guard(Option<Child>);

impl Guard {
    /// A guard of a process group of its own, which a compiler is to join; one that does nothing where there is no shell.
    fn new() -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "read -r done || kill -s KILL 0"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(shell.process_group(0).current_dir("/").spawn().ok())
    }

    /// The process group that a compiler joins; nothing where there is no shell.
    fn group(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(shell) = &mut self.0 {
            let _gone = shell.stdin.take().map(|mut pipe| pipe.write_all(b"done\n"));
            let _gone = shell.wait();
        }
    }
}

/// How the child ended; nothing if it had to be killed, with its process group.
fn wait_for(child: &mut Child, group: u32, longest: Duration) -> std::io::Result<Option<ExitStatus>> {
    let (mut waited, mut pause) = (Duration::ZERO, Duration::from_millis(1));
    while waited < longest {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(pause);
        waited += pause;
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    kill_group(group);
    child.wait().map(|_| None)
}

/// The path of the program that a shell would start.
fn which(name: &str, path: &OsStr) -> Option<PathBuf> {
    let runs = |p: &Path| fs::metadata(p).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|p| runs(p));
    }
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|p| runs(p))
}

/// A program's file, size and time of change.
fn stamp(program: &Path) -> String {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let (size, sec, ns) = fs::metadata(&program).map_or((0, 0, 0), |m| (m.size(), m.mtime(), m.mtime_nsec()));
    format!("{}:{size}:{sec}.{ns}", program.display())
}

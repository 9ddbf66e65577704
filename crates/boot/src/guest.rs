// SPDX-License-Identifier: GPL-2.0-only
//! The guest's user space: one small archive in memory, made of Debian's packages, our own programs and the job.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use cpio::newc;
use flate2::{Compression, GzBuilder};

use crate::apt::Apt;
use crate::process::{Job, need};
use crate::tree::only;
use crate::workload::Part;
use crate::{BootError, LabFolder, Watch, files};

const COMPILER: &str = "aarch64-linux-gnu-gcc";
/// Where Debian's packages have their libraries.
const LIBRARIES: &str = "lib/aarch64-linux-gnu";
/// The Debian release with the tcc that guests compile.
const TCC_SUITE: &str = "bookworm";

/// Programs for arm64 guests, kept in the lab's folder.
pub struct Guest<'a> {
    lab: &'a LabFolder,
    watch: &'a dyn Watch,
    log: PathBuf,
}

impl<'a> Guest<'a> {
    /// The programs of `lab`.
    ///
    /// # Errors
    /// [`BootError`] when the compiler is missing.
    pub fn new(lab: &'a LabFolder, watch: &'a dyn Watch) -> Result<Self, BootError> {
        need(&[(COMPILER, "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")])?;
        Ok(Self { lab, watch, log: lab.path().join("guest.log") })
    }

    fn job(&self, what: &str, command: Command) -> Result<(), BootError> {
        Job { what, command, log: &self.log, watch: self.watch, patience: None }.run(|_| ())
    }

    /// Unpacks Debian packages for arm64 into a part of the lab.
    fn debian(&self, name: &str, packages: &[&str]) -> Result<PathBuf, BootError> {
        self.lab.whole(&format!("guest/{name}"), |to| self.apt()?.unpack(packages, false, to))
    }

    fn apt(&self) -> Result<Apt<'_>, BootError> {
        Apt::open(&self.lab.part("apt-arm64")?, None, "arm64", self.watch)
    }

    /// Our own programs, compiled from `kernel/guest/loads`.
    fn loads(&self) -> Result<PathBuf, BootError> {
        let sources =
            || files::GUEST.iter().filter_map(|(name, text)| Some((name.strip_prefix("loads/")?, text)));
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for (name, text) in sources() {
            hash.update(name.as_bytes());
            hash.update(text.as_bytes());
        }
        self.lab.whole(&format!("guest/loads-{:016x}", hash.digest()), |to| {
            self.watch.doing("compiling the guest's programs");
            for (name, text) in sources() {
                let source = to.join(name);
                fs::write(&source, text).map_err(BootError::io(&source))?;
                let mut command = Command::new(COMPILER);
                command.args(["-O2", "-static", "-Wl,--build-id=none", "-s", "-o"]);
                command.arg(source.with_extension("")).arg(&source).args(["-lm", "-lpthread"]);
                self.job("compiling a program for the guest", command)?;
            }
            Ok(())
        })
    }

    /// fio from Debian's source: its package needs the libraries of a dozen storage systems.
    fn fio(&self) -> Result<PathBuf, BootError> {
        need(&[("make", "make"), ("tar", "tar")])?;
        self.lab.whole("guest/fio", |to| {
            self.apt()?.source("fio", to)?;
            self.watch.doing("compiling fio");
            let archive = only(to, ".orig.tar.gz")?;
            let source = to.join("source");
            fs::create_dir(&source).map_err(BootError::io(&source))?;
            let mut tar = Command::new("tar");
            tar.arg("-xzf").arg(&archive).arg("--strip-components=1").arg("-C").arg(&source);
            self.job("unpacking fio", tar)?;
            let mut configure = Command::new("./configure");
            configure.current_dir(&source).args([
                "--cc=aarch64-linux-gnu-gcc",
                "--cpu=aarch64",
                "--build-static",
                "--disable-native",
                "--disable-numa",
                "--disable-rdma",
                "--disable-rados",
                "--disable-rbd",
                "--disable-http",
                "--disable-gfapi",
                "--disable-pmem",
                "--disable-shm",
            ]);
            self.job("configuring fio", configure)?;
            let mut make = Command::new("make");
            make.current_dir(&source).args(["-j2", "fio"]);
            self.job("compiling fio", make)?;
            let mut strip = Command::new("aarch64-linux-gnu-strip");
            strip.arg("-o").arg(to.join("fio")).arg(source.join("fio"));
            self.job("compiling fio", strip)?;
            fs::remove_dir_all(&source).map_err(BootError::io(&source))
        })
    }

    /// Of the one release whose tcc has the files that the guest's makefile names.
    fn tcc_apt(&self) -> Result<Apt<'_>, BootError> {
        let folder = self.lab.part(&format!("apt-{TCC_SUITE}-arm64"))?;
        Apt::open(&folder, Some(TCC_SUITE), "arm64", self.watch)
    }

    /// The sources of tcc, which the compiler in the guest compiles.
    fn tcc_source(&self) -> Result<PathBuf, BootError> {
        need(&[("tar", "tar"), ("bzip2", "bzip2")])?;
        self.lab.whole("guest/tcc-source", |to| {
            self.tcc_apt()?.source("tcc", to)?;
            let archive = only(to, ".orig.tar.bz2")?;
            let mut tar = Command::new("tar");
            tar.arg("-xjf").arg(&archive).arg("-C").arg(to).args(["--exclude=tests", "--exclude=win32"]);
            self.job("unpacking tcc", tar)
        })
    }

    /// tcc, make, and what tcc is made of, in `lab/compile`.
    fn compiler(&self, contents: &mut Contents) -> Result<(), BootError> {
        let folder = self.lab.whole("guest/compiler", |to| {
            self.tcc_apt()?.unpack(&["tcc", "make", "libc6-dev", "linux-libc-dev"], false, to)
        })?;
        let source = self.tcc_source()?;
        for program in ["tcc", "make"] {
            contents.file(&format!("lab/bin/{program}"), &folder.join("usr/bin").join(program))?;
        }
        contents.ours("compile/compile", "lab/bin/compile", true);
        contents.ours("compile/Makefile", "lab/compile/Makefile", false);
        contents.ours("compile/config.h", "lab/compile/config.h", false);
        let libc = folder.join("usr").join(LIBRARIES);
        for name in ["crt1.o", "crti.o", "crtn.o", "libc_nonshared.a"] {
            contents.file(&format!("lab/compile/libc/{name}"), &libc.join(name))?;
        }
        contents.file("lab/compile/libc/libtcc1.a", &libc.join("tcc/libtcc1.a"))?;
        let headers = folder.join("usr/include");
        let folders = [source, libc.join("tcc/include"), headers.join("aarch64-linux-gnu"), headers];
        for (name, path) in included(&units(), &folders)? {
            let to = if path.starts_with(&folders[0]) { "" } else { "include/" };
            contents.file(&format!("lab/compile/{to}{name}"), &path)?;
        }
        Ok(())
    }

    /// Makes the archive for one job at `to`: `job` are the variables that the guest's init reads, `extra` further files
    /// by their names in the guest. The same in, the same bytes out.
    ///
    /// # Errors
    /// [`BootError`] when a part cannot be had.
    pub(crate) fn archive(
        &self,
        parts: &[Part],
        job: &BTreeMap<&str, String>,
        extra: &[(String, Vec<u8>)],
        to: &Path,
    ) -> Result<(), BootError> {
        let mut contents = Contents::default();
        for folder in ["bin", "dev", "lab", "lab/bin", "lib", LIBRARIES, "proc", "sys", "tmp", "etc"] {
            contents.folder(folder);
        }
        let busybox = self.debian("busybox", &["busybox-static"])?;
        contents.file("bin/busybox", &busybox.join("bin/busybox"))?;
        let loads = self.loads()?;
        for (name, _) in files::GUEST {
            if let Some(program) = name.strip_prefix("loads/").and_then(|n| n.strip_suffix(".c")) {
                contents.file(&format!("lab/bin/{program}"), &loads.join(program))?;
            }
        }
        contents.ours("init", "init", true);
        contents.bytes("lab/job", variables(job).into_bytes(), false);
        for (name, bytes) in extra {
            contents.bytes(name, bytes.clone(), false);
        }
        for part in parts {
            self.part(*part, &mut contents)?;
        }
        contents.write(to)
    }

    fn part(&self, part: Part, contents: &mut Contents) -> Result<(), BootError> {
        let libc = || self.debian("libc", &["libc6", "libgcc-s1"]);
        match part {
            Part::RtTests => {
                let folder = self.debian("rt-tests", &["rt-tests", "libnuma1"])?;
                for program in ["cyclictest", "hackbench"] {
                    contents.file(&format!("lab/bin/{program}"), &folder.join("usr/bin").join(program))?;
                }
                contents
                    .libraries(&libc()?, &["libc.so.6", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1"])?;
                contents.libraries(&folder, &["libnuma.so.1"])
            }
            Part::RtApp => {
                let folder = self.debian("rt-app", &["rt-app", "libjson-c5"])?;
                contents.file("lab/bin/rt-app", &folder.join("usr/bin/rt-app"))?;
                contents
                    .libraries(&libc()?, &["libc.so.6", "libpthread.so.0", "libm.so.6", "libgcc_s.so.1"])?;
                contents.libraries(&folder, &["libjson-c.so.5"])
            }
            Part::Fio => contents.file("lab/bin/fio", &self.fio()?.join("fio")),
            Part::Compiler => {
                self.compiler(contents)?;
                contents.libraries(&libc()?, &["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"])
            }
            Part::Iperf => {
                let folder = self.debian("iperf", &["iperf", "libstdc++6"])?;
                contents.file("lab/bin/iperf", &folder.join("usr/bin/iperf"))?;
                contents.ours("network/requests", "lab/bin/requests", true);
                contents.libraries(&libc()?, &["libc.so.6", "libm.so.6", "libgcc_s.so.1"])?;
                contents.libraries(&folder, &["libstdc++.so.6"])
            }
        }
    }
}

fn variables(job: &BTreeMap<&str, String>) -> String {
    job.iter().map(|(name, value)| format!("{name}='{}'\n", value.replace('\'', r"'\''"))).collect()
}

/// The text of a file of `kernel/guest`.
fn ours(name: &str) -> &'static str {
    let found = files::GUEST.iter().find(|(known, _)| *known == name);
    let Some((_, text)) = found else { unreachable!("the command carries no {name} for guests") };
    text
}

/// The files that are compiled in a guest: `UNITS` of its makefile.
fn units() -> Vec<String> {
    let line = ours("compile/Makefile").lines().find_map(|line| line.strip_prefix("UNITS  := "));
    let units: Vec<_> = line.unwrap_or("").split_whitespace().map(|unit| format!("{unit}.c")).collect();
    assert!(!units.is_empty(), "the guest's makefile names no units");
    units
}

/// C files by name, and what they include, directly and through others, as far as one of `folders` has it, whatever the
/// conditions around: each file with its name in that folder.
fn included(first: &[String], folders: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>, BootError> {
    let mut found = BTreeMap::new();
    let mut names = first.to_vec();
    while let Some(name) = names.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let Some(path) = folders.iter().map(|f| f.join(&name)).find(|p| p.is_file()) else {
            // Of another system, or made by a configuration.
            continue;
        };
        let text = fs::read(&path).map_err(BootError::io(&path))?;
        names.extend(String::from_utf8_lossy(&text).lines().filter_map(|line| {
            let rest =
                line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
            let end = if rest.starts_with('<') { '>' } else { '"' };
            let name = rest.strip_prefix(['<', '"'])?.split(end).next()?;
            let plain = Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
            plain.then(|| name.to_owned())
        }));
        found.insert(name, path);
    }
    for name in first {
        if !found.contains_key(name) {
            let folder = folders.first().map_or(Path::new(""), PathBuf::as_path);
            return Err(BootError::file(folder, format!("no {name} came")));
        }
    }
    Ok(found)
}

/// What goes into an archive, by name.
#[derive(Default)]
struct Contents(BTreeMap<String, (u32, Vec<u8>)>);

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

impl Contents {
    fn folder(&mut self, name: &str) {
        self.0.insert(name.to_owned(), (FOLDER, Vec::new()));
    }

    /// A file of `kernel/guest`.
    fn ours(&mut self, name: &str, to: &str, program: bool) {
        self.bytes(to, ours(name).into(), program);
    }

    fn bytes(&mut self, name: &str, bytes: Vec<u8>, program: bool) {
        for (slash, _) in name.match_indices('/') {
            self.folder(&name[..slash]);
        }
        self.0.insert(name.to_owned(), (if program { PROGRAM } else { FILE }, bytes));
    }

    fn file(&mut self, name: &str, from: &Path) -> Result<(), BootError> {
        let bytes = fs::read(from).map_err(BootError::io(from))?;
        let mode = fs::metadata(from).map_err(BootError::io(from))?.permissions().mode();
        self.bytes(name, bytes, mode & 0o111 != 0);
        Ok(())
    }

    /// Shared libraries of a Debian package, and the loader where the package has it.
    fn libraries(&mut self, package: &Path, names: &[&str]) -> Result<(), BootError> {
        let places = [package.join(LIBRARIES), package.join("usr").join(LIBRARIES)];
        for name in names {
            let found = places.iter().map(|p| p.join(name)).find(|p| p.exists());
            let found = found
                .ok_or_else(|| BootError::file(package, format!("no library {name} in this package")))?;
            self.file(&format!("{LIBRARIES}/{name}"), &found)?;
        }
        for place in &places {
            let loader = place.join("ld-linux-aarch64.so.1");
            if loader.exists() {
                self.file("lib/ld-linux-aarch64.so.1", &loader)?;
            }
        }
        Ok(())
    }

    /// A gzipped cpio archive without any time or owner in it.
    fn write(&self, to: &Path) -> Result<(), BootError> {
        let out = fs::File::create(to).map_err(BootError::io(to))?;
        let mut out = GzBuilder::new().write(out, Compression::fast());
        for (inode, (name, (mode, bytes))) in (1..).zip(&self.0) {
            let builder = newc::Builder::new(name).ino(inode).mode(*mode).nlink(1).mtime(0);
            let length =
                u32::try_from(bytes.len()).map_err(|_| BootError::file(name, "too large for a guest"))?;
            let mut entry = builder.write(&mut out, length);
            entry.write_all(bytes).map_err(BootError::io(to))?;
            entry.finish().map_err(BootError::io(to))?;
        }
        newc::trailer(&mut out).map_err(BootError::io(to))?;
        out.finish().map_err(BootError::io(to))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_c_files_include_is_found_through_others_and_from_the_first_folder_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("source/a.c", "#include \"a.h\"\n # include <sys/b.h> // b\nint include;\n#include NAME\n");
        write("source/a.h", "#include \"a.h\"\n#if 0\n#include <windows.h>\n#endif\n#include <../c.h>\n");
        write("libc/a.h", "");
        write("libc/c.h", "");
        write("libc/unused.h", "");
        write("libc/sys/b.h", "#include <c.h>\n#include \"/etc/passwd\"\n");
        let folders = ["source", "libc"].map(|name| folder.path().join(name));
        let found = included(&["a.c".to_owned()], &folders).unwrap();
        let found: Vec<(&str, &Path)> = found.iter().map(|(name, path)| (&**name, &**path)).collect();
        let [source, libc] = &folders;
        let expected = [
            ("a.c", source.join("a.c")),
            ("a.h", source.join("a.h")),
            ("c.h", libc.join("c.h")),
            ("sys/b.h", libc.join("sys/b.h")),
        ];
        assert_eq!(found, expected.each_ref().map(|(name, path)| (*name, &**path)));
        let why = included(&["d.c".to_owned()], &folders).unwrap_err().to_string();
        assert!(why.contains("d.c"), "{why}");
        assert!(units().contains(&"tccgen.c".to_owned()), "{:?}", units());
    }

    #[test]
    fn a_file_in_an_archive_comes_after_its_folders() {
        let mut contents = Contents::default();
        contents.bytes("a/b/c", vec![1], false);
        let names: Vec<&String> = contents.0.keys().collect();
        assert_eq!(names, ["a", "a/b", "a/b/c"]);
        assert_eq!(contents.0["a/b"], (FOLDER, Vec::new()));
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Building the guest's kernel.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use xxhash_rust::xxh3::Xxh3;

use crate::process::{Job, answer, need, on_path};
use crate::{BootError, LabFolder, Watch, files, overlay};

/// The Debian package whose kernel is built where no tree is named.
pub const SOURCE_PACKAGE: &str = "linux-source-6.12";

/// Where the cross compiler's names begin.
const CROSS: &str = "aarch64-linux-gnu-";

/// What guests load for frequencies, in this order.
pub(crate) const MODULES: [&str; 3] = ["cpufreq_lab", "walt_tracker", "cpufreq_walt"];

/// What a build needs, with the Debian packages.
const TOOLS: [(&str, &str); 8] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("bc", "bc"),
    ("bison", "bison"),
    ("flex", "flex"),
    ("perl", "perl"),
    ("tar", "tar"),
];

/// A kernel's sources with the overlay in them.
#[derive(Clone, Debug)]
pub struct KernelTree {
    folder: PathBuf,
    /// Whether it is our own copy, which nobody else changes.
    own: bool,
}

/// A kernel that boots.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The image.
    pub image: PathBuf,
    /// Folder of the modules that guests may load.
    pub modules: PathBuf,
    /// Its release, as `uname -r` says it.
    pub release: String,
    /// A hash of everything that went into it, in hexadecimal.
    pub id: String,
}

impl KernelTree {
    /// The user's tree at `folder`, which must have the overlay already: it is theirs, so it is not changed unasked.
    ///
    /// # Errors
    /// [`BootError`] when it is no kernel tree, or the overlay is missing or old.
    pub fn of_user(folder: &Path) -> Result<Self, BootError> {
        let folder = folder.canonicalize().map_err(BootError::io(folder))?;
        if !overlay::is_current(&folder)? {
            return Err(BootError::Request(format!(
                "{0}: the governors are not in this tree, or not as this idlewise has them; \
                 put them in with: idlewise lab overlay {0}",
                folder.display()
            )));
        }
        Ok(Self { folder, own: false })
    }

    /// Debian's kernel source, unpacked in `lab` and brought up to date with the overlay. It comes from
    /// `/usr/src` or from Debian's archive.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be had or unpacked.
    pub fn of_debian(lab: &LabFolder, watch: &dyn Watch) -> Result<Self, BootError> {
        let folder = lab.whole(&format!("source/{SOURCE_PACKAGE}"), |to| {
            let archive = match installed() {
                Some(archive) => archive,
                None => download(to, watch)?,
            };
            watch.doing(&format!("unpacking {SOURCE_PACKAGE}"));
            let log = lab.path().join("source.log");
            let mut tar = Command::new("tar");
            tar.arg("-xJf").arg(&archive).arg("--strip-components=1").arg("-C").arg(to);
            Job { what: "unpacking the kernel's sources", command: tar, log: &log, watch, patience: None }
                .run(|_| ())?;
            if archive.starts_with(to) {
                fs::remove_file(&archive).map_err(BootError::io(&archive))?;
            }
            Ok(())
        })?;
        overlay::install(&folder)?;
        Ok(Self { folder, own: true })
    }

    /// Top of the tree.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What tells one tree's builds from another's.
    fn name(&self) -> String {
        if self.own {
            return SOURCE_PACKAGE.to_owned();
        }
        let mut hash = Xxh3::new();
        hash.update(self.folder.as_os_str().as_encoded_bytes());
        format!("tree-{:016x}", hash.digest())
    }
}

/// The archive, where it is already: as Debian's package installs it, or in the folder of kernel sources that
/// `IDLEWISE_KERNEL_SOURCES` names.
fn installed() -> Option<PathBuf> {
    let folders = [env::var_os("IDLEWISE_KERNEL_SOURCES"), Some("/usr/src".into())];
    let files = folders.into_iter().flatten().map(|f| Path::new(&f).join(format!("{SOURCE_PACKAGE}.tar.xz")));
    files.into_iter().find(|f| f.is_file())
}

/// The archive inside Debian's package, in `to`.
fn download(to: &Path, watch: &dyn Watch) -> Result<PathBuf, BootError> {
    need(&[("apt-get", "apt"), ("dpkg-deb", "dpkg"), ("xz", "xz-utils")])?;
    watch.doing(&format!("downloading {SOURCE_PACKAGE}"));
    let log = to.join("download.log");
    let fetch = || {
        let mut apt = Command::new("apt-get");
        apt.args(["download", "-o", "APT::Sandbox::User=root", SOURCE_PACKAGE]).current_dir(to);
        Job { what: "downloading the kernel's sources", command: apt, log: &log, watch, patience: None }
            .run(|_| ())
    };
    if let Err(first) = fetch() {
        // A fresh machine knows of no packages until it is told; that takes root.
        let mut update = Command::new("apt-get");
        update.arg("update");
        let job = Job { what: "apt-get update", command: update, log: &log, watch, patience: None };
        if job.run(|_| ()).is_err() {
            return Err(BootError::Missing {
                program: format!("the source of a kernel ({SOURCE_PACKAGE})"),
                advice: format!(
                    "sudo apt-get install {SOURCE_PACKAGE}, or name a tree with --kernel-tree; {first}"
                ),
            });
        }
        fetch()?;
    }
    let package = only(to, ".deb")?;
    // A package that holds one archive.
    let inner = to.join("linux-source.tar.xz");
    let out = fs::File::create(&inner).map_err(BootError::io(&inner))?;
    let mut unpack = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(&package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(BootError::io(&package))?;
    let pipe = unpack.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let status = Command::new("tar")
        .args(["-xO", "--wildcards", "*/linux-source-*.tar.xz"])
        .stdin(pipe)
        .stdout(out)
        .status()
        .map_err(BootError::io(&package))?;
    let unpacked = unpack.wait().map_err(BootError::io(&package))?;
    if !status.success() || !unpacked.success() {
        return Err(BootError::Request(format!("{}: holds no linux-source-*.tar.xz", package.display())));
    }
    fs::remove_file(&package).map_err(BootError::io(&package))?;
    Ok(inner)
}

/// The file in `folder` whose name ends so.
pub(crate) fn only(folder: &Path, ending: &str) -> Result<PathBuf, BootError> {
    for entry in fs::read_dir(folder).map_err(BootError::io(folder))? {
        let path = entry.map_err(BootError::io(folder))?.path();
        if path.file_name().is_some_and(|n| n.to_string_lossy().ends_with(ending)) {
            return Ok(path);
        }
    }
    Err(BootError::Request(format!("{}: no file *{ending} came", folder.display())))
}

/// A build of one tree with the lab's configuration.
pub struct Build<'a> {
    tree: &'a KernelTree,
    out: PathBuf,
    log: PathBuf,
    kernels: PathBuf,
    watch: &'a dyn Watch,
    /// How many compilers run at the same time.
    jobs: usize,
}

impl<'a> Build<'a> {
    /// A place in `lab` to build `tree` in.
    ///
    /// # Errors
    /// [`BootError`] when the tools are missing or the place cannot be made.
    pub fn new(
        tree: &'a KernelTree,
        lab: &LabFolder,
        jobs: Option<usize>,
        watch: &'a dyn Watch,
    ) -> Result<Self, BootError> {
        need(&TOOLS)?;
        let out = lab.part(&format!("build/{}-arm64", tree.name()))?;
        Ok(Self {
            tree,
            log: lab.path().join(format!("build-{}-arm64.log", tree.name())),
            out,
            kernels: lab.part("kernels")?,
            watch,
            jobs: jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        })
    }

    /// Where everything that was printed is.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The folder of the build: what `make O=` was given.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.out
    }

    fn make(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("make");
        command
            .arg("-C")
            .arg(&self.tree.folder)
            .arg(format!("O={}", self.out.display()))
            .arg(format!("-j{}", self.jobs))
            .args(["ARCH=arm64", &format!("CROSS_COMPILE={CROSS}")])
            .args(arguments)
            // Nothing of the machine or the hour goes into the image.
            .envs([
                ("KBUILD_BUILD_TIMESTAMP", "2024-01-01"),
                ("KBUILD_BUILD_USER", "idlewise"),
                ("KBUILD_BUILD_HOST", "lab"),
                ("KBUILD_BUILD_VERSION", "1"),
                ("LC_ALL", "C"),
            ]);
        command
    }

    fn job(&self, what: &str, command: Command, line: impl FnMut(&str)) -> Result<(), BootError> {
        Job { what, command, log: &self.log, watch: self.watch, patience: None }.run(line)
    }

    /// Writes the configuration, unless it is there already.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be, or the tree does not grant an option.
    pub fn configure(&self) -> Result<(), BootError> {
        let wanted = config();
        let fragment = self.out.join("idlewise.config");
        let same = fs::read_to_string(&fragment).is_ok_and(|old| old == wanted);
        if same && self.out.join(".config").exists() {
            return Ok(());
        }
        self.watch.doing("configuring the kernel");
        // Its name is written last: an interrupted configuration starts again.
        let new = self.out.join("idlewise.config.new");
        fs::write(&new, &wanted).map_err(BootError::io(&new))?;
        let mut command = self.make(&["allnoconfig"]);
        command.env("KCONFIG_ALLCONFIG", &new);
        self.job("configuring the kernel", command, |_| ())?;
        let granted = fs::read_to_string(self.out.join(".config")).map_err(BootError::io(&self.out))?;
        let refused: Vec<&str> = wanted
            .lines()
            .filter(|l| (l.ends_with("=y") || l.ends_with("=m")) && !granted.lines().any(|g| g == *l))
            .collect();
        if !refused.is_empty() {
            return Err(BootError::Request(format!(
                "{}: this kernel does not offer {}",
                self.tree.folder.display(),
                refused.join(", ")
            )));
        }
        fs::rename(&new, &fragment).map_err(BootError::io(&fragment))
    }

    /// Compiles the overlay alone, with every warning that the kernel's build knows (`W=1`), and those of sparse where it
    /// is installed.
    ///
    /// # Errors
    /// [`BootError`] when it does not compile.
    pub fn compile_overlay(&self) -> Result<Vec<String>, BootError> {
        self.configure()?;
        self.watch.doing("preparing the tree");
        self.job("preparing the tree", self.make(&["modules_prepare"]), |_| ())?;
        self.watch.doing("compiling the overlay");
        let mut arguments = vec!["W=1", "drivers/cpuidle/governors/"];
        if on_path("sparse") {
            arguments.push("C=2");
        }
        let mut warnings = Vec::new();
        self.job("compiling the overlay", self.make(&arguments), |line| {
            if line.contains("warning:") || line.contains("error:") {
                warnings.push(line.to_owned());
            }
        })?;
        Ok(warnings)
    }

    /// The kernel, built unless the same was built before: same version, configuration, overlay and compiler.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be built.
    pub fn kernel(&self) -> Result<Kernel, BootError> {
        let id = self.id();
        // Of a user's tree nobody knows what changed since; make does.
        if self.tree.own
            && let Some(kernel) = self.finished(&id)
        {
            return Ok(kernel);
        }
        self.configure()?;
        self.watch.doing("building the kernel");
        let mut files = 0;
        let known = fs::read_to_string(self.out.join("idlewise.files")).ok();
        let known: usize = known.and_then(|n| n.trim().parse().ok()).unwrap_or(TYPICAL_FILES);
        self.job("building the kernel", self.make(&["Image", "modules"]), |line| {
            let word = line.trim_start().split(' ').next().unwrap_or("");
            if matches!(word, "CC" | "AS" | "LD" | "AR") {
                files += usize::from(word == "CC");
                self.watch.doing(&format!("building the kernel: {files} of about {known} files"));
            }
        })?;
        if files > known / 2 {
            let path = self.out.join("idlewise.files");
            fs::write(&path, files.to_string()).map_err(BootError::io(&path))?;
        }
        let release = self.out.join("include/config/kernel.release");
        let release = fs::read_to_string(&release).map_err(BootError::io(&release))?;
        let image = self.out.join("arch/arm64/boot/Image");
        let modules = self.out.join(overlay::MODULES_FOLDER);
        if !self.tree.own {
            return Ok(Kernel { image, modules, release: release.trim().to_owned(), id });
        }
        let to = self.kernels.join(&id);
        let unfinished = self.kernels.join(format!(".{id}"));
        fs::create_dir_all(&unfinished).map_err(BootError::io(&unfinished))?;
        fs::copy(&image, unfinished.join("Image")).map_err(BootError::io(&image))?;
        for name in MODULES {
            let from = modules.join(format!("{name}.ko"));
            fs::copy(&from, unfinished.join(format!("{name}.ko"))).map_err(BootError::io(&from))?;
        }
        fs::write(unfinished.join("release"), release.trim()).map_err(BootError::io(&unfinished))?;
        if !to.exists() {
            fs::rename(&unfinished, &to).map_err(BootError::io(&to))?;
        }
        self.finished(&id).ok_or_else(|| BootError::Request(format!("{}: the kernel vanished", to.display())))
    }

    fn finished(&self, id: &str) -> Option<Kernel> {
        let folder = self.kernels.join(id);
        let release = fs::read_to_string(folder.join("release")).ok()?;
        Some(Kernel { image: folder.join("Image"), modules: folder, release, id: id.to_owned() })
    }

    /// A hash of what goes into the kernel.
    fn id(&self) -> String {
        let mut hash = Xxh3::new();
        let mut add = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(&self.tree.name());
        add(&fs::read_to_string(self.tree.folder.join("Makefile")).unwrap_or_default());
        add(&config());
        for (name, text) in overlay::contents() {
            add(&name);
            add(&text);
        }
        add(&answer(Command::new(format!("{CROSS}gcc")).arg("--version")).unwrap_or_default());
        format!("{:016x}", hash.digest())
    }
}

/// How many files a build compiles, before the first has told.
const TYPICAL_FILES: usize = 640;

/// The configuration without its comments.
fn config() -> String {
    let (_, text) = files::CONFIGS.iter().find(|(name, _)| *name == "arm64.config").unwrap_or(&("", ""));
    text.lines().filter(|l| !l.starts_with('#')).fold(String::new(), |all, line| all + line + "\n")
}

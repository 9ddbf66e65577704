// SPDX-License-Identifier: GPL-2.0-only
//! Building the guest's kernel.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use crate::process::{Job, TAIL_LINES, answer, need, on_path};
use crate::{BootError, KernelTree, LabFolder, UserGovernor, Watch, files, overlay, user};

/// Where the cross compiler's names begin.
const CROSS: &str = "aarch64-linux-gnu-";

/// What to build for the governors alone.
const GOVERNORS_FOLDER: &str = "drivers/cpuidle/governors/";
/// In the lab's folder: every kernel that was built, by its id.
const KERNELS: &str = "kernels";
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What guests load for frequencies, in this order.
pub(crate) const MODULES: [&str; 3] = ["cpufreq_lab", "walt_tracker", "cpufreq_walt"];

/// What a build needs, with the Debian packages.
pub(crate) const TOOLS: [(&str, &str); 8] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("bc", "bc"),
    ("bison", "bison"),
    ("flex", "flex"),
    ("perl", "perl"),
    ("tar", "tar"),
];

/// A kernel that boots.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub image: PathBuf,
    /// Folder of the modules that guests may load.
    pub modules: PathBuf,
    /// Its release, as `uname -r` says it.
    pub release: String,
    /// A hash in hexadecimal: of everything that went into it, or, from a tree of the user's, of what came out.
    pub id: String,
}

/// What a kernel is configured for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Configuration {
    /// Everything that idle governors touch and little else.
    #[default]
    Small,
    /// Also IP over the loopback device and a file system on the null device.
    Larger,
}

impl Configuration {
    /// Its files in `kernel/configs`.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Small => &[CONFIG, OLDER_CONFIG],
            Self::Larger => &[CONFIG, OLDER_CONFIG, LARGER_CONFIG],
        }
    }

    /// At the end of the names of its builds.
    fn ending(self) -> &'static str {
        match self {
            Self::Small => "",
            Self::Larger => "-larger",
        }
    }
}

/// A build of one tree with one of the lab's configurations.
pub struct Build<'a> {
    tree: &'a KernelTree,
    configuration: Configuration,
    lab: &'a LabFolder,
    governors: &'a [UserGovernor],
    out: PathBuf,
    log: PathBuf,
    watch: &'a dyn Watch,
    /// How many compilers run at the same time.
    jobs: usize,
}

impl<'a> Build<'a> {
    /// A place in `lab` to build `tree` with `configuration` in.
    ///
    /// # Errors
    /// [`BootError`] when the tools are missing or the place cannot be made.
    pub fn new(
        tree: &'a KernelTree,
        configuration: Configuration,
        lab: &'a LabFolder,
        jobs: Option<usize>,
        watch: &'a dyn Watch,
    ) -> Result<Self, BootError> {
        need(&TOOLS)?;
        let name = format!("{}-arm64{}", tree.name(), configuration.ending());
        let out = lab.part(&format!("build/{name}"))?;
        Ok(Self {
            tree,
            configuration,
            lab,
            governors: &[],
            log: lab.path().join(format!("build-{name}.log")),
            out,
            watch,
            jobs: jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        })
    }

    /// The same with governors of the user's own files.
    #[must_use]
    pub fn with_governors(self, governors: &'a [UserGovernor]) -> Self {
        Self { governors, ..self }
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
            .arg(self.tree.folder())
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

    /// Runs a part of the build. When it fails, its errors are what to show: with several compilers at work, they are not
    /// among the last lines.
    fn job(&self, what: &str, command: Command, mut line: impl FnMut(&str)) -> Result<(), BootError> {
        let mut errors = Vec::new();
        let job = Job { what, command, log: &self.log, watch: self.watch, patience: None };
        let ran = job.run(|text| {
            if errors.len() < TAIL_LINES && is_error(text) {
                errors.push(format!("  {}", user::in_users_words(self.governors, text)));
            }
            line(text);
        });
        ran.map_err(|e| match e {
            BootError::Failed { what, status, log, .. } if !errors.is_empty() => {
                BootError::Failed { what, status, log, tail: errors.join("\n") }
            }
            other => other,
        })
    }

    /// Waits until nobody else builds here; until the answer is dropped, nobody else does.
    fn alone(&self) -> Result<File, BootError> {
        let path = self.out.join("idlewise.lock");
        let file = File::create(&path).map_err(BootError::io(&path))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK) => self.watch.doing("waiting for another build of this tree"),
                Err(e) => return Err(BootError::Io { path, error: e.into() }),
            }
            if self.watch.stopped() {
                return Err(BootError::Interrupted);
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Writes the configuration, unless it is there already.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be, or the tree does not grant an option.
    fn configure(&self) -> Result<(), BootError> {
        let wanted = config(self.configuration.files());
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
        let mut refused: Vec<&str> = wanted
            .lines()
            .filter(|l| (l.ends_with("=y") || l.ends_with("=m")) && !granted.lines().any(|g| g == *l))
            .collect();
        let older = config(&[OLDER_CONFIG]);
        if refused.iter().any(|line| older.lines().any(|o| o == *line)) {
            let known = known_options(self.tree.folder())?;
            refused.retain(|line| !older.lines().any(|o| o == *line) || known.contains(option_of(line)));
        }
        if !refused.is_empty() {
            let why = format!("this kernel does not offer {}", refused.join(", "));
            return Err(BootError::tree(self.tree.folder(), why));
        }
        fs::rename(&new, &fragment).map_err(BootError::io(&fragment))
    }

    /// Compiles what is new or changed of the overlay alone, with every warning that the kernel's build knows (`W=1`), and those
    /// of sparse where it is installed.
    ///
    /// # Errors
    /// [`BootError`] when it does not compile.
    pub fn compile_overlay(&self) -> Result<Vec<String>, BootError> {
        let _alone = self.alone()?;
        self.configure()?;
        user::put(self.governors, &self.out)?;
        // Both with the same options: make does everything again where they change.
        let mut options = vec!["W=1"];
        if on_path("sparse") {
            options.push("C=1");
        }
        let make = |what| self.make(&[&options[..], &[what]].concat());
        self.watch.doing("preparing the tree");
        self.job("preparing the tree", make("modules_prepare"), |_| ())?;
        self.watch.doing("compiling the overlay");
        let mut warnings = Vec::new();
        self.job("compiling the overlay", make(GOVERNORS_FOLDER), |line| {
            if line.contains("warning:") || line.contains("error:") {
                warnings.push(line.to_owned());
            }
        })?;
        Ok(warnings)
    }

    /// The kernel, built unless the same was built before: same version, configuration, overlay, governors and compiler.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be built.
    pub fn kernel(&self) -> Result<Kernel, BootError> {
        // Of a user's tree nobody knows what changed since; make does.
        if self.tree.is_own()
            && let Some(kernel) = self.finished(&self.id())
        {
            return Ok(kernel);
        }
        let _alone = self.alone()?;
        self.configure()?;
        user::put(self.governors, &self.out)?;
        if let [first, rest @ ..] = self.governors {
            // First, because a mistake in them is likely, and the rest may take minutes.
            let more = if rest.is_empty() { "" } else { " and others" };
            let what = format!("compiling {}{more}", first.given());
            self.watch.doing(&what);
            self.job(&what, self.make(&[GOVERNORS_FOLDER]), |_| ())?;
        }
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
        let id = if self.tree.is_own() { self.id() } else { hash_of(&image, &modules)? };
        self.lab.whole(&format!("{KERNELS}/{id}"), |to| {
            let copy = |from: &Path, name: &str| fs::copy(from, to.join(name)).map_err(BootError::io(from));
            copy(&image, "Image")?;
            for name in MODULES.map(|m| format!("{m}.ko")) {
                copy(&modules.join(&name), &name)?;
            }
            fs::write(to.join("release"), release.trim()).map_err(BootError::io(to))
        })?;
        self.finished(&id).ok_or_else(|| {
            let folder = self.lab.path().join(KERNELS).join(&id);
            BootError::file(&folder, "holds no kernel; remove it")
        })
    }

    fn finished(&self, id: &str) -> Option<Kernel> {
        let folder = self.lab.path().join(KERNELS).join(id);
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
        add(&fs::read_to_string(self.tree.folder().join("Makefile")).unwrap_or_default());
        add(&config(self.configuration.files()));
        for (name, text) in overlay::contents() {
            add(&name);
            add(&text);
        }
        for governor in self.governors {
            add(governor.name());
            for (name, text) in governor.files() {
                add(name);
                add(text);
            }
        }
        add(&answer(Command::new(format!("{CROSS}gcc")).arg("--version")).unwrap_or_default());
        format!("{:016x}", hash.digest())
    }
}

/// A hash of what a guest boots and loads. The same sources give the same bytes: neither time nor place goes into them.
fn hash_of(image: &Path, modules: &Path) -> Result<String, BootError> {
    let mut hash = Xxh3::new();
    let modules = MODULES.iter().map(|name| modules.join(format!("{name}.ko")));
    for path in [image.to_owned()].into_iter().chain(modules) {
        hash.update(&fs::read(&path).map_err(BootError::io(&path))?);
    }
    Ok(format!("{:016x}", hash.digest()))
}

/// Whether a line of a build says why it failed.
fn is_error(line: &str) -> bool {
    [": error: ", ": fatal error: ", "undefined reference to", "ERROR: modpost", "No rule to make"]
        .iter()
        .any(|words| line.contains(words))
}

/// How many files a build compiles, before the first has told.
const TYPICAL_FILES: usize = 640;

/// The files of the configuration in `kernel/configs`.
const CONFIG: &str = "arm64.config";
/// What is only asked of trees that know it.
const OLDER_CONFIG: &str = "arm64-older.config";
/// What the larger kernel has beyond.
const LARGER_CONFIG: &str = "arm64-larger.config";

/// Lines of the configuration, without comments.
fn config(names: &[&str]) -> String {
    let texts = files::CONFIGS.iter().filter(|(name, _)| names.contains(name)).map(|(_, text)| text);
    let lines: String = texts
        .flat_map(|text| text.lines())
        .filter(|l| !l.starts_with('#'))
        .map(|l| format!("{l}\n"))
        .collect();
    assert!(!lines.is_empty(), "the command carries no configuration {names:?}");
    lines
}

/// `NAME` of `CONFIG_NAME=y`.
fn option_of(line: &str) -> &str {
    let name = line.split('=').next().unwrap_or(line);
    name.strip_prefix("CONFIG_").unwrap_or(name)
}

/// The names of all options that the Kconfig files below `folder` have.
fn known_options(folder: &Path) -> Result<BTreeSet<String>, BootError> {
    let mut known = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(BootError::io(&next))? {
            let entry = entry.map_err(BootError::io(&next))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(BootError::io(&next))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && entry.file_name().as_encoded_bytes().starts_with(b"Kconfig") {
                let text = fs::read(&path).map_err(BootError::io(&path))?;
                let text = String::from_utf8_lossy(&text);
                let mut words = text.lines().map(str::split_whitespace);
                known.extend(words.by_ref().filter_map(|mut words| {
                    let kind = words.next()?;
                    let name = words.next()?;
                    (kind == "config" || kind == "menuconfig").then(|| name.to_owned())
                }));
            }
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_older_kernels_are_asked_of_those_that_know_them() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("fs/proc")).unwrap();
        fs::write(tree.path().join("Kconfig"), "menuconfig A\n\tbool\n\nconfig\tB\n# config C\n").unwrap();
        fs::write(tree.path().join("fs/proc/Kconfig.x"), "if A\nconfig PROC_SYSCTL\n\thelp\n\t  config it\n")
            .unwrap();
        fs::write(tree.path().join("fs/proc/other"), "config D\n").unwrap();
        let known = known_options(tree.path()).unwrap();
        assert!(["A", "B", "PROC_SYSCTL"].iter().all(|name| known.contains(*name)), "{known:?}");
        assert!(!known.contains("C") && !known.contains("D"), "{known:?}");
        let older = config(&[OLDER_CONFIG]);
        assert!(older.lines().any(|line| option_of(line) == "PROC_SYSCTL"), "{older}");
        assert!(!config(&[CONFIG]).lines().any(|line| older.contains(line)), "asked for twice");
        let small = config(Configuration::Small.files());
        let more = config(&[LARGER_CONFIG]);
        assert!(more.lines().all(|line| !small.contains(line)), "asked for twice");
        assert!(config(Configuration::Larger.files()).contains("CONFIG_INET=y\n"), "{more}");
    }
}

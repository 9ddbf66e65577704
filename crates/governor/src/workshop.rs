// SPDX-License-Identifier: GPL-2.0-only
//! Where foreign governors become shared objects: compiled with the system's compiler, kept by content.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::assembly::{reading_directive, section_of_options};
use crate::build::Build;
use crate::child::Bounds;
use crate::diagnostics::{Problem, Step, own_words, problems};
use crate::hash::Hash;
use crate::kernel_tree::Version;
use crate::paths::{LARGEST, is_inside, without_dots};
use crate::toolchain::{BUSY, Toolchain};
use crate::{GovernorError, command, shim};

/// CPU time that a foreign governor may take without getting on, s.
const PATIENCE_S: u64 = 5;
/// Memory that a foreign governor's process may take, bytes, on a machine that has twice as much.
const MEMORY: u64 = 4 << 30;
/// A compiler, which is done in a fraction of a second, gets so many times that.
const COMPILER: u64 = 6;
/// Bytes of a compiled governor: those of kernels have some 20,000.
const LARGEST_OBJECT: u64 = 64 << 20;

/// The fault of a header from elsewhere.
const NOT_ITS_OWN: &str = "neither next to the governor nor one of idlewise's headers";

const DAY: Duration = Duration::from_secs(86_400);
/// How long a folder stays in which a compiler may still write.
const LEFT: Duration = Duration::from_secs(3600);
/// How long an object or a tree stays that nobody uses.
const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// Format of the entries, a part of their names: those of other versions of idlewise are passed over.
const ENTRIES: &[u8] = b"hash, object, from the preprocessor's text";

/// What foreign governors are compiled with, where they are kept, and how long one may think.
#[derive(Clone, Debug)]
pub struct Workshop {
    cc: Option<String>,
    path: OsString,
    /// Folders to keep objects in; the first that can be used is.
    caches: Vec<PathBuf>,
    pub(crate) bounds: Bounds,
    /// What the environment says that makes no sense.
    wrong: Option<String>,
}

/// A file and the hash of its content.
type Hashed = (PathBuf, Hash);

/// A foreign governor's object and what it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    /// The files that it was made of, itself first.
    pub(crate) files: Vec<Hashed>,
    /// Headers that it could include and does not, and may ask for (`__has_include`).
    pub(crate) headers: Vec<Hashed>,
    pub(crate) object: Vec<u8>,
}

impl Made {
    /// Tells this source from another.
    pub(crate) fn hash(&self) -> Hash {
        let mut all: Vec<u8> = self.files.len().to_le_bytes().to_vec();
        all.extend(self.files.iter().flat_map(|(_, hash)| hash.0));
        for (path, hash) in &self.headers {
            all.extend(path.file_name().into_iter().flat_map(OsStr::as_encoded_bytes));
            all.push(0);
            all.extend_from_slice(&hash.0);
        }
        Hash::of(&all)
    }

    /// The files that it was made of, itself first.
    pub(crate) fn sources(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(path, _)| path.clone()).collect()
    }

    /// These files, and the headers that it could include, with the hashes of their content.
    pub(crate) fn source_hashes(&self) -> Vec<(PathBuf, String)> {
        self.files.iter().chain(&self.headers).map(|(path, hash)| (path.clone(), hash.to_string())).collect()
    }
}

/// A governor's file, looked at.
pub(crate) struct Source<'a> {
    /// As the user named it.
    pub(crate) given: &'a str,
    pub(crate) file: &'a Path,
    /// The other files that are linked with it.
    pub(crate) more: &'a [PathBuf],
    /// The kernel tree around it.
    pub(crate) version: Option<&'a Version>,
}

impl Workshop {
    /// As the environment says: `CC` and `PATH` for the compiler, `XDG_CACHE_HOME` or `HOME` for the place,
    /// `IDLEWISE_PATIENCE`, seconds of CPU time that a governor may take for one step, and `IDLEWISE_MEMORY`, MiB of memory that
    /// its process may take.
    #[must_use]
    pub fn from_env() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let caches = [
            variable("XDG_CACHE_HOME").map(PathBuf::from),
            variable("HOME").map(|home| Path::new(&home).join(".cache")),
        ];
        let caches = caches.into_iter().flatten().filter(|c| c.is_absolute());
        let mut caches: Vec<PathBuf> = caches.map(|c| c.join("idlewise")).collect();
        // A name of our own in a folder that belongs to everybody.
        let user = fs::metadata("/proc/self").map_or(0, |m| m.uid());
        caches.push(std::env::temp_dir().join(format!("idlewise-{user}")));
        let given = |name: &'static str, unit: &str| {
            variable(name).map(|value| positive(name, &value, unit)).transpose()
        };
        let (patience, memory) = (given("IDLEWISE_PATIENCE", "seconds"), given("IDLEWISE_MEMORY", "MiB"));
        let wrong = patience.as_ref().err().or(memory.as_ref().err()).cloned();
        let bounds = Bounds {
            patience_s: patience.ok().flatten().unwrap_or(PATIENCE_S),
            memory: memory.ok().flatten().map_or_else(usual_memory, |mib| mib.saturating_mul(1 << 20)),
        };
        Self {
            cc: variable("CC").and_then(|cc| cc.into_string().ok()),
            path: variable("PATH").unwrap_or_default(),
            caches,
            bounds,
            wrong,
        }
    }

    /// Keeps objects in `folder`.
    #[must_use]
    pub fn with_cache(mut self, folder: &Path) -> Self {
        self.caches = vec![folder.to_owned()];
        self
    }

    /// Compiles with `cc`, a command as in the variable `CC`.
    #[must_use]
    pub fn with_compiler(mut self, cc: &str) -> Self {
        self.cc = Some(cc.to_owned());
        self
    }

    /// Gives up a governor that does not get on for so many seconds of CPU time, and a compiler that takes six times as long.
    #[must_use]
    pub fn with_patience(mut self, seconds: u64) -> Self {
        (self.bounds.patience_s, self.wrong) = (seconds.max(1), None);
        self
    }

    /// Gives up a governor whose process takes more than so many bytes of memory.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.bounds.memory = bytes;
        self
    }

    /// The object of a source, compiled if it is not kept. What the preprocessor makes of the files says whether it is: that changes
    /// with every file that is read, or looked for and not there.
    pub(crate) fn make(&self, source: &Source<'_>, build: Build) -> Result<Made, GovernorError> {
        if let Some(wrong) = &self.wrong {
            return Err(source.wrong(wrong.clone()));
        }
        for file in source.files() {
            readable(source, file)?;
        }
        let no_compiler = |why| GovernorError::NoCompiler { path: source.given.to_owned(), why };
        let mut toolchain = Toolchain::find(self.cc.as_deref(), &self.path).map_err(no_compiler)?;
        let cache = self.cache().map_err(|why| source.wrong(why))?;
        let io_error = |e: io::Error| source.wrong(format!("{}: {e}", cache.display()));
        let shim = shim::unpack(&cache).map_err(io_error)?;
        // No compiler takes longer than a day, however patient somebody is with governors.
        let longest = Duration::from_secs(self.bounds.patience_s.saturating_mul(COMPILER)).min(DAY);
        remove_left_over(&cache, longest * BUSY);
        let folder = tempfile::tempdir_in(&cache).map_err(io_error)?;
        toolchain.stamp_called(&self.path, &shim, folder.path(), longest).map_err(no_compiler)?;
        let bench = Bench {
            source,
            build,
            extra: &extra_flags(source, build, &shim),
            toolchain: &toolchain,
            cache: &cache,
            shim: &shim,
            folder: folder.path(),
            longest,
        };
        let (text, files) = bench.preprocess()?;
        let entry = cache.join(entry_name(source, bench.extra, &toolchain, text));
        let object = match read_entry(&entry) {
            Some(object) => {
                // Where the cache cannot be written to, it is somebody else's to keep.
                let _kept = used_now(&entry);
                object
            }
            None => {
                let object = bench.compile()?;
                write_entry(&entry, &object)
                    .map_err(|e| source.wrong(format!("{}: {e}", entry.display())))?;
                object
            }
        };
        let headers = headers_next_to(source, &files).map_err(io_error)?;
        Ok(Made { files, headers, object })
    }

    /// The file of one of our own governors, among all of them.
    pub(crate) fn own_file(&self, id: &str) -> Result<PathBuf, GovernorError> {
        let wrong = |why: String| GovernorError::Source { path: id.to_owned(), why };
        let cache = self.cache().map_err(wrong)?;
        let folder =
            shim::unpack_governors(&cache).map_err(|e| wrong(format!("{}: {e}", cache.display())))?;
        Ok(folder.join(format!("{id}.c")))
    }

    /// Keeps the files of a tree, by their paths in it, in a folder that has the same name whenever they are the same: what is
    /// compiled of them need not be compiled again. Gives the folder.
    ///
    /// # Errors
    /// There is no folder to keep them in, or it cannot be written to.
    pub fn keep_tree(&self, files: &[(&str, &[u8])]) -> Result<PathBuf, GovernorError> {
        let wrong = |why: String| GovernorError::Source { path: "kernel tree".to_owned(), why };
        let mut all = Vec::new();
        for (path, text) in files {
            let size = text.len().to_le_bytes();
            [path.as_bytes(), b"\0", &size, *text].iter().for_each(|part| all.extend_from_slice(part));
        }
        let folder = self.cache().map_err(wrong)?.join(format!("tree-{}", Hash::of(&all)));
        let shown = folder.display().to_string();
        let kept = shim::unpack_files(files, folder).and_then(|folder| used_now(&folder).map(|()| folder));
        kept.map_err(|e| wrong(format!("{shown}: {e}")))
    }

    /// The first folder that is ours and can be written to.
    fn cache(&self) -> Result<PathBuf, String> {
        let mut tried = Vec::new();
        for folder in &self.caches {
            match usable(folder) {
                Ok(()) => return Ok(folder.clone()),
                Err(e) => tried.push(format!("{}: {e}", folder.display())),
            }
        }
        Err(format!("no folder to keep its object in ({}); name one in XDG_CACHE_HOME", tried.join("; ")))
    }
}

/// A whole number, 1 or more, as the variable `name` gives it; or what is wrong with it.
fn positive(name: &str, given: &OsStr, unit: &str) -> Result<u64, String> {
    let number = given.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("{name} is `{}`; expected whole {unit}, 1 or more", given.display()))
}

/// [`MEMORY`], or half of what the machine has if that is less, bytes.
fn usual_memory() -> u64 {
    let about = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = about
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.strip_suffix("kB")?.trim().parse().ok());
    total.map_or(MEMORY, |kib: u64| MEMORY.min(kib * 1024 / 2))
}

impl Source<'_> {
    /// Its files, the first one first.
    fn files(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.file).chain(self.more.iter().map(PathBuf::as_path))
    }

    /// Whether `path` is next to one of its files, or below.
    fn may_include(&self, path: &Path) -> bool {
        let folder = |file: &Path| file.parent().map(|folder| Path::new(".").join(folder).canonicalize());
        let folders = self.files().flat_map(|file| {
            let behind = file.canonicalize();
            [folder(file), behind.ok().and_then(|file| folder(&file))]
        });
        let folders: Vec<PathBuf> = folders.flatten().flatten().collect();
        path.canonicalize().is_ok_and(|path| folders.iter().any(|folder| path.starts_with(folder)))
    }

    pub(crate) fn wrong(&self, why: String) -> GovernorError {
        GovernorError::Source { path: self.given.to_owned(), why }
    }

    /// " (as of Linux 6.12.117)", or nothing.
    fn kernel(&self) -> String {
        self.version.map_or_else(String::new, |v| format!(" (as of Linux {v})"))
    }
}

/// Whether the file can be C at all; a compiler's opinion of something else helps nobody.
fn readable(source: &Source<'_>, file: &Path) -> Result<(), GovernorError> {
    let wrong = |why: &str| Err(source.wrong(why.to_owned()));
    if file.as_os_str().as_encoded_bytes().contains(&b'\n') {
        return wrong("a line break in its path, which no list of files can hold; rename it");
    }
    let about = fs::metadata(file).map_err(|e| source.wrong(e.to_string()))?;
    if !about.is_file() {
        return wrong("not a regular file; name the C file of a governor");
    }
    if about.len() > LARGEST {
        return wrong("larger than any governor; name the C file of one");
    }
    let text = fs::read(file).map_err(|e| source.wrong(e.to_string()))?;
    if text.contains(&0) {
        return wrong("not a text; name the C file of a governor, not what was made of it");
    }
    Ok(())
}

/// A folder whose objects are loaded and run must belong to the user and to nobody else.
fn usable(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let (itself, behind) = (fs::symlink_metadata(folder)?, fs::metadata(folder)?);
    let user = fs::metadata("/proc/self")?.uid();
    if itself.uid() != user || behind.uid() != user || behind.mode() & 0o022 != 0 {
        return Err(io::Error::other("not a folder that only you can write to"));
    }
    tempfile::tempfile_in(folder).map(drop)
}

/// What a file gets beside the flags of our own governors: its folder for headers, the name of its kernel, words that every kernel
/// build defines, strictness where a kernel is strict, names for a debugger.
fn extra_flags(source: &Source<'_>, build: Build, shim: &Path) -> Vec<OsString> {
    let stem = source.file.file_stem().map(|s| s.to_string_lossy().replace(['-', ',', '"', '\\'], "_"));
    let stem = stem.unwrap_or_default();
    let folder = source.file.parent().unwrap_or(Path::new("."));
    let mut flags: Vec<OsString> = vec!["-I".into(), folder.into()];
    // A compiler may take a header that was compiled before for the first one that is included, and for no other: this is ours.
    flags.extend(["-include".into(), shim.join("include/linux/kconfig.h").into_os_string()]);
    flags.extend(["-D__KERNEL__", "-DIDLEWISE_APART", "-g"].map(OsString::from));
    flags.extend(["-fno-delete-null-pointer-checks", "-Wno-all", "-Wno-extra"].map(OsString::from));
    let errors =
        ["implicit-function-declaration", "implicit-int", "int-conversion", "incompatible-pointer-types"];
    flags.extend(errors.map(|e| format!("-Werror={e}").into()));
    flags.push(format!("-DKBUILD_MODNAME=\"{stem}\"").into());
    if let Some(version) = source.version {
        flags.push(format!("-DIDLEWISE_LINUX_VERSION={}", version.code()).into());
    }
    flags.extend(build.compile_flags());
    flags
}

/// One entry for each file, kernel, compiler and what the preprocessor makes of the file, of which `text` is the hash.
fn entry_name(source: &Source<'_>, extra: &[OsString], toolchain: &Toolchain, text: Hash) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut key: Vec<u8> = Vec::new();
    let flags = extra.iter().map(|flag| flag.as_bytes());
    let more = source.more.iter().map(|file| file.as_os_str().as_bytes());
    for part in [source.file.as_os_str().as_bytes(), toolchain.identity.as_bytes()]
        .into_iter()
        .chain(flags)
        .chain(more)
    {
        key.extend_from_slice(part);
        key.push(0);
    }
    key.extend_from_slice(&shim::hash().0);
    key.extend_from_slice(ENTRIES);
    key.extend_from_slice(&text.0);
    let stem = source.file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let stem: String = stem.chars().take(40).collect();
    format!("{stem}-{}.governor", Hash::of(&key))
}

/// An entry is the hash of what follows, and that: no half-written or damaged file passes for an object.
fn read_entry(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let (hash, object) = bytes.split_first_chunk::<32>()?;
    (Hash::of(object).0 == *hash).then(|| object.to_vec())
}

/// Whole or not at all, whoever else writes the same entry.
fn write_entry(path: &Path, object: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(&Hash::of(object).0)?;
    file.write_all(object)?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Notes that a file or folder is in use.
fn used_now(path: &Path) -> io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "what nobody uses for long is removed; no result depends on it"
    )]
    let now = SystemTime::now();
    fs::File::open(path)?.set_modified(now)
}

/// Removes what runs left that were ended while they compiled, none of whose compilers takes `longest`, and objects and trees of kernels
/// that were not used for [`KEPT`]; what is younger may still be in use.
fn remove_left_over(cache: &Path, longest: Duration) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let kept =
            match (name.starts_with(b".tmp"), name.ends_with(b".governor") || name.starts_with(b"tree-")) {
                (true, _) => longest.max(LEFT),
                (_, true) => KEPT,
                _ => continue,
            };
        let age = entry.metadata().ok().and_then(|about| about.modified().ok()?.elapsed().ok());
        if age > Some(kept) {
            let path = entry.path();
            let _in_use = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

/// One compilation: the source, the compiler, and the folders it happens in.
struct Bench<'a> {
    source: &'a Source<'a>,
    build: Build,
    extra: &'a [OsString],
    toolchain: &'a Toolchain,
    cache: &'a Path,
    shim: &'a Path,
    /// For files that go when it is done.
    folder: &'a Path,
    longest: Duration,
}

impl Bench<'_> {
    /// Writes what the preprocessor makes of the source's files: the hash of that, and the user's files that it read, the source first.
    fn preprocess(&self) -> Result<(Hash, Vec<Hashed>), GovernorError> {
        let list = self.folder.join("depends");
        let (mut text, mut files) = (Vec::new(), Vec::<Hashed>::new());
        for (i, file) in self.source.files().enumerate() {
            let to = self.preprocessed(i);
            let mut flags = self.extra.to_vec();
            // Where it fails it lists no files, but prints those that it has opened.
            flags.extend(["-H".into(), "-MD".into(), "-MF".into(), list.clone().into()]);
            let call = command::compile_until("-E", shim::flags(), self.shim, file, &flags, &to);
            self.call(Step::Preprocess, &call)?;
            text.extend(Hash::of(&self.written(&to)?).0);
            for path in [file.to_owned()].into_iter().chain(self.listed(&list)?) {
                if !files.iter().any(|(known, _)| *known == path) && !self.is_header_of_shim(&path) {
                    self.refuse_elsewhere(&path)?;
                    let hash = hash_of_input(&path).map_err(|e| self.source.wrong(e.to_string()))?;
                    files.push((path, hash));
                }
            }
        }
        Ok((Hash::of(&text), files))
    }

    /// Where [`Bench::preprocess`] writes what it makes of a file.
    fn preprocessed(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number}.i"))
    }

    fn is_header_of_shim(&self, path: &Path) -> bool {
        is_inside(path, &self.shim.join("include"))
    }

    /// The error for an included file that is neither next to the source nor below.
    fn refuse_elsewhere(&self, path: &Path) -> Result<(), GovernorError> {
        if self.source.may_include(path) {
            return Ok(());
        }
        let path = without_dots(path);
        Err(self.source.wrong(format!("it includes {}, which is {NOT_ITS_OWN}", path.display())))
    }

    /// The object, of what [`Bench::preprocess`] has written: the files may have changed since.
    fn compile(&self) -> Result<Vec<u8>, GovernorError> {
        let object = self.folder.join("governor.so");
        let mut objects = vec![self.shim_object()?];
        for (i, file) in self.source.files().enumerate() {
            let code = self.folder.join(format!("{i}.s"));
            let mut flags = self.extra.to_vec();
            flags.extend(self.toolchain.for_assembler());
            let from = self.preprocessed(i);
            let call = command::compile_until("-S", shim::flags(), self.shim, &from, &flags, &code);
            self.call(Step::Compile, &call)?;
            if let Some(directive) = reading_directive(&self.written(&code)?) {
                return Err(self.source.wrong(format!(
                    "`{directive}` makes the assembler read a file whose changes would not be seen; include it in C, or put its content here"
                )));
            }
            objects.push(self.assemble(&code, file)?);
        }
        let mut arguments = command::linker(shim::flags(), self.shim, &object);
        // Nothing but what the compiler itself needs, such as division of large numbers.
        arguments.push("-nostdlib".into());
        arguments.extend(objects.into_iter().map(PathBuf::into_os_string));
        arguments.push("-lgcc".into());
        self.call(Step::Link, &arguments)?;
        if fs::metadata(&object).is_ok_and(|about| about.len() > LARGEST_OBJECT) {
            return Err(self
                .source
                .wrong("compiled, it is larger than 64 MiB; what does it hold?".to_owned()));
        }
        self.written(&object)
    }

    /// The object of assembler code, which was made of `file`. It is an error where the assembler reads more than that.
    fn assemble(&self, code: &Path, file: &Path) -> Result<PathBuf, GovernorError> {
        let (to, list) = (code.with_extension("o"), self.folder.join("assembled"));
        let mut flags = self.toolchain.for_assembler();
        flags.push(self.toolchain.list_assembled(&list));
        self.call(Step::Assemble, &command::compile(shim::flags(), self.shim, code, &flags, &to))?;
        // It lists the C file by its bare name, though no such file is where the assembler is called.
        let own = |path: &PathBuf| is_inside(path, self.folder) || Some(path.as_os_str()) == file.file_name();
        if let Some(other) = self.listed(&list)?.into_iter().find(|path| !own(path)) {
            return Err(self.source.wrong(format!(
                "its assembler code includes {}, whose changes would not be seen; include it in C, or put its content here",
                other.display()
            )));
        }
        if let Some(section) = section_of_options(&self.written(&to)?) {
            return Err(self.source.wrong(format!(
                "compiled, it has a section `{section}`, which chooses what the linker runs; remove it from its assembler code"
            )));
        }
        Ok(to)
    }

    /// All of the shim that a governor may call, as one object, which is kept.
    fn shim_object(&self) -> Result<PathBuf, GovernorError> {
        let (more, files) = self.build.shim_files();
        let mut key = [&shim::hash().0[..], ENTRIES].concat();
        key.extend_from_slice(self.toolchain.identity.as_bytes());
        files.iter().for_each(|file| key.extend_from_slice(file.as_bytes()));
        let entry = self.cache.join(format!("shim-{}.object", Hash::of(&key)));
        let to = self.folder.join("shim.o");
        let io_error = |e: io::Error| self.source.wrong(format!("{}: {e}", entry.display()));
        if let Some(object) = read_entry(&entry) {
            fs::write(&to, object).map_err(io_error)?;
            return Ok(to);
        }
        let flags =
            command::lines(shim::flags()).filter(|flag| !command::for_linker(flag)).map(OsString::from);
        let mut arguments: Vec<OsString> =
            flags.chain(["-r".into(), "-nostdlib".into()]).chain(more).collect();
        arguments.extend(["-I".into(), self.shim.join("include").into()]);
        arguments.extend(files.iter().map(|file| self.shim.join(file).into()));
        arguments.extend(["-o".into(), to.clone().into()]);
        self.call(Step::Link, &arguments)?;
        write_entry(&entry, &self.written(&to)?).map_err(io_error)?;
        Ok(to)
    }

    /// The files of a list that the compiler or the assembler wrote.
    fn listed(&self, list: &Path) -> Result<Vec<PathBuf>, GovernorError> {
        listed(&self.written(list)?).ok_or_else(|| {
            self.source.wrong(
                "it includes a file with a line break in its name, which no list of files can hold"
                    .to_owned(),
            )
        })
    }

    /// A file that the compiler was to write.
    fn written(&self, path: &Path) -> Result<Vec<u8>, GovernorError> {
        let why = "the compiler succeeded, but wrote no file".to_owned();
        fs::read(path).map_err(|_| GovernorError::NoCompiler { path: self.source.given.to_owned(), why })
    }

    fn call(&self, step: Step, arguments: &[OsString]) -> Result<(), GovernorError> {
        let source = self.source;
        let no_compiler = |why| GovernorError::NoCompiler { path: source.given.to_owned(), why };
        let (status, said) =
            self.toolchain.call(arguments, self.shim, self.folder, self.longest).map_err(no_compiler)?;
        let Some(status) = status else {
            let s = (self.longest * BUSY).as_secs();
            return Err(source
                .wrong(format!("the compiler did not finish within {s} s; what does the file include?")));
        };
        if status.success() {
            return Ok(());
        }
        if step == Step::Preprocess {
            // A message about the source may quote what a macro of another file stands for.
            for path in opened(&said).filter(|path| !self.is_header_of_shim(path)) {
                self.refuse_elsewhere(path)?;
            }
        }
        let mut problems = problems(step, &said, source.file, source.given, self.shim);
        for problem in &mut problems {
            let file = Path::new(&problem.file);
            if is_inside(file, self.folder) {
                // Made of the source; where that has the code is not known.
                (problem.file, problem.line) = (source.given.to_owned(), 0);
            } else if file.is_absolute() && file != source.file && !source.may_include(file) {
                // The message may quote it.
                NOT_ITS_OWN.clone_into(&mut problem.what);
                problem.line = 0;
                problem.file = without_dots(file).display().to_string();
            }
        }
        problems.dedup();
        if problems.is_empty() {
            let what = own_words(step, &said).unwrap_or_else(|| {
                format!("{} ended with {status} and said nothing about it", step.program())
            });
            problems.push(Problem { file: String::new(), line: 0, what, lacking: false });
        }
        Err(GovernorError::Compile { path: source.given.to_owned(), kernel: source.kernel(), problems })
    }
}

/// The files that a preprocessor with the option `-H` has opened: a line each, behind dots that say how deep.
fn opened(said: &str) -> impl Iterator<Item = &Path> {
    said.lines().filter_map(|line| {
        line.trim_start_matches('.').strip_prefix(' ').filter(|_| line.starts_with('.')).map(Path::new)
    })
}

/// Headers in the folders of a source's files, and in those below them that the shim has, too, but for `files`.
fn headers_next_to(source: &Source<'_>, files: &[Hashed]) -> io::Result<Vec<Hashed>> {
    let folders = source.files().map(|file| file.parent().unwrap_or(Path::new(".")));
    let mut found: Vec<PathBuf> = folders
        .flat_map(|folder| {
            let below = shim::folders().into_iter().map(|inside| folder.join(inside));
            [folder.to_owned()].into_iter().chain(below)
        })
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "h"))
        .filter(|path| fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= LARGEST))
        .filter(|path| !files.iter().any(|(file, _)| file == path))
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|path| Ok((path.clone(), Hash::of(&fs::read(path)?)))).collect()
}

/// The hash of a file that was compiled; a device has no content that stays.
fn hash_of_input(path: &Path) -> io::Result<Hash> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other(format!("{}: only files can be compiled", path.display())));
    }
    Ok(Hash::of(&fs::read(path)?))
}

/// The files of a rule for make: `target: file file \`, with blanks and the like escaped. Nothing where a name may hold a line break,
/// which is not escaped: then a line is empty, or ends without ` \`.
fn listed(depends: &[u8]) -> Option<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStringExt as _;
    let start = depends.windows(2).position(|w| w == b": " || w == b":\\").map_or(0, |at| at + 1);
    let rule = depends.get(start..)?.strip_suffix(b"\n")?;
    let mut lines = rule.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let names = if lines.peek().is_some() { line.strip_suffix(b" \\")? } else { line };
        if names.trim_ascii().is_empty() && line.as_ptr() != rule.as_ptr() {
            return None;
        }
    }
    let mut bytes = depends.iter().copied().skip(start).peekable();
    let (mut out, mut name) = (Vec::new(), Vec::new());
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(b'\n')) => {}
            (b'\\', Some(b' ' | b'#')) | (b'$', Some(b'$')) => name.extend(bytes.next()),
            (b' ' | b'\n' | b'\t', _) => out.push(std::mem::take(&mut name)),
            (other, _) => name.push(other),
        }
    }
    out.push(name);
    out.retain(|name| !name.is_empty());
    Some(out.into_iter().map(|name| PathBuf::from(OsString::from_vec(name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_and_memory_are_whole_numbers() {
        assert_eq!(positive("IDLEWISE_PATIENCE", OsStr::new("60"), "seconds"), Ok(60));
        for wrong in ["0", "-1", "1.5", "long"] {
            let said = positive("IDLEWISE_MEMORY", OsStr::new(wrong), "MiB").unwrap_err();
            assert!(said.contains(&format!("IDLEWISE_MEMORY is `{wrong}`; expected whole MiB")), "{said}");
        }
    }

    #[test]
    fn objects_and_trees_that_nobody_uses_go_and_others_stay() {
        let cache = tempfile::tempdir().unwrap();
        let workshop = Workshop::from_env().with_cache(cache.path());
        let kept = |text: &str| workshop.keep_tree(&[("a/teo.c", text.as_bytes())]).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a folder is made old")]
        let old = SystemTime::now() - KEPT - DAY;
        let age = |folder: &Path| fs::File::open(folder).unwrap().set_modified(old).unwrap();
        let (unused, used) = (kept("one"), kept("two"));
        age(&unused);
        age(&used);
        assert_eq!(kept("two"), used);
        let objects = ["old.governor", "new.governor"].map(|name| cache.path().join(name));
        objects.iter().for_each(|path| write_entry(path, b"object").unwrap());
        age(&objects[0]);
        let left = [cache.path().join(".tmpfolder"), cache.path().join(".tmpfile")];
        fs::create_dir(&left[0]).unwrap();
        fs::write(left[0].join("governor.i"), b"").unwrap();
        fs::write(&left[1], b"").unwrap();
        remove_left_over(cache.path(), DAY);
        assert!(left.iter().all(|path| path.exists()), "a compiler may be busy");
        #[expect(clippy::disallowed_methods, reason = "as above")]
        let hours_ago = SystemTime::now() - 2 * LEFT;
        left.iter().for_each(|path| fs::File::open(path).unwrap().set_modified(hours_ago).unwrap());
        remove_left_over(cache.path(), LEFT);
        assert!(!left.iter().any(|path| path.exists()));
        assert!(!unused.exists() && used.join("a/teo.c").exists());
        assert_eq!(objects.map(|path| path.exists()), [false, true]);
    }

    #[test]
    fn a_list_of_files_is_read_as_make_reads_it() {
        let text = b"governor.o: /a/my\\ gov.c \\\n /a/gov.h /a/x$$y.h\n";
        let paths =
            |text| listed(text).map(|all| all.iter().map(|p| p.display().to_string()).collect::<Vec<_>>());
        assert_eq!(paths(text).unwrap(), ["/a/my gov.c", "/a/gov.h", "/a/x$y.h"]);
        assert_eq!(paths(b"governor.o: \\\n /a/gov.c \\\n /a/gov.h\n").unwrap(), ["/a/gov.c", "/a/gov.h"]);
        // Names with a line break at the end, in the middle, and behind a backslash.
        for text in [
            &b"governor.o: /a/gov.c \\\n /a/gov.c\n\n"[..],
            b"governor.o: /a/gov.c\n \\\n /a/gov.h\n",
            b"governor.o: /a/gov.c\n/a/gov.h\n",
            b"governor.o: /a/gov.c\\\n \\\n /a/gov.h\n",
        ] {
            assert_eq!(paths(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}

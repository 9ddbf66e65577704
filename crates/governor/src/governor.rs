// SPDX-License-Identifier: GPL-2.0-only
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use idlewise_model::near;

use crate::build::Build;
use crate::catalog::{GovernorInfo, catalog, find};
use crate::child::Bounds;
use crate::hash::Hash;
use crate::kernel_tree::{Version, label};
use crate::of_caller::{CallerGovernor, offered};
use crate::source::{GovernorSource, SourceFile};
use crate::spec::no_c;
use crate::versions::shipped_version;
use crate::workshop::{Made, Source, Workshop};
use crate::{GovernorError, Spec, shim};

/// A governor that was found, and compiled if it is foreign, with the parameters wanted. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Governor {
    spec: Spec,
    origin: Origin,
    /// It is called by its path, since another has the same name.
    by_path: bool,
    /// What the user calls it.
    called: Option<String>,
}

#[derive(Clone, Debug)]
enum Origin {
    Ours(&'static GovernorInfo, [&'static [u8]; 2]),
    Foreign(Arc<Foreign>),
    /// The calling program has it.
    Caller(Arc<dyn CallerGovernor>),
}

#[derive(Clone, Debug)]
struct Foreign {
    /// Its first file, of which it has its name.
    file: PathBuf,
    /// The other files that are linked with it.
    more: Vec<PathBuf>,
    version: Option<Version>,
    name: String,
    made: Made,
    workshop: Workshop,
    build: Build,
}

impl Governor {
    /// Finds a governor of ours by its id. A path is refused: only a [`SourceFile`] is compiled.
    ///
    /// # Errors
    /// No such governor; the message says which there are.
    pub fn find(spec: &Spec) -> Result<Self, GovernorError> {
        if spec.names_a_file() {
            return Err(GovernorError::NotNamedByUser { path: spec.id.clone() });
        }
        let (info, objects) = find(&spec.id).ok_or_else(|| GovernorError::Unknown {
            id: spec.id.clone(),
            nearest: of_release(&spec.id)
                .or_else(|| near(&spec.id, catalog().iter().map(|g| g.id)).first().map(|&k| k.to_owned())),
        })?;
        Ok(Self { spec: spec.clone(), origin: Origin::Ours(info, objects), by_path: false, called: None })
    }

    /// Finds what `spec`, of an option of this invocation, names among the governors that the calling program has on
    /// [`crate::offer`]; nothing where none is called so.
    ///
    /// # Errors
    /// [`GovernorError::OfCaller`] where parameters are given, or a governor of ours has the same name.
    pub fn of_caller(spec: &Spec) -> Result<Option<Self>, GovernorError> {
        let Some(own) = offered(&spec.id) else { return Ok(None) };
        let refused = |why: &str| GovernorError::OfCaller { id: spec.id.clone(), why: why.to_owned() };
        if catalog().iter().any(|g| g.id == spec.id) {
            return Err(refused("a governor that ships with idlewise has that name; choose another"));
        }
        if !spec.params.is_empty() {
            return Err(refused("it has no parameters here; set them where it is made"));
        }
        let origin = Origin::Caller(own);
        Ok(Some(Self { spec: spec.clone(), origin, by_path: false, called: None }))
    }

    /// Finds what the user named; a file is compiled as [`Workshop::from_env`] says.
    ///
    /// # Errors
    /// No such governor, no such file, no compiler, or the file does not compile; the message says what is missing and where.
    pub fn open(source: &GovernorSource) -> Result<Self, GovernorError> {
        Self::open_in(source, &Workshop::from_env())
    }

    /// As [`Governor::open`], in a workshop of the caller's.
    ///
    /// # Errors
    /// As [`Governor::open`].
    pub fn open_in(source: &GovernorSource, workshop: &Workshop) -> Result<Self, GovernorError> {
        match source {
            GovernorSource::Shipped(spec) => Self::find(spec),
            GovernorSource::File(file) => Self::compile(file, workshop),
        }
    }

    /// A foreign one as bytes, of which [`Governor::carried`] makes it where its file is not; nothing of others.
    #[must_use]
    pub fn to_carry(&self) -> Option<Vec<u8>> {
        let Origin::Foreign(foreign) = &self.origin else { return None };
        postcard::to_stdvec(&(&self.spec.id, &foreign.file, &foreign.name, &foreign.made.object)).ok()
    }

    /// One of [`Governor::to_carry`]; whoever sent it has named its file.
    ///
    /// # Errors
    /// These are no such bytes.
    pub fn carried(bytes: &[u8]) -> Result<Self, GovernorError> {
        let (id, file, name, object) =
            postcard::from_bytes::<(String, PathBuf, String, Vec<u8>)>(bytes).map_err(|e| {
                GovernorError::Source { path: "a governor that was sent".to_owned(), why: e.to_string() }
            })?;
        let made = Made { files: Vec::new(), headers: Vec::new(), object };
        let (version, workshop, build) = (None, Workshop::from_env(), Build::Plain);
        let origin = Origin::Foreign(Arc::new(Foreign {
            file,
            more: Vec::new(),
            version,
            name,
            made,
            workshop,
            build,
        }));
        Ok(Self { spec: Spec { id, params: Vec::new() }, origin, by_path: false, called: None })
    }

    fn compile(source: &SourceFile, workshop: &Workshop) -> Result<Self, GovernorError> {
        let spec = source.spec();
        let given = spec.id.as_str();
        let c = Path::new(given).extension().is_some_and(|e| e == "c");
        if !c && (Path::new(given).is_file() || no_c(given).is_some()) {
            let what = no_c(given).unwrap_or("its name does not end in .c");
            let there = Path::new(given).exists();
            let missing = if there { "" } else { "there is no such file; by its name it would be " };
            let why = format!("{missing}no C file ({what}); name the C file of a governor");
            return Err(GovernorError::Source { path: given.to_owned(), why });
        }
        let mut more = Vec::new();
        for path in files_of(given) {
            let wrong = |e: std::io::Error| {
                let why =
                    if path == Path::new(given) { e.to_string() } else { format!("{}: {e}", path.display()) };
                GovernorError::Source { path: given.to_owned(), why }
            };
            more.push(path.canonicalize().map_err(wrong)?);
        }
        let file = more.remove(0);
        let tree = Version::around(&file);
        let version = tree.as_ref().map(|(version, _)| version);
        let made = workshop.make(&Source { given, file: &file, more: &more, version }, Build::Plain)?;
        let (name, version) = (label(given, &file, tree.as_ref()), version.cloned());
        let (workshop, build) = (workshop.clone(), Build::Plain);
        let foreign = Foreign { file, more, version, name, made, workshop, build };
        Ok(Self {
            spec: spec.clone(),
            origin: Origin::Foreign(Arc::new(foreign)),
            by_path: false,
            called: None,
        })
    }

    /// The same governor compiled as `build` says. It runs in a process of its own, one of ours too.
    ///
    /// # Errors
    /// No compiler, or one that cannot do it.
    pub fn built(&self, build: Build) -> Result<Self, GovernorError> {
        let (file, more, version, name, workshop) = match &self.origin {
            Origin::Ours(info, _) => {
                let workshop = Workshop::from_env();
                (workshop.own_file(info.id)?, Vec::new(), None, info.id.to_owned(), workshop)
            }
            Origin::Foreign(foreign) => (
                foreign.file.clone(),
                foreign.more.clone(),
                foreign.version.clone(),
                foreign.name.clone(),
                foreign.workshop.clone(),
            ),
            Origin::Caller(own) => {
                let (id, why) = (own.name().to_owned(), "it is not compiled".to_owned());
                return Err(GovernorError::OfCaller { id, why });
            }
        };
        let given = self.spec.id.as_str();
        let made =
            workshop.make(&Source { given, file: &file, more: &more, version: version.as_ref() }, build)?;
        let foreign = Foreign { file, more, version, name, made, workshop, build };
        Ok(Self { origin: Origin::Foreign(Arc::new(foreign)), ..self.clone() })
    }

    /// The same governor, given up after so many seconds of CPU time without getting on. One of ours is never given up.
    #[must_use]
    pub fn with_patience(&self, seconds: u64) -> Self {
        let Origin::Foreign(foreign) = &self.origin else { return self.clone() };
        let foreign =
            Foreign { workshop: foreign.workshop.clone().with_patience(seconds), ..(**foreign).clone() };
        Self { origin: Origin::Foreign(Arc::new(foreign)), ..self.clone() }
    }

    /// Whether it was compiled with the sanitizers.
    pub(crate) fn is_sanitized(&self) -> bool {
        matches!(&self.origin, Origin::Foreign(foreign) if foreign.build == Build::Sanitized)
    }

    /// The same governor with `more` parameters set.
    #[must_use]
    pub fn with_params(&self, more: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut other = self.clone();
        other.spec.params.extend(more);
        other
    }

    /// What was asked for.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What to call it where people read: the id, or kernel and name for a file of a kernel tree (`linux-6.12.117/teo`), or the
    /// file's path as given.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.origin {
            Origin::Ours(info, _) => info.id,
            Origin::Foreign(_) if self.by_path => &self.spec.id,
            Origin::Foreign(foreign) => &foreign.name,
            Origin::Caller(own) => own.name(),
        }
    }

    /// The same, called by its path where `other` is called the same and comes from another file: two trees can be of one version.
    #[must_use]
    pub fn apart_from(mut self, other: &Self) -> Self {
        self.by_path |= self.name() == other.name() && self.file() != other.file();
        self
    }

    /// The same, called by a name of the user's.
    #[must_use]
    pub fn called(self, name: &str) -> Self {
        Self { called: Some(name.to_owned()), ..self }
    }

    /// What the user calls it, or else the name with the parameters.
    #[must_use]
    pub fn label(&self) -> String {
        if let Some(called) = &self.called {
            return called.clone();
        }
        Spec { id: self.name().to_owned(), params: self.spec.params.clone() }.to_string()
    }

    /// Whether it is none of ours.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        !matches!(self.origin, Origin::Ours(..))
    }

    /// Whether the calling program has it, so that there is no file in C.
    #[must_use]
    pub fn is_of_caller(&self) -> bool {
        self.own_of_caller().is_some()
    }

    /// What the calling program has.
    pub(crate) fn own_of_caller(&self) -> Option<&Arc<dyn CallerGovernor>> {
        match &self.origin {
            Origin::Caller(own) => Some(own),
            Origin::Ours(..) | Origin::Foreign(_) => None,
        }
    }

    /// The manual page of one of ours.
    #[must_use]
    pub fn preface(&self) -> Option<&'static str> {
        match &self.origin {
            Origin::Ours(info, _) => Some(info.preface),
            Origin::Foreign(_) | Origin::Caller(_) => None,
        }
    }

    /// The file of a foreign one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Ours(..) => None,
            Origin::Foreign(foreign) => Some(&foreign.file),
            Origin::Caller(own) => own.source().map(|(file, _)| file),
        }
    }

    /// The same, as the user gave it.
    #[must_use]
    pub fn given_file(&self) -> Option<String> {
        match &self.origin {
            Origin::Ours(..) => None,
            Origin::Foreign(_) => Some(self.spec.id.clone()),
            Origin::Caller(_) => self.file().map(|file| file.to_string_lossy().into_owned()),
        }
    }

    /// The version of the kernel tree around a foreign one's file.
    #[must_use]
    pub fn kernel(&self) -> Option<String> {
        match &self.origin {
            Origin::Ours(..) | Origin::Caller(_) => None,
            Origin::Foreign(foreign) => foreign.version.as_ref().map(Version::to_string),
        }
    }

    /// The files that a foreign one is made of beside the shim's headers: its own first, with absolute paths.
    #[must_use]
    pub fn sources(&self) -> Vec<PathBuf> {
        match &self.origin {
            Origin::Ours(..) => Vec::new(),
            Origin::Foreign(foreign) => foreign.made.sources(),
            Origin::Caller(_) => self.file().map(Path::to_owned).into_iter().collect(),
        }
    }

    /// The text of its C file; nothing where that can no longer be read.
    #[must_use]
    pub fn source_text(&self) -> Option<String> {
        match &self.origin {
            Origin::Ours(info, _) => shim::governor(info.id).map(str::to_owned),
            Origin::Foreign(foreign) => fs::read_to_string(&foreign.file).ok(),
            Origin::Caller(own) => own.source().map(|(_, text)| text.to_owned()),
        }
    }

    /// The files of [`Governor::sources`] with the SHA-256 of each.
    #[must_use]
    pub fn source_hashes(&self) -> Vec<(PathBuf, String)> {
        match &self.origin {
            Origin::Ours(..) => Vec::new(),
            Origin::Foreign(foreign) => foreign.made.source_hashes(),
            Origin::Caller(_) => {
                self.file().map(Path::to_owned).zip(self.source_hash()).into_iter().collect()
            }
        }
    }

    /// SHA-256 of a foreign one's source and the headers next to it.
    #[must_use]
    pub fn source_hash(&self) -> Option<String> {
        match &self.origin {
            Origin::Ours(..) => None,
            Origin::Foreign(foreign) => Some(foreign.made.hash().to_string()),
            Origin::Caller(own) => own.source().map(|(_, text)| Hash::of(text.as_bytes()).to_string()),
        }
    }

    /// The shared object, plain or explaining.
    pub(crate) fn object(&self, explaining: bool) -> Result<Cow<'_, [u8]>, GovernorError> {
        match &self.origin {
            Origin::Ours(_, [plain, words]) => Ok(Cow::Borrowed(if explaining { words } else { plain })),
            Origin::Foreign(foreign) if !explaining => Ok(Cow::Borrowed(&foreign.made.object)),
            Origin::Foreign(foreign) => {
                let (given, file) = (self.spec.id.as_str(), foreign.file.as_path());
                let source = Source { given, file, more: &foreign.more, version: foreign.version.as_ref() };
                Ok(Cow::Owned(foreign.workshop.make(&source, Build::Explaining)?.object))
            }
            Origin::Caller(own) => unreachable!("{} has no object", own.name()),
        }
    }

    /// The first half of the SHA-256 of the compiled code that decides, whatever it is called and its parameters are.
    ///
    /// # Errors
    /// As [`Governor::open`], of a foreign one.
    pub fn object_hash(&self) -> Result<u128, GovernorError> {
        Ok(Hash::of(&self.object(false)?).short())
    }

    /// What a foreign one may take.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        match &self.origin {
            Origin::Ours(..) | Origin::Caller(_) => None,
            Origin::Foreign(foreign) => Some(foreign.workshop.bounds),
        }
    }
}

/// The files of a governor: `a.c`, or `a.c+b.c` for several, of which those without a folder are in that of the first.
fn files_of(given: &str) -> Vec<PathBuf> {
    if Path::new(given).exists() {
        return vec![PathBuf::from(given)];
    }
    let mut names = given.split('+');
    let first = Path::new(names.next().unwrap_or_default());
    let beside =
        |name: &str| if name.contains('/') { PathBuf::from(name) } else { first.with_file_name(name) };
    let more: Vec<_> = names.map(beside).collect();
    std::iter::once(first.to_owned()).chain(more).collect()
}

/// Finds the version that ships of a governor which `id` names by a kernel's release: `teo-6.8`.
fn of_release(id: &str) -> Option<String> {
    let (name, release) = id.split_once('-')?;
    shipped_version(name, release).map(|version| version.spec.to_owned())
}

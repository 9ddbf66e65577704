// SPDX-License-Identifier: GPL-2.0-only
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use idlewise_model::near;

use crate::build::Build;
use crate::catalog::{GovernorInfo, catalog, find};
use crate::child::Bounds;
use crate::kernel_tree::{Version, label};
use crate::source::{GovernorSource, SourceFile};
use crate::spec::no_c;
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
}

#[derive(Clone, Debug)]
struct Foreign {
    file: PathBuf,
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
            nearest: near(&spec.id, catalog().iter().map(|g| g.id)).first().map(|&k| k.to_owned()),
        })?;
        Ok(Self { spec: spec.clone(), origin: Origin::Ours(info, objects), by_path: false, called: None })
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
        let wrong = |e: std::io::Error| GovernorError::Source { path: given.to_owned(), why: e.to_string() };
        let file = Path::new(given).canonicalize().map_err(wrong)?;
        let tree = Version::around(&file);
        let version = tree.as_ref().map(|(version, _)| version);
        let made = workshop.make(&Source { given, file: &file, version }, Build::Plain)?;
        let (name, version) = (label(given, &file, tree.as_ref()), version.cloned());
        let foreign = Foreign { file, version, name, made, workshop: workshop.clone(), build: Build::Plain };
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
        let (file, version, name, workshop) = match &self.origin {
            Origin::Ours(info, _) => {
                let workshop = Workshop::from_env();
                (workshop.own_file(info.id)?, None, info.id.to_owned(), workshop)
            }
            Origin::Foreign(foreign) => (
                foreign.file.clone(),
                foreign.version.clone(),
                foreign.name.clone(),
                foreign.workshop.clone(),
            ),
        };
        let given = self.spec.id.as_str();
        let made = workshop.make(&Source { given, file: &file, version: version.as_ref() }, build)?;
        let foreign = Foreign { file, version, name, made, workshop, build };
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
        matches!(self.origin, Origin::Foreign(_))
    }

    /// The manual page of one of ours.
    #[must_use]
    pub fn preface(&self) -> Option<&'static str> {
        match &self.origin {
            Origin::Ours(info, _) => Some(info.preface),
            Origin::Foreign(_) => None,
        }
    }

    /// The file of a foreign one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Ours(..) => None,
            Origin::Foreign(foreign) => Some(&foreign.file),
        }
    }

    /// The version of the kernel tree around a foreign one's file.
    #[must_use]
    pub fn kernel(&self) -> Option<String> {
        match &self.origin {
            Origin::Ours(..) => None,
            Origin::Foreign(foreign) => foreign.version.as_ref().map(Version::to_string),
        }
    }

    /// The files that a foreign one is made of beside the shim's headers: its own first, with absolute paths.
    #[must_use]
    pub fn sources(&self) -> Vec<PathBuf> {
        match &self.origin {
            Origin::Ours(..) => Vec::new(),
            Origin::Foreign(foreign) => foreign.made.sources(),
        }
    }

    /// The text of its C file; nothing where that can no longer be read.
    #[must_use]
    pub fn source_text(&self) -> Option<String> {
        match &self.origin {
            Origin::Ours(info, _) => shim::governor(info.id).map(str::to_owned),
            Origin::Foreign(foreign) => fs::read_to_string(&foreign.file).ok(),
        }
    }

    /// The files of [`Governor::sources`] with the XXH3-128 of each.
    #[must_use]
    pub fn source_hashes(&self) -> Vec<(PathBuf, String)> {
        match &self.origin {
            Origin::Ours(..) => Vec::new(),
            Origin::Foreign(foreign) => foreign.made.source_hashes(),
        }
    }

    /// XXH3-128 of a foreign one's source and the headers beside it.
    #[must_use]
    pub fn source_hash(&self) -> Option<String> {
        match &self.origin {
            Origin::Ours(..) => None,
            Origin::Foreign(foreign) => Some(format!("{:032x}", foreign.made.hash())),
        }
    }

    /// The shared object, plain or explaining.
    pub(crate) fn object(&self, explaining: bool) -> Result<Cow<'_, [u8]>, GovernorError> {
        match &self.origin {
            Origin::Ours(_, [plain, words]) => Ok(Cow::Borrowed(if explaining { words } else { plain })),
            Origin::Foreign(foreign) if !explaining => Ok(Cow::Borrowed(&foreign.made.object)),
            Origin::Foreign(foreign) => {
                let (given, file) = (self.spec.id.as_str(), foreign.file.as_path());
                let source = Source { given, file, version: foreign.version.as_ref() };
                Ok(Cow::Owned(foreign.workshop.make(&source, Build::Explaining)?.object))
            }
        }
    }

    /// What a foreign one may take.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        match &self.origin {
            Origin::Ours(..) => None,
            Origin::Foreign(foreign) => Some(foreign.workshop.bounds),
        }
    }
}

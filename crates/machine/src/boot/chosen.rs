// SPDX-License-Identifier: GPL-2.0-only
//! Which governors a request means, and what they are called in a guest.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use idlewise_boot::{UserGovernor, kernel_file};
use idlewise_governor::{Governor, GovernorSource, Instance, Spec, catalog};
use idlewise_model::{did_you_mean, near};

use super::guest::HZ;
use crate::MachineError;
use idlewise_conform::recorded_governors::registered;
use idlewise_recording::CommandError;

/// In a recording: the files of the user's governor that was booted.
const FILES: &str = "governor";

/// A governor as users name it, and as the guest knows it.
pub(super) struct Chosen {
    pub(super) name: String,
    /// Names in the guest; the first that there is.
    pub(super) in_kernel: String,
    /// For the guest kernel's command line.
    pub(super) parameters: String,
    /// The folder of its recordings.
    pub(super) folder: String,
    origin: Origin,
}

enum Origin {
    Ours,
    /// The kernel's own of this name.
    Kernels(String),
    /// A file of the user's, with the parameters to replay it with.
    Users(UserGovernor, Vec<(String, String)>),
}

impl Chosen {
    /// The governors that a user calls `names`.
    pub(super) fn all(names: &[String]) -> Result<Vec<Self>, MachineError> {
        let mut all: Vec<Self> = Vec::new();
        let mut files: Vec<std::path::PathBuf> = Vec::new();
        let mut folders = BTreeSet::new();
        for name in names {
            let mut chosen = Self::new(name, &mut files)?;
            // Files of one name in several folders.
            let folder = chosen.folder.clone();
            for number in 2.. {
                if folders.insert(chosen.folder.clone()) {
                    break;
                }
                chosen.folder = format!("{folder}-{number}");
            }
            all.push(chosen);
        }
        Ok(all)
    }

    /// The governor that a user calls `name`; `files` are those of the user's that came before it.
    fn new(name: &str, files: &mut Vec<std::path::PathBuf>) -> Result<Self, MachineError> {
        let refuse = |why: &str| Err(refused(name, why));
        // A folder's name for it.
        let folder = name.replace(['/', ':', ',', ' '], "_");
        let spec: Spec = name.parse()?;
        if Path::new(&spec.id).extension().is_some_and(|e| e == "c") {
            return Self::of_user(name, spec, files);
        }
        if let Some(own) = name.strip_prefix("linux/") {
            if own.is_empty() || !own.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
                return refuse("the kernel's own governors are named linux/NAME, without parameters");
            }
            return Ok(Self {
                name: name.to_owned(),
                in_kernel: own.to_owned(),
                parameters: String::new(),
                folder,
                origin: Origin::Kernels(own.to_owned()),
            });
        }
        if !catalog().iter().any(|g| g.id == spec.id) {
            let otherwise = format!(
                "`idlewise governors` lists ours; the kernel's are linux/menu, linux/teo and linux/ladder; a file of yours \
                 is named by its path, as ./{}.c",
                spec.id
            );
            let nearest = near(&spec.id, catalog().iter().map(|g| g.id));
            return refuse(&format!("there is no such governor{}", did_you_mean(&nearest, &otherwise)));
        }
        // The kernel passes over what it does not know; here a wrong name or value is refused.
        Instance::load(&spec, u64::from(1_000_000_000 / HZ))?;
        let parameters = parameters(&kernel_file(&spec.id).replace('-', "_"), &spec.params);
        let in_kernel = format!("iw-{0} {0}", spec.id);
        Ok(Self { name: name.to_owned(), in_kernel, parameters, folder, origin: Origin::Ours })
    }

    /// A file of the user's. It is compiled for user space first: what is wrong with it comes out soon, and the check of
    /// its choices needs it so.
    fn of_user(name: &str, spec: Spec, files: &mut Vec<std::path::PathBuf>) -> Result<Self, MachineError> {
        let governor = Governor::open(&GovernorSource::named_by_user(spec.clone()))?;
        let registers_as = registered(&governor)?;
        let sources = governor.sources();
        let Some(file) = sources.first().cloned() else {
            unreachable!("{name}: a governor of a file has no file")
        };
        // One file with other parameters is one governor of the kernel's.
        let number = files.iter().position(|f| *f == file).unwrap_or_else(|| {
            files.push(file.clone());
            files.len() - 1
        });
        let user = UserGovernor::new(&spec.id, number + 1, &registers_as, &sources)?;
        let stem = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let named = Spec { id: stem, params: spec.params.clone() }.to_string();
        Ok(Self {
            name: name.to_owned(),
            in_kernel: user.name().to_owned(),
            parameters: parameters(user.module(), &spec.params),
            folder: named.replace(['/', ':', ',', ' '], "_"),
            origin: Origin::Users(user, spec.params),
        })
    }

    /// As replay finds it: the kernel's own by their files in `tree`, the user's by the files in `recording`.
    pub(super) fn in_replay(&self, tree: &Path, recording: &Path) -> Result<String, MachineError> {
        let own = match &self.origin {
            Origin::Ours => return Ok(self.name.clone()),
            Origin::Users(user, params) => {
                let file = recording.join(FILES).join(format!("{}.c", user.module()));
                return Ok(Spec { id: file.display().to_string(), params: params.clone() }.to_string());
            }
            Origin::Kernels(own) => own,
        };
        let file = tree.join("drivers/cpuidle/governors").join(format!("{own}.c"));
        if file.is_file() {
            return Ok(file.display().to_string());
        }
        Err(refused(&self.name, &format!("the kernel has no {}", file.display())))
    }

    /// What a recording keeps of it: the user's file may have changed when it is replayed.
    pub(super) fn files(&self) -> Vec<(String, &str)> {
        match &self.origin {
            Origin::Users(user, _) => {
                user.files().map(|(name, text)| (format!("{FILES}/{name}"), text)).collect()
            }
            Origin::Ours | Origin::Kernels(_) => Vec::new(),
        }
    }
}

/// The governor that a user calls `name` cannot be booted, and why.
fn refused(name: &str, why: &str) -> MachineError {
    CommandError::argument("--governor", format!("governor {name}"), why).into()
}

/// The user's governors among `chosen`, each once.
pub(super) fn users(chosen: &[Chosen]) -> Vec<UserGovernor> {
    let mut all: Vec<UserGovernor> = Vec::new();
    for governor in chosen {
        if let Origin::Users(user, _) = &governor.origin
            && !all.contains(user)
        {
            all.push(user.clone());
        }
    }
    all
}

/// Parameters as the kernel's command line has them.
fn parameters(module: &str, given: &[(String, String)]) -> String {
    given.iter().fold(String::new(), |mut all, (name, value)| {
        let _ = write!(all, " {module}.{name}={value}");
        all
    })
}

// SPDX-License-Identifier: GPL-2.0-only

use std::path::PathBuf;

use idlewise_boot::{BootError, Build, Configuration, Kernel, KernelTree, LabFolder, Watch};

use crate::MachineError;

/// Which kernel, and where everything is kept.
#[derive(Clone, Debug, Default)]
pub struct BuildRequest {
    /// The lab's folder; without it the usual one.
    pub folder: Option<PathBuf>,
    /// A tree of the user's with the overlay in it; without it Debian's source.
    pub kernel_tree: Option<PathBuf>,
    /// Which of Debian's kernels, as MAJOR.MINOR; without it [`idlewise_boot::DEFAULT_VERSION`].
    pub version: Option<String>,
    /// Compilers at the same time; without it one for each CPU.
    pub jobs: Option<usize>,
}

/// Builds the kernel of most guests, or finds it built.
///
/// # Errors
/// [`MachineError::Boot`] when it cannot be.
pub fn build(request: &BuildRequest, watch: &dyn Watch) -> Result<(Kernel, PathBuf), MachineError> {
    check_version(request)?;
    let folder = LabFolder::open(request.folder.as_deref())?;
    let tree = tree(request, &folder, watch)?;
    let build = Build::new(&tree, Configuration::Small, &folder, request.jobs, watch)?;
    Ok((build.kernel()?, build.log().to_owned()))
}

pub(super) fn tree(
    request: &BuildRequest,
    folder: &LabFolder,
    watch: &dyn Watch,
) -> Result<KernelTree, MachineError> {
    Ok(match &request.kernel_tree {
        Some(tree) => KernelTree::of_user(tree)?,
        None => {
            let version = request.version.as_deref().unwrap_or(idlewise_boot::DEFAULT_VERSION);
            KernelTree::of_debian(folder, version, watch)?
        }
    })
}

/// Refuses a version that no kernel of Debian's can have, before anything is fetched.
pub(super) fn check_version(request: &BuildRequest) -> Result<(), BootError> {
    request.version.as_deref().map_or(Ok(()), idlewise_boot::check_version)
}

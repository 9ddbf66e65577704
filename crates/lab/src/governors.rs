// SPDX-License-Identifier: GPL-2.0-only
//! Which governors a request means: ours by id, the user's by path, those of kernel trees by version.

use std::path::PathBuf;

use idlewise_governor::{Governor, Spec, expand};
use serde::Serialize;

use crate::LabError;
use crate::candidate::Candidate;
pub use crate::candidate::ORACLE;
use crate::limits;

/// Where a governor that is none of ours came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForeignHead {
    /// What it is called here.
    pub governor: String,
    /// Its file.
    pub file: String,
    /// Version of the kernel tree around the file.
    pub kernel: Option<String>,
    /// XXH3-128 of the file and the headers beside it.
    pub hash: String,
}

/// All governors that `text` means; several where it names a whole kernel tree (`linux:6.12`).
///
/// # Errors
/// [`LabError::Governor`] when there is none, or one does not compile.
pub fn find_all(text: &str, trees: &[PathBuf]) -> Result<Vec<Governor>, LabError> {
    let spec: Spec = text.parse()?;
    expand(&spec, trees)?.iter().map(|spec| Ok(Governor::find(spec)?)).collect()
}

/// The one governor that `text` means.
///
/// # Errors
/// As [`find_all`], and where it means several.
pub fn find_one(text: &str, trees: &[PathBuf]) -> Result<Governor, LabError> {
    let mut specs = expand(&text.parse()?, trees)?;
    match (specs.pop(), specs.is_empty()) {
        (Some(spec), true) => Ok(Governor::find(&spec)?),
        _ => Err(LabError::Request(format!(
            "governor `{text}`: that is a whole kernel tree; write {text}/GOVERNOR for one of it"
        ))),
    }
}

/// The candidates of a request, each with a name of its own.
pub(crate) fn candidates(names: &[String], trees: &[PathBuf]) -> Result<Vec<Candidate>, LabError> {
    if names.is_empty() {
        return Err(LabError::Request("no governor given".to_owned()));
    }
    let mut out: Vec<Candidate> = Vec::new();
    for name in names {
        if name == ORACLE {
            out.push(Candidate::Oracle);
            continue;
        }
        let (spec, limits) = limits::split(name)?;
        for governor in find_all(&spec, trees)? {
            // Two trees of one version, or a patched copy of a tree: then paths tell them apart.
            let label = limits::join(&governor.label(), limits);
            let path = limits::join(&governor.spec().to_string(), limits);
            let taken = out.iter().any(|c| c.name() == label && !c.is_called(&path));
            let name = if taken { path } else { label };
            out.push(Candidate::Hosted { governor, name, limits });
        }
    }
    Ok(out)
}

/// Which of the candidates the others are compared with.
pub(crate) fn baseline(name: Option<&str>, candidates: &[Candidate]) -> Result<usize, LabError> {
    let Some(name) = name else { return Ok(0) };
    candidates.iter().position(|c| c.is_called(name)).ok_or_else(|| {
        let names: Vec<&str> = candidates.iter().map(Candidate::name).collect();
        LabError::Request(format!("baseline {name} is not among the governors: {}", names.join(", ")))
    })
}

/// Where those that are none of ours came from.
pub(crate) fn foreign<'c>(candidates: impl IntoIterator<Item = &'c Candidate>) -> Vec<ForeignHead> {
    let head = |c: &Candidate| match c {
        Candidate::Hosted { governor, name, .. } => Some(ForeignHead {
            governor: name.clone(),
            file: governor.file().map(|_| governor.spec().id.clone())?,
            kernel: governor.kernel(),
            hash: governor.source_hash()?,
        }),
        Candidate::Oracle => None,
    };
    candidates.into_iter().filter_map(head).collect()
}

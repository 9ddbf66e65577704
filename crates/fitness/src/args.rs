// SPDX-License-Identifier: GPL-2.0-only
//! The arguments of `idlewise fitness`, but for where its result goes.

use std::path::PathBuf;

use clap::Args;
use idlewise_check::Property;
use idlewise_corpus::Split;

use crate::FitnessRequest;

/// A governor, and what it is judged on.
#[derive(Debug, Args)]
pub struct FitnessArgs {
    /// The governor: a C file, one of ours, linux:6.12/teo
    ///
    /// With optional parameters.
    #[arg(value_name = "GOVERNOR")]
    governor: String,
    /// The folder of the corpus
    #[arg(short, long, value_name = "DIR", default_value = "corpus")]
    corpus: PathBuf,
    /// The part of it: train, validation or test
    ///
    /// Each machine belongs to one. What was made with the recordings of one part is judged on another.
    #[arg(long, value_name = "SPLIT", default_value = "validation")]
    split: Split,
    /// Properties that it may violate, such as those of Linux
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    despite: Vec<Property>,
    /// Which sequences are checked, and the governor's random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A kernel tree, whose governors may be named
    #[arg(long, value_name = "DIR")]
    kernel_tree: Vec<PathBuf>,
}

impl FitnessArgs {
    #[must_use]
    pub fn request(&self) -> FitnessRequest {
        FitnessRequest {
            governor: self.governor.clone(),
            corpus: self.corpus.clone(),
            split: self.split,
            kernel_trees: self.kernel_tree.clone(),
            despite: self.despite.clone(),
            seed: self.seed,
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The `idlewise` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    idlewise_cli::main()
}

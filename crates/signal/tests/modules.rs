// SPDX-License-Identifier: GPL-2.0-only
//! Is what goes into a kernel beside the governors written as they are? That it compiles is tested in `crates/boot`.

use idlewise_checkout::{kernel_style, root};

#[test]
fn kernel_code_beside_governors_is_written_as_they_are() {
    for folder in ["kernel/modules", "kernel/overlay/idlewise"] {
        let folder = root().join(folder);
        kernel_style::every_file_opens_with_its_licence_and_says_what_it_is(&folder);
        kernel_style::kernel_style(&folder);
    }
}

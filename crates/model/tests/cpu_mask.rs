// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::CpuMask;

#[test]
fn a_mask_keeps_the_cpus_below_256_and_says_that_there_were_more() {
    let mask: CpuMask = [0, 33, 64, 255].into_iter().collect();
    assert_eq!(mask.iter().collect::<Vec<_>>(), [0, 33, 64, 255]);
    assert!(!mask.beyond());
    let more: CpuMask = [256, 65_535].into_iter().collect();
    assert_eq!(more.iter().count(), 0);
    assert!(more.beyond());
}

#[test]
fn it_is_printed_as_the_kernel_prints_it() {
    let text = |cpus: &[u32]| cpus.iter().copied().collect::<CpuMask>().to_string();
    assert_eq!(text(&[1]), "00000000,00000002");
    assert_eq!(text(&[63, 64]), "00000000,00000001,80000000,00000000");
    assert_eq!(text(&[]), "00000000,00000000");
}

// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{CpuListError, cpu_list, cpu_ranges, parse_cpu_list};

#[test]
fn a_list_is_read_as_it_is_printed() {
    for list in ["0", "0-3,6", "4-5,0", "65535"] {
        assert_eq!(parse_cpu_list(list).map(|cpus| cpu_list(&cpus)).as_deref(), Ok(list));
    }
    assert_eq!(parse_cpu_list(" 0 - 2 , 6\n"), Ok(vec![0, 1, 2, 6]));
    assert_eq!(cpu_list(&[]), "");
}

#[test]
fn parts_that_are_no_cpus_can_be_left_out() {
    let some = |list: &str| cpu_ranges(list).flatten().flatten().collect::<Vec<u32>>();
    assert_eq!(some("0-1,x,5-4,,7\n"), [0, 1, 7]);
    assert!(some("\n").is_empty());
}

#[test]
fn what_is_no_list_is_refused() {
    for list in ["", "a", "1,", "1-", "-1", "65536", "0-4294967295"] {
        assert_eq!(parse_cpu_list(list), Err(CpuListError::NoList(list.to_owned())), "{list}");
    }
    assert_eq!(parse_cpu_list("1,3-2"), Err(CpuListError::Backwards("3-2".to_owned())));
    let many = "0-65535,0";
    assert_eq!(parse_cpu_list(many), Err(CpuListError::TooMany(many.to_owned())));
}

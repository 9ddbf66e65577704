// SPDX-License-Identifier: GPL-2.0-only
//! Are idle states of a device tree's source read by the kernel's rules?

use idlewise_checkout::shared;
use idlewise_platform::{Flag, Platform};

const STATES: &str = "idle-states {
    entry-method = \"psci\";
    ret: cpu-retention {
        compatible = \"arm,idle-state\";
        arm,psci-suspend-param = <0x00010001>;
        local-timer-stop;
        entry-latency-us = <20>; exit-latency-us = <40>; min-residency-us = <80>;
    };
    off: cpu-power-down-that-is-deep { /* both */
        compatible = \"arm,idle-state\"; idle-state-name = \"core off\";
        entry-latency-us = <(SLOW)>; exit-latency-us = <0x100>; wakeup-latency-us = <350>; min-residency-us = <1500>;
    };
};";

fn cpu(number: u32, states: &str) -> String {
    format!(
        "cpu{number}: cpu@{number} {{ device_type = \"cpu\"; reg = <{number}>; cpu-idle-states = <{states}>; }};\n"
    )
}

fn times(p: &Platform, cluster: usize) -> Vec<(&str, i64, i64, i64)> {
    let states = p.clusters[cluster].table.states().iter();
    states
        .map(|s| (s.name.as_str(), s.exit_latency_ns / 1000, s.entry_ns / 1000, s.target_residency_ns / 1000))
        .collect()
}

#[test]
fn each_cpu_has_its_states_behind_wfi() {
    let text = format!(
        "/dts-v1/;\n#include \"soc.dtsi\"\n#define SLOW 150 // us\n/ {{ #address-cells = <1>; cpus {{ {STATES}\n{}{}{} }}; }};\n",
        cpu(0, "&ret"),
        cpu(1, "&ret &off"),
        cpu(2, "&ret>, <&off")
    );
    let p = Platform::from_device_tree(&text, "board.dts").unwrap();
    assert_eq!(p.clusters.iter().map(|c| c.cpus.clone()).collect::<Vec<_>>(), [vec![0], vec![1, 2]]);
    // Entry and exit together, or the wakeup latency where the tree has one.
    let (wfi, ret) = (("WFI", 1, 0, 1), ("cpu-retention", 60, 20, 80));
    assert_eq!(times(&p, 0), [wfi, ret]);
    assert_eq!(times(&p, 1), [wfi, ret, ("cpu-power-down-", 350, 150, 1500)]);
    assert_eq!(p.clusters[0].info[1].flags, [Flag::TimerStop]);
    assert_eq!(p.clusters[1].info[2].desc, "core off");
    assert_eq!(Platform::from_toml(&p.to_toml(), "x.toml").unwrap().clusters[1].table, p.clusters[1].table);
}

#[test]
fn a_fragment_has_one_table_for_any_machine() {
    let p = Platform::from_device_tree(&STATES.replace("(SLOW)", "9"), "soc.dtsi").unwrap();
    assert!(p.any_cpu() && p.notes.iter().any(|n| n.contains("no CPUs")), "{:?}", p.notes);
    assert_eq!(times(&p, 0).len(), 3);
}

#[test]
fn extensions_disabled_states_and_power_domains_count() {
    let domains = "psci { cpu_pd: power-domain-cpu { #power-domain-cells = <0>; domain-idle-states = <&off>; }; \
        system: system-sleep { compatible = \"domain-idle-state\"; entry-latency-us = <1>; exit-latency-us = <2>; min-residency-us = <9000>; }; };";
    let base =
        format!("/ {{ cpus {{ {} {} }}; {domains} }};\n", STATES.replace("(SLOW)", "9"), cpu(0, "&ret &off"));
    let names = |text: &str| {
        let p = Platform::from_device_tree(text, "b.dts").unwrap_or_else(|e| panic!("{e}"));
        times(&p, 0).iter().map(|s| s.0.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&base), ["WFI", "cpu-retention", "cpu-power-down-"]);
    assert_eq!(names(&(base.clone() + "&ret { status = \"disabled\"; };")), ["WFI", "cpu-power-down-"]);
    assert_eq!(names(&(base.clone() + "&cpu0 { power-domains = <&cpu_pd>; };")), ["WFI", "cpu-power-down-"]);
    let p =
        Platform::from_device_tree(&(base.clone() + "&ret { exit-latency-us = <60>; };"), "b.dts").unwrap();
    assert_eq!(times(&p, 0)[1], ("cpu-retention", 80, 20, 80));
    assert!(p.notes.iter().any(|n| n.ends_with("system-sleep")), "{:?}", p.notes);
}

#[test]
fn what_is_no_table_says_why() {
    let base =
        |states: &str, cpu_states: &str| format!("/ {{ cpus {{ {states} {} }}; }};", cpu(0, cpu_states));
    let states = STATES.replace("(SLOW)", "9");
    for (text, why) in [
        (base(&states, "&other"), "&other is not in the text"),
        (base(&states.replace("min-residency-us = <80>;", ""), "&ret"), "cpu-retention: no min-residency-us"),
        (base(&states.replace("<40>", "<UNKNOWN>"), "&ret"), "exit-latency-us is no number"),
        (base(&states.replace("<40>", "<5000000000>"), "&ret"), "exit-latency-us is no number"),
        (base(&states.replace("<80>", "<5000>"), "&ret &off"), "below the previous state's"),
        ("/dts-v1/; / { cpus { cpu@0 { device_type = \"cpu\"; }; }; };".to_owned(), "no idle states"),
        ("/dts-v1/; / { cpus {".to_owned(), "is the text cut short?"),
        ("/dts-v1/; };".to_owned(), "a } without a {"),
    ] {
        let error = Platform::from_device_tree(&text, "b.dts").unwrap_err().to_string();
        assert!(error.starts_with("b.dts: ") && error.contains(why), "{error}");
    }
}

#[test]
fn the_board_of_a_mailing_list_is_read() {
    let path = shared().join("cases/idle-states-of-a-device-tree/board.dts");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no {} (IDLEWISE_SHARED, else ../shared)", path.display());
        return;
    };
    let p = idlewise_platform::find(path.to_str().unwrap()).unwrap();
    assert!(Platform::is_device_tree(&text));
    assert_eq!(times(&p, 0), [("WFI", 1, 0, 1), ("cpu-retention", 195, 55, 780)]);
    assert_eq!(
        (p.clusters[0].cpus.as_slice(), &p.clusters[0].info[1].flags[..]),
        (&[0, 1][..], &[Flag::TimerStop][..])
    );
}

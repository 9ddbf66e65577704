// SPDX-License-Identifier: GPL-2.0-only
//! Do platforms become machines that a kernel understands?

use std::fs;
use std::process::Command;

use idlewise_boot::{IdleDriver, Machine, WINDOW};
use idlewise_platform::{Platform, find, shipped};

fn machine(platform: &str, driver: IdleDriver) -> Machine {
    Machine::new(&find(platform).unwrap(), None, driver, 0, WINDOW).unwrap()
}

fn refused(platform: &str, cpus: Option<u32>, driver: IdleDriver, reject: u32) -> String {
    Machine::new(&find(platform).unwrap(), cpus, driver, reject, WINDOW).unwrap_err().to_string()
}

#[test]
fn a_platform_becomes_the_parameter_of_the_synthetic_driver() {
    let pixel = machine("pixel6", IdleDriver::Synth);
    assert_eq!(pixel.cpus, 8);
    assert_eq!(
        pixel.parameters(),
        "cpuidle_synth.tables=0-3=WFI:0:1000:1000,c2:70000:160000:2000000\
         /4-5=WFI:0:1000:1000,c2:150000:190000:2500000/6-7=WFI:0:1000:1000,c2:235000:220000:3500000"
    );
    let server = machine("skylake-sp", IdleDriver::Synth);
    assert_eq!(server.cpus, 4);
    assert!(
        server.parameters().starts_with("cpuidle_synth.tables=0-3=POLL:0:0:0,"),
        "{}",
        server.parameters()
    );
}

#[test]
fn psci_has_states_in_the_device_tree_and_no_parameter() {
    let pixel = machine("pixel6", IdleDriver::Psci);
    assert_eq!(pixel.parameters(), "");
    for line in [
        "idle-states {",
        "entry-method = \"psci\";",
        "entry-latency-us = <70>;",
        "exit-latency-us = <160>;",
        "min-residency-us = <2000>;",
        "local-timer-stop;",
        "capacity-dmips-mhz = <160>;",
        "cpu-idle-states = <&idle_2_1>;",
    ] {
        assert!(pixel.device_tree().contains(line), "{line} is missing:\n{}", pixel.device_tree());
    }
}

#[test]
fn operating_points_come_with_the_powers_of_the_energy_model() {
    let kinds = |id: &str, cpus| {
        let machine = Machine::new(&find(id).unwrap(), cpus, IdleDriver::Synth, 0, WINDOW).unwrap();
        assert_eq!(machine.has_frequencies(), !machine.frequencies().is_empty());
        machine.frequencies().to_owned()
    };
    let pixel = kinds("pixel6", None);
    assert!(pixel.starts_with("0-3:0:300000/7560,574000/18688,"), "{pixel}");
    assert!(pixel.ends_with(",2704000/1868260,2802000/2007983"), "{pixel}");
    let rk3399 = kinds("rk3399", None);
    assert!(rk3399.starts_with("0-3:0:408000/27769,"), "{rk3399}");
    assert!(rk3399.contains(",1416000/179212;4-5:0:408000/121075,"), "{rk3399}");
    // A clock for each CPU, no published power.
    let desktop = kinds("sandy-bridge", Some(2));
    assert!(
        desktop.starts_with("0:0:1600000,1700000,") && desktop.contains(",3401000;1:0:1600000,"),
        "{desktop}"
    );
    assert_eq!(kinds("sandy-bridge", Some(8)), "", "more than a parameter holds");
    assert_eq!(kinds("skylake-sp", None), "");
}

#[test]
fn what_cannot_be_a_guest_is_refused_with_the_reason() {
    let why = refused("skylake-sp", None, IdleDriver::Psci, 0);
    assert!(why.contains("use the synthetic driver"), "{why}");
    let why = refused("skylake-sp", Some(9), IdleDriver::Synth, 0);
    assert!(why.contains("at most 8"), "{why}");
    let why = refused("rk3399", Some(7), IdleDriver::Synth, 0);
    assert!(why.contains("it has 6 CPUs"), "{why}");
    let why = refused("rk3399", None, IdleDriver::Psci, 10);
    assert!(why.contains("only the synthetic driver refuses"), "{why}");
    // Its s2idle has a residency of an hour, and more: the driver would refuse the whole table, and the guest run without idle states.
    let why = refused("mt8196", None, IdleDriver::Synth, 0);
    for part in ["s2idle of little", "3600 s", "--driver psci", "platform show mt8196 --toml"] {
        assert!(why.contains(part), "no {part} in {why}");
    }
    assert_eq!(machine("mt8196", IdleDriver::Psci).cpus, 8);
}

fn machines_of(platform: &Platform) -> Vec<Machine> {
    [IdleDriver::Synth, IdleDriver::Psci]
        .into_iter()
        .filter_map(|driver| Machine::new(platform, None, driver, 0, WINDOW).ok())
        .collect()
}

#[test]
fn the_device_tree_of_every_machine_compiles() {
    if Command::new("dtc").arg("--version").output().is_err() {
        eprintln!("skipped: dtc is not installed (apt-get install device-tree-compiler)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut compiled = 0;
    for (id, _) in shipped() {
        for machine in machines_of(&find(id).unwrap()) {
            let source = folder.path().join("overlay.dts");
            fs::write(&source, machine.device_tree()).unwrap();
            let out = Command::new("dtc")
                // The sizes are those of the tree beneath, which dtc does not see here.
                .args([
                    "-@",
                    "-W",
                    "no-avoid_unnecessary_addr_size",
                    "-I",
                    "dts",
                    "-O",
                    "dtb",
                    "-o",
                    "/dev/null",
                ])
                .arg(&source)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{id}: {said}\n{}", machine.device_tree());
            assert_eq!(said, "", "{id}:\n{}", machine.device_tree());
            compiled += 1;
        }
    }
    assert!(compiled > 30, "{compiled}");
}

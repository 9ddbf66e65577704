// SPDX-License-Identifier: GPL-2.0-only
//! Does every machine that comes with idlewise hold together, and say what its sources say?

use std::path::PathBuf;

use idlewise_platform::{EnergyGrade, Origin, Platform, PlatformError, Severity, cpu_list, find, shipped};

/// A file of the public recordings, where this machine has them.
fn shared(path: &str) -> Option<PathBuf> {
    let file = idlewise_checkout::shared().join(path);
    if !file.exists() {
        eprintln!("skipped: {path} is not here (set IDLEWISE_SHARED)");
        return None;
    }
    Some(file)
}

#[test]
fn every_file_parses_checks_and_round_trips() {
    assert!(shipped().len() >= 15);
    for (id, text) in shipped() {
        let platform = find(id).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(platform.id, *id, "the id is the file's name");
        assert_eq!(platform.origin, Origin::Shipped);
        assert!(!platform.sources.is_empty() && !platform.hz_note.is_empty(), "{id}");
        assert!(platform.clusters.iter().all(|c| !c.source.is_empty()), "{id}");
        for finding in platform.check() {
            assert!(finding.severity == Severity::Note, "{id}: {finding:?}");
        }
        let first = Platform::from_toml(text, id).unwrap();
        let again = Platform::from_toml(&first.to_toml(), id).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(first, again, "{id}");
    }
}

#[test]
fn every_target_residency_is_a_break_even_and_deeper_never_draws_more() {
    for (id, _) in shipped() {
        for c in find(id).unwrap().clusters {
            let (states, energy) = (c.table.states(), &c.energy);
            assert_eq!(states.len(), energy.states.len());
            assert_eq!(states.len(), c.info.len());
            for j in 1..states.len() {
                let t = states[j].target_residency_ns.unsigned_abs();
                let entry = |i: usize| states[i].entry_ns.unsigned_abs();
                assert_eq!(
                    energy.stay_fj(j - 1, t, entry(j - 1)),
                    energy.stay_fj(j, t, entry(j)),
                    "{id} {} state {j}",
                    c.name
                );
                assert!(energy.states[j].power_uw <= energy.states[j - 1].power_uw, "{id}");
                assert!(energy.states[j].transition_fj >= energy.states[j - 1].transition_fj, "{id}");
            }
            assert!(energy.active_power_uw >= energy.states[0].power_uw, "{id}");
            assert_eq!(energy.unit() == "mJ", energy.grade.in_watts());
            assert!(!energy.basis.is_empty());
        }
    }
}

#[test]
fn pixel6_draws_what_its_published_curves_say() {
    let p = find("pixel6").unwrap();
    assert_eq!((p.hz, p.tick_ns(), p.cpu_count()), (Some(250), Some(4_000_000), 8));
    let by_cluster: Vec<_> = p.clusters.iter().map(|c| (cpu_list(&c.cpus), c.capacity)).collect();
    assert_eq!(by_cluster, [("0-3".into(), 160), ("4-5".into(), 498), ("6-7".into(), 1024)]);
    assert_eq!(p.cluster_of(5).unwrap().name, "MID");
    assert_eq!(p.cluster_index_of(7), Some(2));
    assert!(p.cluster_of(8).is_none());
    let big = p.cluster_of(6).unwrap();
    assert_eq!(big.energy.unit(), "mJ");
    assert_eq!((big.energy.states[0].power_uw, big.energy.states[1].power_uw), (20_550, 0));
    assert_eq!(big.energy.active_power_uw, 207_430);
    // 20.55 mW for 3.5 ms.
    assert_eq!(big.energy.states[1].transition_fj, 71_925_000_000);
    assert_eq!(big.table.states()[1].exit_ns(), 220_000);
    let top = big.energy_at(2_802_000).unwrap().unwrap();
    assert_eq!((top.states[0].power_uw, top.active_power_uw), (121_430, 1_942_890));
    assert!(big.energy_at(1).unwrap().unwrap_err().to_string().starts_with("the curve has no row at 1 kHz"));
    assert_eq!(
        big.energy.basis,
        "Perfetto Wattson curves, c2 taken as the zero at 984.000 MHz; transition energy makes each target \
         residency the exact break-even"
    );
}

/// Watts that nobody measured come from what is rated or posted of the package as a whole, and say so.
#[test]
fn assumed_powers_add_up_to_what_is_rated_or_posted_of_the_package() {
    let rated = [
        ("kaby-lake-15w", 2, 2_700_000, 15.0),
        ("broadwell-ep-2690v4", 14, 2_600_000, 135.0),
        ("ice-lake-8358", 32, 2_600_000, 250.0),
        // An i5-9600K with all of its six cores busy.
        ("comet-lake-10600k", 6, 3_700_000, 72.7),
        ("comet-lake-10600k", 6, 4_200_000, 116.0),
    ];
    for (id, cores, khz, watts) in rated {
        let p = find(id).unwrap();
        let cluster = &p.clusters[0];
        assert_eq!((cluster.energy.grade, cluster.threads()), (EnergyGrade::Assumed, 2), "{id}");
        assert_eq!(cluster.cpus.len(), 2 * cores, "{id}");
        let core = cluster.energy_at(khz).unwrap().unwrap().active_power_uw;
        let package = p.package.as_ref().unwrap().awake_uw + core * cores as u64;
        assert!((package as f64 / 1e6 / watts - 1.0).abs() < 0.01, "{id}: {package} uW at {khz} kHz");
        assert!(p.limits.is_some() && p.notes.iter().any(|n| n.contains("interval")), "{id}");
    }
    let p = find("comet-lake-10600k").unwrap();
    let package = p.package.as_ref().unwrap();
    let states = &p.clusters[0].energy.states;
    assert_eq!(package.awake_uw + 12 * states[1].power_uw, 2_600_000, "C1 alone");
    assert_eq!(package.deepest_uw() + 12 * states[3].power_uw, 1_400_000, "all states");
}

#[test]
fn shared_power_is_split_where_the_file_says_so() {
    let p = find("rk3399").unwrap();
    let (a53, a72) = (&p.clusters[0], &p.clusters[1]);
    let powers =
        |c: &idlewise_platform::Cluster| c.energy.states.iter().map(|s| s.power_uw).collect::<Vec<_>>();
    assert_eq!(powers(a53), [4000 + 7000 / 4, 6000 / 4, 0]);
    assert_eq!(powers(a72), [24_000 + 10_000 / 2, 9000 / 2, 0]);
    assert_eq!(a53.energy.active_power_uw, 55_000 + 10_000 / 4);
    assert_eq!((a53.energy.unit(), a53.energy.grade), ("rel", EnergyGrade::PublishedRelative));
    assert!(a53.energy.basis.contains("split evenly over 4 CPUs"));
}

#[test]
fn a_machine_of_any_size_takes_any_cpu() {
    let p = find("skylake-sp").unwrap();
    assert!(p.any_cpu());
    assert_eq!(p.cluster_index_of(700), Some(0));
    assert_eq!(p.cpu_count(), 32);
    assert_eq!(p.clusters[0].energy.grade.label(), "relative, derived from break-even");
    assert!(p.clusters[0].table.states()[0].polling);
    assert_eq!(p.clusters[0].energy.states[0].power_uw, p.clusters[0].energy.active_power_uw);
}

#[test]
fn odd_but_legal_tables_are_pointed_out() {
    let texts = |id: &str| {
        find(id).unwrap().check().into_iter().map(|f| f.place + ": " + &f.message).collect::<Vec<_>>()
    };
    assert_eq!(
        texts("hikey960"),
        [
            "A73, state 2 (cluster-sleep): exit latency 3700 us is above target residency 3500 us (legal; some machines have it)"
        ]
    );
    assert_eq!(
        texts("sandy-bridge"),
        [
            "all, state 5 (C7): same target residency as C6: only latency tells them apart",
            "all, clock: no power is published: running is estimated as f V^2, sleeping as V^2",
        ]
    );
    assert_eq!(texts("alder-lake"), ["all, state 1 (C1): disabled from the start"]);
    assert_eq!(
        texts("rk3399"),
        [
            "A53, clock: rows of the power curve that are no operating points: 1512000 kHz",
            "A72, clock: rows of the power curve that are no operating points: 2016000 kHz",
        ]
    );
    assert!(texts("mt8196").iter().any(|t| t.contains("taken as one hour")));
}

#[test]
fn an_unknown_name_gets_the_nearest_or_the_command_that_lists_all() {
    let message = |name: &str| find(name).unwrap_err().to_string();
    let m = message("pixle6");
    assert_eq!(m, "no platform `pixle6`, and no file of that name (did you mean `pixel6`?)");
    assert!(message("skylake-x").contains("did you mean `skylake"), "{}", message("skylake-x"));
    assert!(message("RK3399").contains("did you mean `rk3399"), "{}", message("RK3399"));
    let said = message("qqqqqqqq");
    assert!(
        said.starts_with("no platform `qqqqqqqq`, and no file of that name; `idlewise platform list`"),
        "{said}"
    );
    assert!(matches!(find("no/such/file.toml"), Err(PlatformError::Read { .. })));
    assert!(matches!(find(""), Err(PlatformError::Unknown { .. })));
}

/// The same numbers, read from the sources a second time.
#[test]
fn the_numbers_are_those_of_the_sources() {
    let mut compared = 0;
    for row in include_str!("idle_tables.csv").lines().skip(2) {
        let f: Vec<&str> = row.split(',').collect();
        let platform = find(f[0]).unwrap_or_else(|e| panic!("{row}: {e}"));
        for c in platform.clusters.iter().filter(|c| f[1] == "all" || c.name == f[1]) {
            // The rows leave out states that start disabled.
            let states: Vec<_> = c.table.states().iter().filter(|s| !s.disabled).collect();
            let s = states[f[2].parse::<usize>().unwrap()];
            let word = |t: &str| t.to_lowercase().replace('_', " ");
            let name = word(f[3]);
            assert!(word(&s.name).starts_with(&name), "{row}: {}", s.name);
            let us = |i: usize| f[i].parse::<i64>().unwrap_or(0) * 1000;
            assert_eq!((s.exit_latency_ns, s.target_residency_ns), (us(4), us(5)), "{row}");
            assert_eq!((s.entry_ns, s.polling), (us(6), f[7] == "1"), "{row}");
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared}");
}

#[test]
fn the_tables_are_those_of_real_machines() {
    let Some(file) = shared("traces/sysfs/idle_states_35_machines.csv") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    // Not among them: machines whose firmware limits package C6, for which the driver changes C6.
    let machines = [
        ("bdw0", "broadwell-ep", 4),
        ("hswep0", "haswell-ep", 4),
        ("ivbep1", "ivy-bridge-ep", 4),
        ("dnv0", "denverton", 3),
        ("aml-y-2", "skylake", 8),
        ("sklep0", "skylake-sp", 3),
        ("icx2s0", "ice-lake-sp", 3),
        ("spr1", "sapphire-rapids", 3),
        ("gnr0", "granite-rapids", 4),
        ("srf8", "sierra-forest", 4),
        ("emr0", "sapphire-rapids", 3),
        ("lnl0", "lunar-lake", 3),
        ("turin0", "zen5-server", 2),
    ];
    for (machine, id, deepest) in machines {
        let platform = find(id).unwrap();
        let states = platform.clusters[0].table.states();
        let rows: Vec<_> = text.lines().filter(|l| l.starts_with(&format!("{machine},"))).collect();
        assert_eq!(rows.len(), deepest + 1, "{machine}");
        for (row, s) in rows.iter().zip(states) {
            let f: Vec<&str> = row.rsplitn(10, ',').collect();
            let us = |ns: i64| (ns / 1000).to_string();
            assert_eq!((f[7], f[6]), (&*us(s.exit_latency_ns), &*us(s.target_residency_ns)), "{row}");
        }
    }
}

#[test]
fn caches_are_shared_as_the_machine_says() {
    let caches =
        |id: &str, cpus: [u32; 4]| cpus.map(|cpu| idlewise_platform::find(id).unwrap().cache_of(cpu));
    let [first, near, far, beyond] = caches("power9", [0, 7, 8, 4000]);
    assert!(first.is_some() && first == near && near != far && far.is_some() && beyond != far);
    let [little, also, mid, none] = caches("pixel6", [0, 3, 4, 8]);
    assert!(little == also && little != mid && none.is_none(), "a cache for each cluster");
    let [one, other, ..] = caches("jasper-lake", [0, 3, 1, 2]);
    assert!(one.is_some() && one == other);
}

/// What a conversion writes next to its file is a machine, too.
#[test]
fn the_machine_of_a_recordings_description_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.toml");
    let found = |text: &str| {
        std::fs::write(&file, text).unwrap();
        idlewise_platform::find(file.to_str().unwrap())
    };
    let pixel6 = idlewise_platform::find("pixel6").unwrap();
    let mut whole = toml::Table::new();
    whole.insert("governor".to_owned(), "menu".into());
    whole.insert("machine".to_owned(), pixel6.to_toml().parse::<toml::Table>().unwrap().into());
    let described = found(&toml::to_string(&whole).unwrap()).unwrap();
    assert_eq!(described.clusters, pixel6.clusters);
    assert_eq!(found("platform = \"pixel6\"\ngovernor = \"menu\"\n").unwrap().clusters, pixel6.clusters);
    let why = found("platform = \"none\"\n").unwrap_err().to_string();
    assert!(why.contains("unknown field `platform`"), "{why}");
    for packed in [&b"\x1f\x8b\x08"[..], b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"] {
        std::fs::write(&file, packed).unwrap();
        let why = idlewise_platform::find(file.to_str().unwrap()).unwrap_err().to_string();
        assert!(why.contains("compressed; unpack it first"), "{why}");
    }
}

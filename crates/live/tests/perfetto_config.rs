// SPDX-License-Identifier: GPL-2.0-only
//! Is the configuration for Perfetto one by Perfetto's own schema, and does it fit the device?

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use idlewise_live::perfetto_config::{BUFFER_MIB, LENGTH, perfetto_config};
use idlewise_platform::find;
use serde_json::Value;

/// Reads a text as a `TraceConfig`, prints its fields, and which events Perfetto has messages for.
const SCRIPT: &str = "
import json, sys
from google.protobuf import json_format, text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
it = text_format.Parse(sys.stdin.read(), pb.TraceConfig())
known = {f.name for f in pb.FtraceEvent.DESCRIPTOR.fields}
fields = json_format.MessageToDict(it, preserving_proto_field_name=True)
names = [name.split('/')[1] for name in it.data_sources[0].config.ftrace_config.ftrace_events]
print(json.dumps({'config': fields, 'described': [name for name in names if name in known]}))
";

/// As Perfetto's own messages read it; nothing without them.
fn read_by_perfetto(text: &str) -> Option<Value> {
    let folder = std::env::var_os("IDLEWISE_PYTHON_PERFETTO").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-perfetto"),
        PathBuf::from,
    );
    let python = folder.join("bin/python");
    if !python.is_file() {
        println!("skipped: no Perfetto in Python (tools/python-perfetto.sh)");
        return None;
    }
    let piped = || Stdio::piped();
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(piped())
        .stdout(piped())
        .stderr(piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}\n{text}", String::from_utf8_lossy(&out.stderr));
    Some(serde_json::from_slice(&out.stdout).unwrap())
}

#[test]
fn it_is_a_configuration_by_perfettos_own_schema() {
    let text = perfetto_config(&find("pixel6").unwrap(), Duration::from_secs(30), BUFFER_MIB);
    let Some(read) = read_by_perfetto(&text) else { return };
    let config = &read["config"];
    assert_eq!(config["duration_ms"], 30_000);
    assert_eq!(config["write_into_file"], true);
    assert_eq!(config["data_sources"].as_array().unwrap().len(), 1);
    let source = &config["data_sources"][0]["config"];
    assert_eq!(source["name"], "linux.ftrace");
    let ftrace = &source["ftrace_config"];
    assert_eq!(ftrace["symbolize_ksyms"], true);
    let events: Vec<&str> =
        ftrace["ftrace_events"].as_array().unwrap().iter().map(|e| e.as_str().unwrap()).collect();
    for wanted in [
        "power/cpu_idle",
        "power/cpu_idle_miss",
        "power/cpu_frequency",
        "sched/sched_switch",
        "sched/sched_waking",
        "timer/hrtimer_start",
        "timer/tick_stop",
        "irq/irq_handler_entry",
        "ipi/ipi_raise",
        "irq_vectors/*",
    ] {
        assert_eq!(events.iter().filter(|e| **e == wanted).count(), 1, "{wanted} in {events:?}");
    }
    assert!(events.iter().all(|e| e.split('/').count() == 2 && !e.starts_with("idlewise")), "{events:?}");
    // Perfetto has messages for most; the others come with a description of their own.
    assert!(read["described"].as_array().unwrap().len() > 20, "{read}");
}

#[test]
fn buffers_fit_the_device() {
    let read = |name: &str, buffer_mib: u64| {
        let platform = find(name).unwrap();
        let read = read_by_perfetto(&perfetto_config(&platform, LENGTH, buffer_mib))?;
        let ftrace = &read["config"]["data_sources"][0]["config"]["ftrace_config"];
        let number = |v: &Value| v.as_u64().unwrap();
        Some((
            platform.cpu_count() as u64,
            number(&read["config"]["buffers"][0]["size_kb"]),
            number(&ftrace["buffer_size_kb"]),
            number(&ftrace["drain_period_ms"]),
        ))
    };
    for (name, buffer_mib) in [("pixel6", 16), ("rk3399", 16), ("pixel6", 4), ("pixel6", 1), ("pixel6", 1024)]
    {
        let Some((cpus, service, kernel, period)) = read(name, buffer_mib) else { return };
        assert_eq!(kernel, buffer_mib * 1024);
        // 20,000 events of 40 bytes a second on each CPU leave a quarter of the kernel's buffers full, and fit into the service's.
        let comes = 800 * period / 1000;
        assert!(
            comes <= kernel / 4 && (250..=60_000).contains(&period),
            "{name} {buffer_mib}: {comes} of {kernel}"
        );
        assert!(service >= cpus * comes && service <= 512 << 10, "{name} {buffer_mib}: {service}");
    }
}

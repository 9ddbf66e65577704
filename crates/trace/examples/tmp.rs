// SPDX-License-Identifier: GPL-2.0-only
//! x
fn main(){ let p=std::env::args().nth(1).unwrap(); let t0=std::time::Instant::now(); let t=idlewise_trace::TraceFile::open(p.as_ref()).unwrap(); let m=t.meta(); println!("open {:?} {} {} {:?} {:?} {:?}",t0.elapsed(),m.format,m.kernel,m.cpus,m.health,m.notes);
 for _ in 0..100 { let t0=std::time::Instant::now(); let mut e=t.events().unwrap(); let mut s=0u64; let mut n=0u64; for x in e.by_ref() { n+=1; s=s.wrapping_add(x.ts_ns ^ x.pid as u64 ^ match x.kind { idlewise_model::EventKind::HrtimerStart{expires,..}=>expires as u64, _=>0}); } let d=t0.elapsed(); println!("{n} {:?} {s:x} {:.1} M/s",e.health(), n as f64/d.as_secs_f64()/1e6);} }

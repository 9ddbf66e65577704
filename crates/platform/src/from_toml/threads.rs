// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that are threads of one core, and those that share a cache.

use toml::Spanned;

use super::RawCluster;
use super::reader::Reader;
use crate::PlatformError;
use crate::platform::THREADS_MAX;

/// Speed of a thread that shares its core with nobody who is busy, thousandths.
const ALONE: i64 = 1000;

impl Reader<'_> {
    /// The speed of a thread by how many of its core are busy.
    pub(super) fn threads(&self, c: &RawCluster, cpus: usize) -> Result<Vec<u32>, PlatformError> {
        let name = c.name.get_ref();
        let threads = match &c.threads {
            Some(v) => self.number(v, "threads", "threads of a core", 1, THREADS_MAX)?,
            None => 1,
        };
        if let Some(v) = c.threads.as_ref().filter(|_| !cpus.is_multiple_of(threads as usize)) {
            return Err(self.err(
                &v.span(),
                format!("cluster `{name}`: {cpus} CPUs are no whole cores of {threads} threads"),
                "list all threads of each core",
            ));
        }
        let mut speed = vec![ALONE as u32];
        for busy in 2..=threads {
            let given = c.thread_speed.as_ref().and_then(|all| all.get_ref().get(&busy.to_string()));
            let before = speed.last().copied().map_or(ALONE, i64::from);
            let own = match given {
                Some(v) => self.number(v, &format!("thread_speed.{busy}"), "thousandths", 1, ALONE)?,
                None => before,
            };
            if own > before {
                return Err(self.err(
                    &given.map_or(0..0, Spanned::span),
                    format!("cluster `{name}`: {busy} busy threads have {own} each, fewer have {before}"),
                    "a thread is no faster where more of its core are busy",
                ));
            }
            speed.push(own as u32);
        }
        let known = |busy: &str| (2..=threads).any(|n| busy == n.to_string());
        let all = c.thread_speed.iter().flat_map(|all| all.get_ref());
        if let Some((busy, v)) = all.into_iter().find(|(busy, _)| !known(busy)) {
            return Err(self.err(
                &v.span(),
                format!("cluster `{name}`: thread_speed.{busy}, but a core has {threads} threads"),
                "give one for each number of busy threads, from 2 to `threads`",
            ));
        }
        Ok(speed)
    }

    pub(super) fn cache_cpus(&self, c: &RawCluster, cpus: usize) -> Result<Option<usize>, PlatformError> {
        let Some(v) = &c.cache_cpus else { return Ok(None) };
        let own = self.number(v, "cache_cpus", "CPUs of a cache", 1, cpus as i64)? as usize;
        let threads = c.threads.as_ref().map_or(1, |t| (*t.get_ref()).max(1) as usize);
        if own.is_multiple_of(threads) {
            return Ok(Some(own));
        }
        Err(self.err(
            &v.span(),
            format!("cache_cpus is {own}: no whole cores of {threads} threads"),
            "all threads of a core share its caches",
        ))
    }
}

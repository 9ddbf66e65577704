// SPDX-License-Identifier: GPL-2.0-only
use std::io;
use std::path::Path;

use idlewise_conform::own_governor::kernels_own;
use idlewise_governor::Offered;
use idlewise_model::{Piece, PieceStore, Pieces};
use idlewise_recording::{CommandError, Recording, RecordingOptions};

/// One idle period in a block; can be read up to the middle.
#[derive(Debug)]
struct Failing(Vec<Piece>);

impl PieceStore for Failing {
    fn periods(&self) -> usize {
        self.0.len()
    }

    fn blocks(&self) -> usize {
        self.0.len()
    }

    fn read(&self, n: usize) -> io::Result<Vec<Piece>> {
        if n >= self.0.len() / 2 {
            return Err(io::Error::other("a worn disk"));
        }
        Ok(vec![self.0[n]])
    }
}

#[test]
fn idle_periods_that_cannot_be_read_are_an_error() {
    let told = |e: CommandError| e.to_string().contains("a worn disk");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
    // A governor that the recording names is data: that it cannot be had is no error, but this is one.
    for kernel_governor in [Some("menu".to_owned()), None] {
        let options = RecordingOptions { kernel_governor, ..RecordingOptions::default() };
        let mut recording = Recording::open(&path, &options).unwrap();
        let governor = recording.kernels_governor(&Offered::nothing()).unwrap();
        assert!(kernels_own(&recording, &governor).unwrap().is_ok());
        for cpu in &mut recording.tape.cpus {
            cpu.pieces = Pieces::stored(Failing(cpu.pieces.to_vec().unwrap()));
        }
        assert!(kernels_own(&recording, &governor).is_err_and(told));
        assert!(recording.tape_bytes().is_err_and(told));
    }
}

//! Lease ids.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SecureRandom as _;

/// Generates lease ids: a random prefix per process and a counter, so that no id costs a system call. Ids need not be
/// secret, because lease tokens are signed.
#[derive(Debug)]
pub(crate) struct LeaseIds {
    prefix: [u8; 10],
    next: AtomicU64,
}

impl LeaseIds {
    pub(crate) fn new() -> LeaseIds {
        let mut prefix = [0; 10];
        // A simulation is to make the same ids again.
        let is_simulated = cfg!(feature = "faults");
        if is_simulated || ring::rand::SystemRandom::new().fill(&mut prefix).is_err() {
            prefix.fill_with(|| fastrand::u8(..));
        }
        LeaseIds { prefix, next: AtomicU64::new(0) }
    }

    pub(crate) fn next(&self) -> String {
        let count = self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let mut bytes = [0; 16];
        // Six bytes count further than a process can live.
        let parts = self.prefix.iter().chain(count.iter().skip(2));
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

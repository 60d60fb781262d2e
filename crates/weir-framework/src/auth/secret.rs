//! Secret texts: no `Display`, nothing in `Debug`, wiped when dropped.

use ring::rand::{SecureRandom as _, SystemRandom};
use weir_table::{Error, Result};
use zeroize::Zeroizing;

pub use weir_api::secret::Secret;

/// Random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    SystemRandom::new()
        .fill(bytes.as_mut())
        .map_err(|_| Error::backend("asking the system for random bytes", "it has none"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random::<32>().unwrap(), random::<32>().unwrap());
    }
}

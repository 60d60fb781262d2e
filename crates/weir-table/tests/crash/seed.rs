//! Numbers that follow from a seed, and how many runs there are.

/// A small generator (SplitMix64): the same numbers for the same seed, on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Numbers of their own for each part of a run.
    pub(crate) fn of(parts: &[u64]) -> Random {
        parts.iter().fold(Random(0x5eed), |mut random, part| {
            Random(random.next() ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        })
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// Whether the long runs are asked for.
pub(crate) fn all() -> bool {
    std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1")
}

/// The one seed that is asked for.
pub(crate) fn wanted() -> Option<u64> {
    std::env::var("WEIR_TEST_SEED").ok()?.parse().ok()
}

/// The seeds of a suite: `usual` of them, or `many` when everything is asked for.
pub(crate) fn seeds(usual: u64, many: u64) -> Vec<u64> {
    match wanted() {
        Some(seed) => vec![seed],
        None => (0..if all() { many } else { usual }).collect(),
    }
}

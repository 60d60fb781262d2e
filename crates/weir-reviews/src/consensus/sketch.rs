//! A few bits that tell roughly how many tokens two texts have in common.

/// A bit for each token. Tokens that share a bit are taken for one another.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Sketch([u128; 2]);

impl Sketch {
    pub(super) fn new(tokens: impl Iterator<Item = u32>) -> Sketch {
        let mut sketch = Sketch::default();
        for token in tokens {
            let bit = 1 << (token / 2 % u128::BITS);
            let Sketch([even, odd]) = &mut sketch;
            *(if token % 2 == 0 { even } else { odd }) |= bit;
        }
        sketch
    }

    /// Tokens that both probably have.
    pub(super) fn overlap(&self, other: &Sketch) -> u32 {
        let both = self.0.iter().zip(other.0);
        both.map(|(a, b)| (a & b).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_tokens_are_counted() {
        let of = |tokens: &[u32]| Sketch::new(tokens.iter().copied());
        assert_eq!(of(&[1, 2, 3, 255]).overlap(&of(&[2, 3, 4, 255])), 3);
        assert_eq!(of(&[0]).overlap(&of(&[1])), 0);
        assert_eq!(of(&[7]).overlap(&of(&[7 + 256])), 1);
        assert_eq!(of(&[]).overlap(&of(&[u32::MAX])), 0);
    }
}

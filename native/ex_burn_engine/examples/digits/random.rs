//! Random numbers that are the same in every run.

/// Marsaglia's xorshift generator.
pub struct Random(u64);

impl Random {
    /// The generator of a small seed.
    pub fn new(seed: u64) -> Self {
        // From a state of few set bits, the first numbers would be small.
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number from -1 to 1.
    pub fn symmetric(&mut self) -> f32 {
        // The upper bits are the better ones.
        let unit = (self.next() >> 40) as f32 / (1_u64 << 24) as f32;
        2.0 * unit - 1.0
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            items.swap(last, other as usize);
        }
    }
}

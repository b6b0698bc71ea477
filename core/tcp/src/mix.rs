//! Bits that look random and are the same in every run.

/// What one step of `SplitMix64` adds to its state.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of `SplitMix64`: a bijection that spreads each bit over all bits (Steele, Lea and Flood, OOPSLA
/// 2014, figure 17).
pub(crate) const fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

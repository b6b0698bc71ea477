//! Sharing out a number of relays among classes.

/// Splits `seats` in proportion to `sizes` by the largest remainders; every class that has a size
/// gets one at least, as far as there are as many seats as such classes.
///
/// Where `seats` is at most the sum of `sizes`, no class gets more than its size.
pub(super) fn apportion(seats: usize, sizes: &[usize]) -> Vec<usize> {
    let total: usize = sizes.iter().sum();
    let mut shares: Vec<usize> = sizes.iter().map(|size| seats * size / total).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    // Stable, so that the earlier class wins a tie.
    order.sort_by_key(|&class| std::cmp::Reverse(seats * sizes[class] % total));
    let left = seats - shares.iter().sum::<usize>();
    for &class in order.iter().take(left) {
        shares[class] += 1;
    }
    while let Some(empty) = (0..sizes.len()).find(|&at| sizes[at] > 0 && shares[at] == 0) {
        let largest = (0..sizes.len()).max_by_key(|&at| shares[at]);
        let Some(donor) = largest.filter(|&at| shares[at] > 1) else {
            break;
        };
        shares[donor] -= 1;
        shares[empty] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_keep_the_proportions() {
        assert_eq!(apportion(85, &[20, 14, 51]), [20, 14, 51]);
        assert_eq!(apportion(850, &[20, 14, 51]), [200, 140, 510]);
        assert_eq!(apportion(10, &[1, 1, 1]), [4, 3, 3]);
    }

    #[test]
    fn a_small_class_is_not_lost_while_there_are_seats() {
        assert_eq!(apportion(3, &[1, 1, 98]), [1, 1, 1]);
        assert_eq!(apportion(5, &[0, 1, 99]), [0, 1, 4]);
        assert_eq!(apportion(2, &[1, 1, 98]).iter().sum::<usize>(), 2);
    }
}

//! Lengths of queues.

/// The number of packets that a text such as `100 packets` gives a queue.
///
/// # Errors
/// If the text is no positive number of packets; the message says what is allowed.
pub fn packets(text: &str) -> Result<u32, String> {
    let number = text.trim().strip_suffix("packets").map(str::trim);
    number
        .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|number| number.parse().ok())
        .filter(|packets| *packets > 0)
        .ok_or_else(|| {
            format!(
                "\"{text}\" is no length of a queue; allowed: a positive number of packets, \"100 \
                 packets\""
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_a_positive_number_of_packets() {
        assert_eq!(packets(" 100 packets"), Ok(100));
        assert_eq!(packets("1packets"), Ok(1));
        assert_eq!(packets("2  packets "), Ok(2));
        for wrong in [
            "",
            "100",
            "packets",
            "0 packets",
            "-1 packets",
            "+1 packets",
            "5000000000 packets",
        ] {
            let message = packets(wrong).unwrap_err();
            assert!(message.contains("allowed: a positive number"), "{message}");
        }
    }
}

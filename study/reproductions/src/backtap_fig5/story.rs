//! What the page says in words, with the numbers that were measured.

use hopflow_results::Verdict;

use super::values::Values;

/// A transport that the text compares.
const VANILLA: &str = "vanilla-circuit-window";
const BACKTAP: &str = "backtap";
const PRINTED: &str = "backtap-as-printed";

pub(super) const RATE: &str = "Up to their knees the windows use the whole rate of the bucket; \
    beyond, the rate is a window per round trip. SENDMEs pay the same bucket as data, so data reach 1500 / 1.01 kB/s \
    with the circuit window and 1500 / 1.02 kB/s with the stream window. `backtap` loses 1 % to \
    its larger cells (517 bytes of tokens for what counts as 512) and 0.2 % to feedback, if \
    feedback pays.";

pub(super) const BACKLOG: &str = "The event model, which knows a window, two delays and a bucket \
    but no TCP, agrees with the packet-level simulator at every round-trip time. The level of \
    the short round trips holds while SENDMEs are back at the relay before its next refill, that \
    is while two thirds of the end-to-end round trip are at most 100 ms: the step is at 150 ms. \
    Within the level the backlog grows by the data in flight to the relay. At 0 ms a burst of \
    150 kB takes longer on a link of 10 Gbit/s (0.12 ms) than a round trip, so SENDMEs of its \
    first cells return in time to release more of the same refill; at 1 ms none does, and the \
    backlog of the stream window is the 100 kB of the text.";

pub(super) const DELAY: &str = "Delay is backlog over rate. With windows it follows the backlog; \
    `backtap` stays a few milliseconds above half the round-trip time, on average about half of \
    its refill interval.";

/// The verdict in a few sentences.
pub(super) fn result(values: Values) -> Vec<String> {
    let named = |verdict: Verdict| -> Vec<String> {
        let of_verdict = values
            .outside()
            .filter(|(value, _)| value.verdict == verdict);
        of_verdict
            .map(|(value, x)| format!("{} of `{}` at {x} ms", value.quantity, value.transport))
            .collect()
    };
    let [failed, open] = [Verdict::NotReproduced, Verdict::Undecided].map(named);
    if failed.is_empty() && open.is_empty() {
        return vec![REPRODUCED.to_owned()];
    }
    let mut paragraphs = vec!["Not all values of Figure 5 are reproduced.".to_owned()];
    for (what, values) in [
        ("Outside of their bands", failed),
        ("Across an end of their bands", open),
    ] {
        if !values.is_empty() {
            paragraphs.push(format!("{what}: {}.", values.join("; ")));
        }
    }
    paragraphs
}

const REPRODUCED: &str = "Figure 5 is reproduced: the knees, the two levels of the backlog of each \
    window, the rate that `backtap` keeps, its backlog in proportion to the round-trip time, and \
    its delay just above half of it.";

/// How much of the published advantage is due to what.
pub(super) fn advantage(values: Values) -> Vec<String> {
    let text = || {
        let delay = |transport: &str| values.mean("delay", transport, 50);
        let (vanilla, backtap) = (delay(VANILLA)?, delay(BACKTAP)?);
        let slow = delay("backtap+refill-100ms")?;
        let slow_printed = delay("backtap-as-printed+refill-100ms")?;
        let fast = delay("vanilla-circuit-window+refill-10ms")?;
        let published = vanilla - backtap;
        let share = (slow - backtap) / published * 100.0;
        let rate = |transport: &str| values.mean("rate", transport, 500);
        let (everything, free) = (rate(BACKTAP)?, rate("backtap+as-published")?);
        let minute = values.mean("rate-at-60s", PRINTED, 500)?;
        let settling = |transport: &str| values.mean("settling", transport, 500);
        let (printed, ours) = (settling(PRINTED)?, settling(BACKTAP)?);
        let peak = |transport: &str| values.mean("peak-backlog", transport, 500);
        let (high, low) = (peak(BACKTAP)? / 1e3, peak(PRINTED)? / 1e3);
        Some(vec![
            format!(
                "The refill interval. At 50 ms the published comparison, 100 ms for vanilla \
                 against 10 ms for `backtap`, is {vanilla:.0} against {backtap:.0} ms of delay. \
                 With 100 ms for both it is {vanilla:.0} against {slow:.0} ms \
                 ({slow_printed:.0} ms as printed): {share:.0} % of the advantage of \
                 {published:.0} ms was the interval. With 10 ms for both it is {fast:.0} against \
                 {backtap:.0} ms: SENDMEs then wait 10 ms for tokens and not 100 ms, so that more \
                 of the fixed window is data, which queues."
            ),
            format!(
                "The charging. If feedback pays tokens, `backtap` loses {:.1} % of its rate and no \
                 delay ({everything:.0} against {free:.0} kB/s at 500 ms).",
                (free / everything - 1.0) * 100.0
            ),
            format!(
                "The start-up. The steady state does not depend on it, but as printed it comes \
                 late: at 500 ms the rate is {minute:.0} kB/s after a minute and within 5 % of \
                 its final value after {printed:.0} s, where accelerating growth takes \
                 {ours:.1} s. But accelerating growth starts with a bucket that holds a \
                 second's tokens, detects the bottleneck only when they are spent, and has by \
                 then {high:.1} MB in flight, against {low:.1} MB."
            ),
        ])
    };
    text().unwrap_or_default()
}

/// How long the starts take.
pub(super) fn settling(values: Values) -> Vec<String> {
    let mut paragraphs = vec![
        "Settled: the slope of W over two seconds stays above 95 % of the final rate. Drained: \
         the backlog stays below twice the steady one and one burst of 150 kB. The bucket starts \
         full, so all transports are faster than 1500 kB/s at first."
            .to_owned(),
    ];
    let drained = |transport: &str, rtt| values.mean("draining", transport, rtt);
    if let (Some(ours), Some(printed)) = (drained(BACKTAP, 50), drained(PRINTED, 50)) {
        paragraphs.push(format!(
            "At 50 ms accelerating growth needs {ours:.1} s to drain its first queue; as printed \
             {printed:.1} s."
        ));
    }
    paragraphs
}

/// The text with its first letter as a capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

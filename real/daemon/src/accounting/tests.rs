use super::*;

fn accounting() -> Accounting {
    toml::from_str("max = '1 kB'\nstart = 'month 1 00:00'").unwrap()
}

fn at(text: &str) -> UnixTime {
    text.parse().unwrap()
}

fn traffic(sent: u64, received: u64) -> Traffic {
    Traffic { sent, received }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_period_is_spent_when_one_direction_is_and_the_next_begins_with_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let november = at("2026-11-25T10:00:00Z");
    let mut ledger = Ledger::open(accounting(), folder.path(), november).unwrap();
    ledger.advance(november, traffic(999, 400));
    assert!(!ledger.standing().spent);
    ledger.advance(at("2026-11-30T23:59:59Z"), traffic(0, 599));
    assert!(!ledger.standing().spent);
    ledger.advance(at("2026-11-30T23:59:59Z"), traffic(1, 0));
    assert!(ledger.standing().spent);
    assert_eq!(ledger.standing().end, at("2026-12-01T00:00:00Z"));
    ledger.advance(at("2026-12-01T00:00:00Z"), traffic(3, 2));
    assert_eq!(ledger.standing().moved, traffic(3, 2));
    assert!(!ledger.standing().spent);
    assert_eq!(ledger.standing().end, at("2027-01-01T00:00:00Z"));
}

#[test]
fn counts_outlive_a_restart_in_a_file_that_only_its_owner_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let november = at("2026-11-25T10:00:00Z");
    let open = |now| Ledger::open(accounting(), folder.path(), now).unwrap();
    let mut ledger = open(november);
    assert!(!file.exists(), "nothing is written before it is asked for");
    ledger.advance(november, traffic(700, 1000));
    ledger.save().unwrap();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no drafts are left"
    );
    assert!(open(at("2026-11-26T00:00:00Z")).standing().spent);
    assert_eq!(
        open(at("2026-12-02T00:00:00Z")).standing().moved,
        Traffic::default()
    );

    std::fs::write(
        &file,
        "begin = 2026-11-01T00:00:00Z\nsent = -1\nreceived = 0\n",
    )
    .unwrap();
    let error = Ledger::open(accounting(), folder.path(), november)
        .unwrap_err()
        .to_string();
    for part in ["accounting.toml", "sent"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn counts_that_did_not_change_are_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let now = at("2026-11-25T10:00:00Z");
    let mut ledger = Ledger::open(accounting(), folder.path(), now).unwrap();
    ledger.advance(now, traffic(1, 2));
    ledger.save().unwrap();
    std::fs::remove_file(folder.path().join(FILE)).unwrap();
    ledger.advance(now, Traffic::default());
    ledger.save().unwrap();
    assert!(!folder.path().join(FILE).exists());
}

#[test]
fn a_clock_that_goes_back_wins_no_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(accounting(), folder.path(), at("2026-12-01T00:00:01Z")).unwrap();
    ledger.advance(at("2026-12-01T00:00:01Z"), traffic(1000, 0));
    ledger.advance(at("2026-11-30T23:59:59Z"), Traffic::default());
    assert!(ledger.standing().spent);
}

#[test]
fn a_clock_that_goes_back_and_comes_right_again_wins_no_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (epoch, november) = (at("1970-01-01T00:00:07Z"), at("2026-11-25T10:00:00Z"));
    let open = |now| Ledger::open(accounting(), folder.path(), now).unwrap();
    let mut ledger = open(november);
    ledger.advance(november, traffic(600, 0));
    ledger.save().unwrap();
    // A machine whose clock keeps no time while it is off starts at 1970, and learns the time later.
    let mut ledger = open(epoch);
    ledger.advance(epoch, traffic(300, 0));
    ledger.save().unwrap();
    ledger.advance(november, traffic(50, 0));
    assert_eq!(ledger.standing().moved, traffic(950, 0));
    assert_eq!(ledger.standing().end, at("2026-12-01T00:00:00Z"));
    ledger.advance(at("2026-12-01T00:00:00Z"), traffic(1, 0));
    assert_eq!(ledger.standing().moved, traffic(1, 0));
}

#[test]
fn counts_of_a_clock_that_was_far_ahead_hold_until_the_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (ahead, november) = (at("2036-01-05T00:00:00Z"), at("2026-11-25T10:00:00Z"));
    let open = |now| Ledger::open(accounting(), folder.path(), now).unwrap();
    let mut ledger = open(ahead);
    ledger.advance(ahead, traffic(1000, 0));
    ledger.save().unwrap();
    let standing = open(november).standing();
    assert!(standing.spent);
    assert_eq!(standing.end, at("2036-02-01T00:00:00Z"));
    std::fs::remove_file(folder.path().join(FILE)).unwrap();
    assert!(!open(november).standing().spent);
}

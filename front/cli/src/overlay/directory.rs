//! `hopflow directory`.

use std::path::Path;

use hopflow_api::Failure;
use hopflow_daemon::config::RelayConfig;
use hopflow_daemon::directory::{AuthorityId, Directory, Relay, TransportChoice};
use hopflow_daemon::keys::KeyStore;
use hopflow_daemon::net::calendar_time;
use hopflow_units::Duration;

use super::args::{DirectoryCommand, EntryOptions, SignOptions};
use super::transport_options::transport_options;
use crate::show;

/// A directory is valid from a bit earlier on, for nodes whose clocks are slow.
const MARGIN: u64 = 300;
/// The mode of a file that its writer's mask restricts alone.
const EVERYBODYS: u32 = 0o666;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Does what an operator or an authority asks of a directory.
pub(crate) fn directory(command: DirectoryCommand) -> Result<(), Failure> {
    match command {
        DirectoryCommand::Keygen { keys } => {
            let authority = KeyStore::open(&keys)?.authority()?;
            show::print(&format!("authority = \"{}\"\n", authority.id()))
        }
        DirectoryCommand::Entry(options) => entry(&options),
        DirectoryCommand::Sign(options) => sign(&options),
        DirectoryCommand::Show { file, authority } => describe(&file, &authority),
    }
}

fn entry(options: &EntryOptions) -> Result<(), Failure> {
    let config = RelayConfig::load(&options.config)?;
    let relay = Relay {
        weight: options.weight,
        guard: options.guard,
        family: options.family.clone(),
        ..Relay::of(&config, &options.nickname, &options.address)?
    };
    show::print(&relay.to_entry())
}

fn sign(options: &SignOptions) -> Result<(), Failure> {
    if !KeyStore::has_authority(&options.keys) {
        return Err(Failure::bad_input(format_args!(
            "--keys: {} has no authority's key; `hopflow directory keygen` makes one",
            options.keys.display()
        )));
    }
    let authority = KeyStore::open(&options.keys)?.authority()?;
    let transport = TransportChoice {
        preset: options.transport.clone(),
        options: transport_options(&options.options)?,
    };
    let now = calendar_time();
    let begin = hopflow_daemon::UnixTime::from_secs(now.as_secs().saturating_sub(MARGIN));
    let end = now.after(DAY.saturating_mul(options.days.into()));
    let mut directory = Directory::new(&options.network, transport, (begin, end));
    for file in &options.entries {
        directory.relays.extend(Relay::read_entries(file)?);
    }
    let text = directory.sign(&authority)?;
    match &options.out {
        None => show::print(&text),
        Some(file) => replace(file, &text),
    }
}

/// Writes a file that others see whole, before or after.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    hopflow_daemon::write_whole(file, text.as_bytes(), EVERYBODYS).map_err(|cause| {
        Failure::bad_input(format_args!(
            "{}: cannot be written: {cause}",
            file.display()
        ))
    })
}

fn describe(file: &Path, authority: &AuthorityId) -> Result<(), Failure> {
    let directory = Directory::load(file, authority, calendar_time())?;
    let transport = &directory.transport;
    let options = transport.options.iter();
    let options: Vec<String> = options
        .map(|(key, value)| format!(" {key}={value}"))
        .collect();
    let options = options.concat();
    let rows = directory.relays.iter().map(|relay| {
        vec![
            relay.nickname.clone(),
            addresses(relay),
            relay.weight.to_string(),
            if relay.guard { "guard" } else { "" }.to_owned(),
            if relay.exit.is_some() { "exit" } else { "" }.to_owned(),
            relay.fingerprint.to_string(),
        ]
    });
    let table = show::table(
        &["relay", "address", "weight", "guard", "exit", "fingerprint"],
        rows,
    );
    show::print(&format!(
        "network    {}\ntransport  {}{options}\nvalid      {} to {}\n{table}\n",
        directory.network, transport.preset, directory.valid_after, directory.valid_until,
    ))
}

/// Where a relay takes links.
fn addresses(relay: &Relay) -> String {
    let addresses = relay.addresses().map(|address| address.to_string());
    addresses.collect::<Vec<_>>().join(" ")
}

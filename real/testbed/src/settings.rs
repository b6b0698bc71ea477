//! What a testbed is to be like.

use std::fmt;
use std::str::FromStr;

use hopflow_daemon::config::{EmulatedLink, MAX_LEGS};
use hopflow_daemon::net::default_legs;
use hopflow_transports::presets;
use hopflow_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most downloads at a time: each has a circuit and a thread at either end.
const MOST_DOWNLOADS: u32 = 1000;
/// Where Linux says which congestion control TCP has by default.
const KERNEL_DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// The names of the relays: those of the first path, from the client's end to the exit, and those before the exit of
/// further paths.
const RELAYS: [&str; 9] = [
    "guard", "middle", "exit", "guard-2", "middle-2", "guard-3", "middle-3", "guard-4", "middle-4",
];
/// Relays of a path.
pub(crate) const PATH: usize = 3;

/// A testbed and the downloads in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// The preset of the transport that all nodes speak.
    pub transport: String,
    /// Downloads that begin at the same time.
    pub downloads: u32,
    /// Bytes of each download.
    #[serde(with = "as_text")]
    pub size: Bytes,
    /// One-way delay from a node to its neighbour: half of it on either's access link.
    #[serde(with = "as_text")]
    pub delay: Duration,
    /// Rate of every access link; unlimited if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_option")]
    pub rate: Option<Rate>,
    /// Rate of the middle relay's token bucket, which holds a second of it; none if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_option")]
    pub middle_rate: Option<Rate>,
    /// Whether the downloads share one circuit; otherwise each has its own.
    pub shared: bool,
    /// Circuits to the exit that carry a stream together, each by a guard and a middle relay of its own; `None` is
    /// as many as clients have by default with the transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legs: Option<u8>,
    /// The congestion control of the kernel's TCP, where each node is in a network namespace of its own and all packets
    /// pass emulated links; `None`: the nodes are on the loopback device, where only data passes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netns: Option<Congestion>,
    /// When downloads are cut off that are not complete; never if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_option")]
    pub duration: Option<Duration>,
    /// Options of the transport that override the preset's.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub options: toml::Table,
}

/// A congestion control of TCP that the simulator and Linux have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// RFC 9438.
    Cubic,
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// draft-ietf-ccwg-bbr; Linux has an older version.
    Bbr,
}

impl Congestion {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cubic, Self::NewReno, Self::Bbr];

    /// What scenarios call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::NewReno => "new-reno",
            Self::Bbr => "bbr",
        }
    }

    /// The kernel's default.
    ///
    /// # Errors
    /// If this is no Linux, or it is one that the simulator does not have.
    pub fn of_kernel() -> Result<Self, SettingsError> {
        let refuse = |problem: String| SettingsError(format!("netns: {problem}"));
        let found = std::fs::read_to_string(KERNEL_DEFAULT)
            .map_err(|error| refuse(format!("{KERNEL_DEFAULT}: {error}")))?;
        let found = found.trim();
        let known = Self::ALL
            .into_iter()
            .find(|known| known.kernel_name() == found);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            refuse(format!(
                "the kernel's default is {found}, which the simulator does not have; choose one of {names}"
            ))
        })
    }

    /// What Linux calls it.
    pub(crate) const fn kernel_name(self) -> &'static str {
        match self {
            Self::NewReno => "reno",
            Self::Cubic | Self::Bbr => self.name(),
        }
    }
}

impl FromStr for Congestion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name);
        let known = Self::ALL.into_iter().find(|known| known.name() == text);
        known.ok_or_else(|| format!("allowed are {}", names.join(", ")))
    }
}

/// A setting that cannot be used: which, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            transport: "backtap".to_owned(),
            downloads: 10,
            size: Bytes::new(5_000_000),
            delay: Duration::from_millis(40),
            rate: Some(Rate::from_megabits_per_sec(100)),
            middle_rate: None,
            shared: false,
            legs: None,
            netns: None,
            duration: None,
            options: toml::Table::new(),
        }
    }
}

impl Settings {
    /// Checks what the types do not rule out.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn check(&self) -> Result<(), SettingsError> {
        let names: Vec<_> = presets().into_iter().map(|preset| preset.name).collect();
        let refuse = |problem: String| Err(SettingsError(problem));
        if !names.contains(&self.transport.as_str()) {
            let (name, allowed) = (&self.transport, names.join(", "));
            return refuse(format!("transport: \"{name}\"; allowed are {allowed}"));
        }
        hopflow_real_hosts::build(&self.transport, &self.options).map_err(|error| {
            match error.key.as_str() {
                "preset" => SettingsError(format!("transport: {}", error.allowed)),
                _ => SettingsError(format!("option: {error}")),
            }
        })?;
        if !(1..=MOST_DOWNLOADS).contains(&self.downloads) {
            let found = self.downloads;
            return refuse(format!(
                "downloads: {found}; allowed are numbers from 1 to {MOST_DOWNLOADS}"
            ));
        }
        if let Some(found) = self.legs
            && !(1..=MAX_LEGS).contains(&found)
        {
            return refuse(format!(
                "legs: {found}; allowed are numbers from 1 to {MAX_LEGS}"
            ));
        }
        if self.size.is_zero() {
            return refuse("size: 0 B; allowed are sizes from 1 B on".to_owned());
        }
        if self.delay > Duration::from_secs(10) {
            let found = self.delay;
            return refuse(format!("delay: {found}; allowed are times up to 10 s"));
        }
        Ok(())
    }

    /// The delay of one node's access link.
    pub(crate) fn access_delay(&self) -> Duration {
        Duration::from_nanos(self.delay.as_nanos() / 2)
    }

    /// Every node's access link.
    pub(crate) fn access_link(&self) -> EmulatedLink {
        EmulatedLink {
            rate: self.rate,
            delay: self.access_delay(),
            ..EmulatedLink::default()
        }
    }

    /// Circuits that carry a stream together.
    pub fn legs(&self) -> usize {
        let by_default = || {
            let factory = hopflow_real_hosts::build(&self.transport, &self.options);
            factory.map_or(1, |factory| default_legs(&*factory))
        };
        self.legs.unwrap_or_else(by_default).into()
    }

    /// The names of the relays: those of the first path, from the client's end to the exit, and those before the exit
    /// of further paths.
    pub(crate) fn relays(&self) -> &'static [&'static str] {
        &RELAYS[..PATH + 2 * (self.legs() - 1)]
    }

    /// The relays of a leg's path, as numbers of [`relays`](Self::relays).
    pub(crate) const fn path(leg: usize) -> [usize; PATH] {
        match leg {
            0 => [0, 1, 2],
            _ => [1 + 2 * leg, 2 + 2 * leg, 2],
        }
    }

    /// Circuits that the downloads take, those that carry a stream together counted as one.
    pub fn circuits(&self) -> u32 {
        if self.shared { 1 } else { self.downloads }
    }

    /// The settings in a few words.
    pub fn describe(&self) -> String {
        let own = match (self.shared, self.downloads) {
            (_, 1) => "",
            (true, _) => " on one circuit",
            (false, _) => " on circuits of their own",
        };
        let plural = if self.downloads == 1 { "" } else { "s" };
        let limit = |rate: Option<Rate>| rate.map_or("no limit".to_owned(), |it| it.to_string());
        let own = match self.legs() {
            1 => own.to_owned(),
            legs => format!("{own} of {legs} legs"),
        };
        let namespaces = self.netns.map_or_else(String::new, |tcp| {
            format!(", network namespaces with TCP's {}", tcp.name())
        });
        format!(
            "{} download{plural} of {}{own}, {} between neighbours, access links of {}, middle \
             relay with {}{namespaces}",
            self.downloads,
            self.size,
            self.delay,
            limit(self.rate),
            limit(self.middle_rate)
        )
    }

    /// The settings as TOML, from which they can be read again.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("settings are plain data")
    }

    /// Settings from TOML.
    ///
    /// # Errors
    /// If the text holds something else.
    pub fn from_toml(text: &str) -> Result<Self, SettingsError> {
        toml::from_str(text).map_err(|error| SettingsError(error.to_string()))
    }
}

/// Quantities that are written as text.
mod as_text {
    use super::{Deserialize, Deserializer, FromStr, Serializer, fmt};

    pub(super) fn serialize<T: fmt::Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Quantities that are written as text and may be left out.
mod as_option {
    use super::{Deserializer, FromStr, Serializer, as_text, fmt};

    #[expect(
        clippy::ref_option,
        reason = "serde calls it with a reference to the field"
    )]
    pub(super) fn serialize<T: fmt::Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => as_text::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, T>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: fmt::Display>,
    {
        as_text::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written() {
        let settings = Settings {
            middle_rate: Some(Rate::from_kilobytes_per_sec(1500)),
            netns: Some(Congestion::NewReno),
            ..Settings::default()
        };
        assert_eq!(Settings::from_toml(&settings.to_toml()), Ok(settings));
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_named_with_what_is_allowed() {
        let mut settings = Settings::default();
        settings.check().unwrap();
        settings.size = Bytes::ZERO;
        assert!(
            settings
                .check()
                .unwrap_err()
                .0
                .contains("allowed are sizes")
        );
        settings.downloads = 5000;
        assert!(settings.check().unwrap_err().0.contains("from 1 to 1000"));
        settings.transport = "carrier-pigeon".to_owned();
        let message = settings.check().unwrap_err().to_string();
        assert!(
            message.contains("\"carrier-pigeon\"; allowed are vanilla"),
            "{message}"
        );
    }
}

//! Colours, dashes and markers.
//!
//! The series colours start from the palette of Okabe and Ito (*Color Universal Design*, 2008),
//! shifted in lightness until each stands out from its background at 3:1 or more (WCAG 2.2,
//! 1.4.11). Dash and marker repeat what colour says, for print and for eyes that see fewer colours.

/// Where a drawing will be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// On the page, which has a light and a dark theme.
    Page,
    /// In a file of its own, light and without style sheets.
    File,
}

/// What a part of a drawing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// A series, by number.
    Series(usize),
    /// Text to read.
    Text,
    /// Text that explains.
    Muted,
    /// Axes.
    Axis,
    /// Lines behind the data.
    Grid,
    /// What lies behind everything.
    Paper,
    /// What limits the rest, or went wrong.
    Alert,
}

/// Each colour's name, its value on light ground and on dark ground.
pub(crate) const COLOURS: [(&str, &str, &str); 14] = [
    ("s0", "#0067a5", "#5fb4ee"),
    ("s1", "#c8500a", "#ff8f54"),
    ("s2", "#00856a", "#35c9a1"),
    ("s3", "#a8497f", "#eb9cc9"),
    ("s4", "#9a6b00", "#e8b53b"),
    ("s5", "#5b5bb5", "#a9a6f5"),
    ("s6", "#3b8f2f", "#8fd483"),
    ("s7", "#6a6f75", "#b9bec4"),
    ("text", "#14202b", "#e8ecef"),
    ("muted", "#56636f", "#9fabb6"),
    ("axis", "#8a96a1", "#6d7a86"),
    ("grid", "#e4e8eb", "#27323c"),
    ("paper", "#ffffff", "#141c24"),
    ("alert", "#b3261e", "#ff8a80"),
];

/// Series colours before they repeat.
const SERIES: usize = 8;

const DASHES: [&str; SERIES] = [
    "",
    "7 3.5",
    "2 2.5",
    "9 3 2 3",
    "12 4",
    "4 2",
    "9 3 2 3 2 3",
    "1.5 4",
];

impl Ink {
    /// The colour as the value of an attribute.
    pub(crate) fn on(self, medium: Medium) -> String {
        let (name, light, _) = COLOURS[self.index()];
        match medium {
            Medium::Page => format!("var(--{name})"),
            Medium::File => light.to_owned(),
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Series(number) => number % SERIES,
            Self::Text => SERIES,
            Self::Muted => SERIES + 1,
            Self::Axis => SERIES + 2,
            Self::Grid => SERIES + 3,
            Self::Paper => SERIES + 4,
            Self::Alert => SERIES + 5,
        }
    }
}

/// Which dash and marker a series has, by its number: once colours repeat, these do not.
const fn shape(number: usize) -> usize {
    (number + number / SERIES) % SERIES
}

/// The dash pattern of a series; empty for a solid line.
pub(crate) const fn dash(number: usize) -> &'static str {
    DASHES[shape(number)]
}

/// The declarations of all colours, for a style sheet.
pub(crate) fn declarations(dark: bool) -> String {
    let value =
        |(name, light, on_dark)| format!("--{name}:{};", if dark { on_dark } else { light });
    COLOURS.into_iter().map(value).collect()
}

/// The outline of a series' marker of about `size` around a centre, as path data.
pub(crate) fn marker(number: usize, (x, y): (f64, f64), size: f64) -> String {
    let r = size / 2.0;
    let polygon = |corners: &[(f64, f64)]| {
        let corner = |(dx, dy): &(f64, f64)| format!("{:.1} {:.1}", x + dx * r, y + dy * r);
        let corners: Vec<String> = corners.iter().map(corner).collect();
        format!("M{}Z", corners.join("L"))
    };
    match shape(number) {
        0 => format!(
            "M{:.1} {y:.1}a{r:.1} {r:.1} 0 1 0 {size:.1} 0a{r:.1} {r:.1} 0 1 0 -{size:.1} 0Z",
            x - r
        ),
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.15), (1.05, 0.8), (-1.05, 0.8)]),
        3 => polygon(&[(0.0, -1.25), (1.1, 0.0), (0.0, 1.25), (-1.1, 0.0)]),
        4 => polygon(&[(0.0, 1.15), (1.05, -0.8), (-1.05, -0.8)]),
        5 => polygon(&[
            (0.0, -1.15),
            (1.1, -0.3),
            (0.7, 1.0),
            (-0.7, 1.0),
            (-1.1, -0.3),
        ]),
        6 => polygon(&[(-1.25, 0.0), (0.8, -1.05), (0.8, 1.05)]),
        _ => polygon(&[(1.25, 0.0), (-0.8, -1.05), (-0.8, 1.05)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_series_look_alike() {
        let look = |number| (Ink::Series(number).index(), shape(number));
        let looks: std::collections::BTreeSet<_> = (0..SERIES * SERIES).map(look).collect();
        assert_eq!(looks.len(), SERIES * SERIES);
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                libm::pow((value + 0.055) / 1.055, 2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_series_stands_out_and_every_text_can_be_read() {
        let (_, light, dark) = COLOURS[Ink::Paper.index()];
        for (name, on_light, on_dark) in COLOURS {
            let needed = match name {
                "grid" | "paper" => continue,
                "text" | "muted" => 4.5,
                "axis" => 2.5,
                _ => 4.0,
            };
            assert!(
                contrast(on_light, light) >= needed,
                "{name} on light: {}",
                contrast(on_light, light)
            );
            assert!(
                contrast(on_dark, dark) >= needed,
                "{name} on dark: {}",
                contrast(on_dark, dark)
            );
        }
    }
}

//! A drawing that has no axes of a chart.

use std::fmt::{Arguments, Write as _};

use super::Shape;
use super::svg::FONTS;
use crate::style::{Ink, Medium};
use crate::text::escape;

/// What a drawing says to those who do not see it.
pub(super) struct Spoken<'a> {
    /// What it shows.
    pub(super) title: &'a str,
    /// How to read it.
    pub(super) caption: &'a str,
    /// Where on the page the same stands as text.
    pub(super) elsewhere: &'a str,
}

/// An SVG drawing in the making.
pub(super) struct Canvas {
    out: String,
    medium: Medium,
}

impl Canvas {
    /// A drawing of this size.
    pub(super) fn new(
        medium: Medium,
        shape: Shape,
        (width, height): (f64, f64),
        spoken: &Spoken<'_>,
    ) -> Self {
        let mut canvas = Self {
            out: String::new(),
            medium,
        };
        let (title, name) = (escape(spoken.title), shape.name());
        // What is larger than its shape is not made smaller, but scrolled.
        let least = if width > shape.width() { width } else { 0.0 };
        match medium {
            Medium::Page => canvas.raw(format_args!(
                "<svg class=\"{name}\" style=\"min-width:{least:.0}px\" viewBox=\"0 0 {width:.0} {height:.1}\" role=\"img\" \
                 aria-label=\"{title}. {}\" font-size=\"12.5\">",
                escape(spoken.elsewhere)
            )),
            Medium::File => canvas.raw(format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.1}\" \
                 viewBox=\"0 0 {width:.0} {height:.1}\" role=\"img\" font-family=\"{FONTS}\" \
                 font-size=\"12.5\"><title>{title}</title><desc>{}</desc>\
                 <rect width=\"{width:.0}\" height=\"{height:.1}\" fill=\"{}\"/>",
                escape(spoken.caption),
                Ink::Paper.on(medium)
            )),
        }
        canvas
    }

    /// The value of a colour attribute.
    pub(super) fn ink(&self, ink: Ink) -> String {
        ink.on(self.medium)
    }

    /// Anything else; what users wrote must be escaped by the caller.
    pub(super) fn raw(&mut self, markup: Arguments<'_>) {
        self.out
            .write_fmt(markup)
            .expect("a string takes every text");
    }

    /// Text at a position on its base line; `anchor` is a value of `text-anchor`.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: &str, ink: Ink, text: &str) {
        let (colour, text) = (self.ink(ink), escape(text));
        self.raw(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
        ));
    }

    /// The drawing.
    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        if self.medium == Medium::File {
            self.out.push('\n');
        }
        self.out
    }
}

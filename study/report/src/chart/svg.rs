//! A small writer of SVG.

use std::fmt::{Arguments, Write as _};

use super::Shape;
use super::frame::Frame;
use crate::model::Chart;
use crate::style::{Ink, Medium};
use crate::text::escape;

/// The typefaces of drawings: the page's own, then what programs for print have.
pub(super) const FONTS: &str = "Inter, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";

/// Where text stands relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// To the right of it.
    Start,
    /// Around it.
    Middle,
    /// To the left of it.
    End,
}

/// An SVG drawing in the making.
pub(super) struct Svg {
    out: String,
    medium: Medium,
    clip: String,
}

impl Svg {
    /// A drawing with its frame's size and a clip around the plot.
    pub(super) fn new(frame: &Frame, chart: &Chart, shape: Shape, medium: Medium) -> Self {
        let clip = format!("clip-{}-{}", chart.id, shape.name());
        let mut svg = Self {
            out: String::new(),
            medium,
            clip,
        };
        svg.open(frame, chart, shape);
        let (left, top, width, height) = frame.plot();
        let clip = svg.clip.clone();
        // Lines have room for their strokes and markers on the border; bands end there.
        for (name, room) in [("marks", 6.0), ("band", 0.0)] {
            svg.raw(format_args!(
                "<clipPath id=\"{clip}-{name}\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>",
                left - room,
                top - room,
                width + 2.0 * room,
                height + 2.0 * room
            ));
        }
        svg
    }

    fn open(&mut self, frame: &Frame, chart: &Chart, shape: Shape) {
        let (width, height) = frame.size();
        let (title, caption) = (escape(&chart.title), escape(&chart.caption));
        match self.medium {
            Medium::Page => {
                let (left, top, plot_width, plot_height) = frame.plot();
                self.raw(format_args!(
                    "<svg class=\"{}\" viewBox=\"0 0 {width} {height}\" data-plot=\"{left:.1} {top:.1} {plot_width:.1} {plot_height:.1}\" \
                     role=\"group\" tabindex=\"0\" aria-label=\"{title}. Arrow keys read values.\" font-size=\"12.5\">",
                    shape.name()
                ));
            }
            Medium::File => {
                self.raw(format_args!(
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
                     role=\"img\" font-family=\"{FONTS}\" font-size=\"12.5\"><title>{title}</title><desc>{caption}</desc>"
                ));
                let paper = self.colour(Ink::Paper);
                self.raw(format_args!(
                    "<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>"
                ));
            }
        }
    }

    /// The value of a colour attribute.
    pub(super) fn colour(&self, ink: Ink) -> String {
        ink.on(self.medium)
    }

    /// Anything else; what users wrote must be escaped by the caller.
    pub(super) fn raw(&mut self, markup: Arguments<'_>) {
        self.out
            .write_fmt(markup)
            .expect("a string takes every text");
    }

    /// Begins a group that belongs to a series.
    pub(super) fn begin_series(&mut self, class: &str, number: usize) {
        let clip = self.clip.clone();
        self.raw(format_args!(
            "<g class=\"{class}\" data-series=\"{number}\" clip-path=\"url(#{clip}-{class})\">"
        ));
    }

    /// Ends the latest group.
    pub(super) fn end(&mut self) {
        self.out.push_str("</g>");
    }

    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        let colour = self.colour(ink);
        self.raw(format_args!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// Text at a position on its base line.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, ink: Ink, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (colour, text) = (self.colour(ink), escape(text));
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

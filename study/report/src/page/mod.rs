//! The page: one HTML file that needs nothing beside it.

mod figure;
mod scatter;
mod table;

use std::collections::BTreeMap;

use crate::chart::{self, Shape};
use crate::image::Image;
use crate::model::{Bars, Block, Choice, Choices, Code, Document, Map, Section};
use crate::style::{self, Medium};
use crate::text::{escape, prose, slug};

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
/// What pages with scatter charts have besides.
const SCATTER_STYLE: &str = include_str!("../../assets/scatter.css");
const SCATTER_SCRIPT: &str = include_str!("../../assets/scatter.js");

/// The mark of hopflow: three hops and the way through them.
const MARK: &str = "<svg class=\"mark\" viewBox=\"0 0 40 20\" aria-hidden=\"true\"><path d=\"M4 14C11 14 11 6 20 6s9 8 16 8\" fill=\"none\" stroke=\"var(--accent)\" stroke-width=\"2\"/><g fill=\"var(--page)\" stroke=\"var(--text)\" stroke-width=\"2\"><circle cx=\"4\" cy=\"14\" r=\"3\"/><circle cx=\"20\" cy=\"6\" r=\"3\"/><circle cx=\"36\" cy=\"14\" r=\"3\"/></g></svg>";

/// Lines of text beyond which it is folded away.
const LONG_CODE: usize = 14;

/// The whole page.
pub(crate) fn render(document: &Document) -> String {
    let anchors = anchors(&document.sections);
    let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let (scatter_style, scatter_script) = if blocks.any(|block| matches!(block, Block::Scatter(_)))
    {
        (SCATTER_STYLE, SCATTER_SCRIPT)
    } else {
        ("", "")
    };
    let mut body = String::new();
    for (section, anchor) in document.sections.iter().zip(&anchors) {
        body.push_str(&self::section(section, anchor));
    }
    let links = |(section, anchor): (&Section, &String)| {
        format!("<a href=\"#{anchor}\">{}</a>", escape(&section.heading))
    };
    let links: String = document.sections.iter().zip(&anchors).map(links).collect();
    framed(&Frame {
        title: &document.title,
        links: &links,
        style: scatter_style,
        script: scatter_script,
        body: &format!("{}\n{body}", header(document)),
        footer: "Made with hopflow. The page needs no network; its charts are also SVG files in its folder.",
    })
}

/// A page's own parts.
pub(crate) struct Frame<'a> {
    /// Its name.
    pub(crate) title: &'a str,
    /// The links at the top, as HTML.
    pub(crate) links: &'a str,
    /// Rules behind those of all pages.
    pub(crate) style: &'a str,
    /// What runs behind the script of all pages.
    pub(crate) script: &'a str,
    /// What it says, as HTML.
    pub(crate) body: &'a str,
    /// The last line.
    pub(crate) footer: &'a str,
}

/// A page with what all pages have.
pub(crate) fn framed(frame: &Frame<'_>) -> String {
    let Frame {
        links,
        script,
        body,
        footer,
        ..
    } = frame;
    let title = escape(frame.title);
    let style = style_sheet() + frame.style;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"hopflow\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the results</a>\n\
         <header class=\"bar\"><div class=\"bar-line\">{MARK}<a class=\"brand\" href=\"#main\">{title}</a>\
         <nav aria-label=\"Sections\">{links}</nav>\
         <button class=\"theme\" type=\"button\" hidden>Theme</button></div>\
         <div class=\"chips\" role=\"group\" aria-label=\"Series shown in all charts\" hidden></div></header>\n\
         <main id=\"main\">\n{body}</main>\n<footer>{footer}</footer>\n\
         <script>\n{SCRIPT}{script}</script>\n</body>\n</html>\n"
    )
}

/// The style sheet with the colours that drawings use.
fn style_sheet() -> String {
    STYLE
        .replace("/*light*/", &style::declarations(false))
        .replace("/*dark*/", &style::declarations(true))
}

/// A name to link to per section; equal headings get different ones.
fn anchors(sections: &[Section]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let anchor = |section: &Section| {
        let base = format!("s-{}", slug(&section.heading));
        let count = seen.entry(base.clone()).or_default();
        *count += 1;
        if *count == 1 {
            base
        } else {
            format!("{base}-{count}")
        }
    };
    sections.iter().map(anchor).collect()
}

fn header(document: &Document) -> String {
    let fact = |fact: &crate::model::Fact| {
        format!(
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escape(&fact.label),
            escape(&fact.value)
        )
    };
    let facts: String = document.facts.iter().map(fact).collect();
    let facts = if facts.is_empty() {
        facts
    } else {
        format!("<dl class=\"facts\">{facts}</dl>")
    };
    format!(
        "<div class=\"title\"><h1>{}</h1><p>{}</p></div>{facts}",
        escape(&document.title),
        prose(&document.subtitle)
    )
}

fn section(section: &Section, anchor: &str) -> String {
    let mut html = format!(
        "<section id=\"{anchor}\" aria-labelledby=\"{anchor}-h\"><h2 id=\"{anchor}-h\">{}</h2>\n",
        escape(&section.heading)
    );
    for paragraph in &section.prose {
        html.extend(["<p>", &prose(paragraph), "</p>\n"]);
    }
    let mut blocks = section.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        if let Block::Chart(_) = block {
            html.push_str("<div class=\"charts\">");
            html.push_str(&self::block(block));
            while let Some(chart) = blocks.next_if(|next| matches!(next, Block::Chart(_))) {
                html.push_str(&self::block(chart));
            }
            html.push_str("</div>\n");
        } else {
            html.push_str(&self::block(block));
        }
    }
    html.push_str("</section>\n");
    html
}

fn block(block: &Block) -> String {
    match block {
        Block::Table(table) => table::render(table),
        Block::Chart(chart) => figure::render(chart),
        Block::Multiples(charts) => {
            let charts: String = charts.iter().map(figure::render_small).collect();
            format!("<div class=\"charts\">{charts}</div>\n")
        }
        Block::Scatter(scatter) => scatter::render(scatter),
        Block::Choices(choices) => self::choices(choices),
        Block::Bars(bars) => self::bars(bars),
        Block::Map(map) => self::map(map),
        Block::Note(text) => format!("<p class=\"note\">{}</p>\n", prose(text)),
        Block::Code(code) => self::code(code),
        Block::Image(image) => self::image(image),
    }
}

fn bars(bars: &Bars) -> String {
    let draw = |shape| chart::render_bars(bars, shape, Medium::Page);
    format!(
        "<figure class=\"bars\"><figcaption><h3>{}</h3><p>{}</p></figcaption>{}{}</figure>\n",
        escape(&bars.title),
        prose(&bars.caption),
        draw(Shape::Wide),
        draw(Shape::Narrow),
    )
}

/// All that can be chosen, one below the other: the script shows one at a time.
fn choices(choices: &Choices) -> String {
    let mut charts = choices.charts.iter();
    let choice = |choice: &Choice| {
        let charts: String = (charts.by_ref().take(choice.charts))
            .map(figure::render_small)
            .collect();
        format!(
            "<div class=\"option\" data-label=\"{label}\"><h3>{label}</h3><p>{about}</p><div class=\"charts\">{charts}</div></div>",
            label = escape(&choice.label),
            about = prose(&choice.about),
        )
    };
    let all: String = choices.choices.iter().map(choice).collect();
    format!(
        "<div class=\"one-of\" data-label=\"{}\">{all}</div>\n",
        escape(&choices.label)
    )
}

fn map(map: &Map) -> String {
    let draw = |shape| chart::render_map(map, shape, Medium::Page);
    format!(
        "<figure class=\"map\"><figcaption><h3>{}</h3><p>{}</p></figcaption>\
         <div class=\"drawing\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}{}</div></figure>\n",
        escape(&map.title),
        prose(&map.caption),
        escape(&map.title),
        draw(Shape::Wide),
        draw(Shape::Narrow),
    )
}

fn image(image: &Image) -> String {
    format!(
        "<figure class=\"image\"><img src=\"{}\" alt=\"{caption}\"><figcaption><p>{caption}</p></figcaption></figure>\n",
        image.source(),
        caption = escape(&image.caption),
    )
}

fn code(code: &Code) -> String {
    let open = if code.text.lines().count() > LONG_CODE {
        ""
    } else {
        " open"
    };
    let file = code.file.as_ref();
    let file = file.map_or_else(String::new, |file| {
        format!(" data-file=\"{}\"", escape(file))
    });
    format!(
        "<details class=\"code\"{open}{file}><summary>{}</summary><pre tabindex=\"0\"><code>{}</code></pre></details>\n",
        prose(&code.caption),
        escape(&code.text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_with_one_heading_have_different_anchors() {
        let section = Section::new("TTFB", vec![]);
        assert_eq!(anchors(&[section.clone(), section]), ["s-ttfb", "s-ttfb-2"]);
    }

    #[test]
    fn a_page_without_content_is_a_page() {
        let page = render(&Document::default());
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    }
}

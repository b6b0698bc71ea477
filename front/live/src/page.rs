//! The files of the page, which are part of the program.

/// A file.
#[derive(Debug)]
pub(crate) struct File {
    /// Where it is served.
    pub(crate) path: &'static str,
    /// What it is.
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
}

/// All files. `make live-page` makes them of `site/playground`.
pub(crate) const FILES: [File; 4] = [
    File {
        path: "/",
        kind: "text/html; charset=utf-8",
        text: include_str!("../page/index.html"),
    },
    File {
        path: "/live.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("../page/live.js"),
    },
    File {
        path: "/uplot.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("../page/uplot.js"),
    },
    File {
        path: "/live.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("../page/live.css"),
    },
];

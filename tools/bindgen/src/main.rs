//! Writes what a page needs of a library that was compiled to WebAssembly: a module in JavaScript with
//! its types, and the code without what only this step reads.
//!
//! `bindgen LIBRARY.wasm FOLDER`

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [library, folder] = &arguments[..] else {
        eprintln!("needs a library and a folder: bindgen LIBRARY.wasm FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let written = bindgen
        .input_path(library)
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .web(true)
        .and_then(|bindgen| bindgen.generate(folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {library}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

//! Signatures at the end of a text.
//!
//! A signature is a line `# signed KEY SIGNATURE`, both in hexadecimal digits: a comment of TOML.
//! Several authorities may sign, each with a line; all sign what stands before the first.

use super::authority::{AuthorityId, AuthorityKey, is_signed};
use crate::{Hex, InputError};

/// How a line with a signature begins.
const MARK: &str = "# signed ";

impl AuthorityKey {
    /// `text` with this authority's signature, whether or not it is a directory that makes sense:
    /// [`Directory::sign`](super::Directory::sign) sees to that.
    pub fn sign_text(&self, mut text: String) -> String {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let signature = self.sign(&text);
        text + &format!("{MARK}{} {signature}\n", self.id())
    }
}

/// What `text` says before its signatures, if one of them is the one of `authority`.
pub(super) fn verified<'a>(text: &'a str, authority: &AuthorityId) -> Result<&'a str, InputError> {
    let refuse = |problem: String| Err(InputError::new(problem));
    let Some(end) = first_mark(text) else {
        return refuse(format!(
            "is not signed; allowed is a directory signed by the authority {authority}"
        ));
    };
    let (body, lines) = text.split_at(end);
    let mut signatures = Vec::new();
    for line in lines.lines() {
        let Some(signature) = parse(line) else {
            return refuse(format!(
                "has the line \"{line}\" among its signatures; allowed is \"{MARK}KEY SIGNATURE\""
            ));
        };
        signatures.push(signature);
    }
    match signatures.iter().find(|(signer, _)| signer == authority) {
        Some((_, signature)) if is_signed(body, signature, authority) => Ok(body),
        Some(_) => refuse(format!(
            "was altered: the signature of the authority {authority} is not one of this text"
        )),
        None => {
            let signers: Vec<_> = signatures.iter().map(|(key, _)| key.to_string()).collect();
            let signers = signers.join(", ");
            refuse(format!(
                "is signed by {signers}; allowed is the authority {authority}"
            ))
        }
    }
}

/// Where the first line with a signature begins.
fn first_mark(text: &str) -> Option<usize> {
    if text.starts_with(MARK) {
        return Some(0);
    }
    text.match_indices('\n')
        .map(|(end, _)| end + 1)
        .find(|&start| text[start..].starts_with(MARK))
}

fn parse(line: &str) -> Option<(AuthorityId, Hex<64>)> {
    let (signer, signature) = line.strip_prefix(MARK)?.split_once(' ')?;
    Some((signer.parse().ok()?, signature.parse().ok()?))
}

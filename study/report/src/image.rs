//! Pictures that were drawn elsewhere.

/// A picture, which the page holds in itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What it shows; also read aloud in its place.
    pub caption: String,
    /// The file as a `data:` URL.
    source: String,
}

/// The first bytes of a PNG file (PNG specification, section 5.2).
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

impl Image {
    /// The picture in the bytes of a PNG file; `None` if they are none.
    pub fn png(caption: impl Into<String>, bytes: &[u8]) -> Option<Self> {
        let source = format!("data:image/png;base64,{}", base64(bytes));
        bytes.starts_with(SIGNATURE).then_some(Self {
            caption: caption.into(),
            source,
        })
    }

    /// Where a page finds the picture: in a `data:` URL.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}

/// Bytes as base 64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |n: usize| u32::from(group.get(n).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            text.push(if digit <= group.len() {
                char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])
            } else {
                '='
            });
        }
    }
    text
}

/// The bytes that base 64 stands for; `None` if the text is none.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        bits = (bits << 6 | u32::from(digit(c)?)) & 0x3fff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_that_of_the_rfc() {
        // RFC 4648, section 10.
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in vectors {
            assert_eq!(base64(plain.as_bytes()), encoded);
            assert_eq!(from_base64(encoded).unwrap(), plain.as_bytes());
        }
        assert_eq!(from_base64("a-b"), None);
    }

    #[test]
    fn what_is_no_png_file_is_no_picture() {
        assert_eq!(Image::png("", b"GIF89a"), None);
        let image = Image::png("dot", b"\x89PNG\r\n\x1a\n...").unwrap();
        assert!(
            image
                .source()
                .starts_with("data:image/png;base64,iVBORw0KGgo")
        );
    }
}

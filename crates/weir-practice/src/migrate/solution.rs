//! Solutions as the source keeps them: base64, and sometimes compressed before. Pure.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::{GzDecoder, ZlibDecoder};

use crate::bounds::TEXT_MAX;

/// The code of a solution. A text that is no base64 of a text is the code itself: early rows of the source have it plain.
pub(super) fn decode(stored: &str) -> String {
    let unwrapped: String = stored.split_ascii_whitespace().collect();
    let decoded = STANDARD.decode(&unwrapped).ok().filter(|bytes| !bytes.is_empty());
    let text = decoded.and_then(|bytes| decompressed(&bytes).or_else(|| plain(bytes)));
    text.unwrap_or_else(|| stored.to_owned())
}

/// The form in which the source keeps a solution.
pub(super) fn encode(code: &str) -> String {
    STANDARD.encode(code)
}

fn decompressed(bytes: &[u8]) -> Option<String> {
    let limit = TEXT_MAX as u64 + 1;
    let mut text = String::new();
    match bytes {
        [0x1f, 0x8b, ..] => GzDecoder::new(bytes).take(limit).read_to_string(&mut text).ok()?,
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
            ZlibDecoder::new(bytes).take(limit).read_to_string(&mut text).ok()?
        }
        _ => return None,
    };
    Some(text)
}

/// Bytes that are a text. Words like `main` are base64 of bytes that are none.
fn plain(bytes: Vec<u8>) -> Option<String> {
    let is_odd = |c: char| c.is_control() && !c.is_whitespace();
    String::from_utf8(bytes).ok().filter(|text| !text.contains(is_odd))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    const CODE: &str = "import sys\nprint(sum(map(int, sys.stdin)))  # 합\n";

    #[test]
    fn every_form_of_the_source_is_read() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(CODE.as_bytes()).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(CODE.as_bytes()).unwrap();
        let wrapped = encode(CODE).replace("aW50", "aW50\n");
        for stored in [
            encode(CODE),
            wrapped,
            STANDARD.encode(zlib.finish().unwrap()),
            STANDARD.encode(gzip.finish().unwrap()),
            CODE.to_owned(),
        ] {
            assert_eq!(decode(&stored), CODE, "{stored}");
        }
    }

    #[test]
    fn code_that_looks_like_base64_stays() {
        for code in ["", "main", "abcd", "print(1)", "while"] {
            assert_eq!(decode(code), code);
            assert_eq!(decode(&encode(code)), code);
        }
    }
}

//! Files that the binary contains, compressed. A client that does not accept gzip gets them unpacked.

use std::io::Read as _;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use flate2::read::GzDecoder;

use crate::{ApiError, Code};

/// The response with a file that is compressed with gzip.
///
/// # Errors
/// The file cannot be unpacked.
pub fn packed_response(packed: &'static [u8], request: &HeaderMap) -> Result<Response, ApiError> {
    if accepts_gzip(request) {
        let encoding = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
        return Ok((encoding, packed).into_response());
    }
    Ok(unpack(packed)?.into_response())
}

/// Whether a browser accepts gzip. A client that lists it with a weight gets the file unpacked.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|coding| coding.trim().eq_ignore_ascii_case("gzip")))
}

pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, ApiError> {
    let mut unpacked = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut unpacked).map_err(|error| {
        ApiError::new(Code::INTERNAL_ERROR, "the page cannot be shown").because(error.to_string())
    })?;
    Ok(unpacked)
}

//! A fix for empty maps in the streams of DynamoDB Local.
//!
//! It writes an empty map as `{}`, without its type `M`. The SDK cannot parse that, so one such item would stop a feed for
//! good. This client inserts the `M` before the SDK parses the response. AWS writes it, so the fix is not used there.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::byte_stream::ByteStream;

/// An empty map with its type.
const MAP: &[u8] = br#"{"M":{}}"#;

/// Members whose value is an object, but not an attribute value.
const OTHERS: [&[u8]; 5] = [b"M", b"Keys", b"OldImage", b"NewImage", b"dynamodb"];

/// An HTTP client that adds the type to empty maps in responses.
#[derive(Debug)]
pub(super) struct NamesEmptyMaps(SharedHttpClient);

impl NamesEmptyMaps {
    pub(super) fn new(client: SharedHttpClient) -> NamesEmptyMaps {
        NamesEmptyMaps(client)
    }
}

impl HttpClient for NamesEmptyMaps {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector(self.0.http_connector(settings, components)))
    }
}

#[derive(Debug)]
struct Connector(SharedHttpConnector);

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let answer = self.0.call(request);
        HttpConnectorFuture::new(async move {
            let mut answer = answer.await?;
            let body = ByteStream::new(answer.take_body()).collect().await;
            let body = body.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
            *answer.body_mut() = named(&body).into();
            Ok(answer)
        })
    }
}

/// Adds the type to every empty map in a JSON text.
fn named(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    // The last string; before a `:` it is a member's name.
    let mut text = Vec::new();
    let (mut is_text, mut is_escaped) = (false, false);
    for &byte in json {
        if is_text {
            match byte {
                b'"' if !is_escaped => is_text = false,
                _ => text.push(byte),
            }
            is_escaped = byte == b'\\' && !is_escaped;
        } else if byte == b'"' {
            is_text = true;
            text.clear();
        } else if byte == b'}' && is_unnamed(&out, &text) {
            out.pop();
            out.extend_from_slice(MAP);
            continue;
        }
        out.push(byte);
    }
    out
}

/// Whether a `}` after `out` would end an empty map without a type: the last byte is `{`, after a member of a map or an
/// element of a list.
fn is_unnamed(out: &[u8], text: &[u8]) -> bool {
    match out {
        [.., b':', b'{'] => !OTHERS.contains(&text),
        [.., b'[' | b',', b'{'] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> String {
        String::from_utf8(named(json.as_bytes())).unwrap()
    }

    #[test]
    fn empty_maps_get_their_name() {
        for (written, meant) in [
            (r#"{"a":{}}"#, r#"{"a":{"M":{}}}"#),
            (r#"{"a":{"M":{"b":{}}}}"#, r#"{"a":{"M":{"b":{"M":{}}}}}"#),
            (r#"{"a":{"L":[{},{"S":"x"},{}]}}"#, r#"{"a":{"L":[{"M":{}},{"S":"x"},{"M":{}}]}}"#),
            (r#"{"a\"":{}}"#, r#"{"a\"":{"M":{}}}"#),
        ] {
            assert_eq!(read(written), meant);
        }
    }

    #[test]
    fn everything_else_stays() {
        for json in [
            "",
            "{}",
            r#"{"Records":[],"NextShardIterator":"x"}"#,
            r#"{"Records":[{"dynamodb":{"Keys":{},"NewImage":{},"OldImage":{}}}]}"#,
            r#"{"a":{"M":{}},"b":{"L":[]},"c":{"S":"\":{}"},"d":{"S":",{}[{}\\"}}"#,
        ] {
            assert_eq!(read(json), json);
        }
    }
}

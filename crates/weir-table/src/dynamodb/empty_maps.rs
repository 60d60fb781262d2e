//! Empty maps in what DynamoDB Local says of changes.
//!
//! Its streams write an empty map as `{}`, without the `M` that says what it is. The SDK cannot read that, so one
//! such item would stop a feed for good. Here the `M` is put back before the SDK looks. AWS writes it, so nothing
//! is put between there.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::byte_stream::ByteStream;

/// What an empty map is to look like.
const MAP: &[u8] = br#"{"M":{}}"#;

/// Members whose value is an object of another kind than a value of an item.
const OTHERS: [&[u8]; 5] = [b"M", b"Keys", b"OldImage", b"NewImage", b"dynamodb"];

/// A client whose answers name empty maps.
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

/// The same JSON with every empty map named.
fn named(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    // The text that ended last; before a `:` it is a member's name.
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

/// Whether a `}` after `out` ends an empty map without a name: `{` is the last byte, and before it comes a member of
/// a map or an element of a list.
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

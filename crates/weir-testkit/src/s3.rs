//! Buckets of the S3 that moto serves.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Names the caller; moto does not check the signature.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=local/20260115/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// Makes a bucket at the address of a moto.
///
/// # Errors
/// It does not answer, or not with 200.
pub fn make_bucket(endpoint: &str, bucket: &str) -> std::io::Result<()> {
    let host = endpoint.strip_prefix("http://").unwrap_or(endpoint);
    let mut stream = TcpStream::connect(host)?;
    let head = format!(
        "PUT /{bucket} HTTP/1.0\r\nHost: {host}\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.lines().next() {
        Some(status) if status.contains(" 200 ") => Ok(()),
        status => Err(std::io::Error::other(format!("{status:?}"))),
    }
}

//! Asks an address whether DynamoDB answers there.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long one question may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest answer read; the answer to `ListTables` on a new server is a few hundred bytes.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// Whether a `ListTables` call to `address` succeeds.
///
/// A connection alone proves little: moto listens before it is able to answer.
pub(crate) fn answers(address: SocketAddr) -> bool {
    list_tables(address).is_ok_and(|answer| answer.contains("\"TableNames\""))
}

fn list_tables(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PROBE_TIMEOUT)?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
    stream.set_write_timeout(Some(PROBE_TIMEOUT))?;
    // A well-formed signature is asked for, and no server looks whether it is right.
    let request = format!(
        "POST / HTTP/1.1\r\n\
         Host: {address}\r\n\
         Content-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: DynamoDB_20120810.ListTables\r\n\
         X-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 \
         Credential=weir/20260101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host;x-amz-date, Signature=00\r\n\
         Content-Length: 2\r\n\
         Connection: close\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

//! Clients that mean no good: each connects, sends some bytes, and holds what it has got.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// A body that is announced and never comes; one byte of it does.
pub(crate) const HALF_BODY: &str = "POST /auth/token HTTP/1.1\r\nHost: x\r\n\
    Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
/// The same in chunks.
pub(crate) const HALF_CHUNK: &str = "POST /auth/token HTTP/1.1\r\nHost: x\r\n\
    Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n";
/// A head that never ends.
pub(crate) const HALF_HEAD: &str = "POST /auth/token HTTP/1.1\r\nHost: x\r\nX-";
/// A TLS record that announces a handshake.
pub(crate) const HALF_HANDSHAKE: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00";
/// Large responses, which are never read.
pub(crate) const DEAF: &str = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";

/// The address of attackers; honest clients have 127.0.0.1.
const FROM: &str = "127.0.0.2:0";
/// The smallest buffer that a client can have, so that the server has to keep what it wants to send.
const DEAF_BUFFER: u32 = 4 * 1024;

/// The open connections of an attack.
pub(crate) struct Attack(Vec<TcpStream>);

impl Attack {
    /// Opens `count` connections that have sent `bytes`.
    pub(crate) async fn start(
        address: SocketAddr,
        count: usize,
        bytes: impl AsRef<[u8]>,
    ) -> Attack {
        let mut held = Vec::with_capacity(count);
        for _ in 0..count {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(DEAF_BUFFER).unwrap();
            socket.bind(FROM.parse().unwrap()).unwrap();
            let mut stream = socket.connect(address).await.unwrap();
            // It fails if the server has refused the rest, which the answer says.
            stream.write_all(bytes.as_ref()).await.ok();
            held.push(stream);
        }
        Attack(held)
    }

    /// What each connection has got when the server has closed it.
    pub(crate) async fn answers(self) -> Vec<String> {
        let mut answers = Vec::new();
        for mut stream in self.0 {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.ok();
            answers.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        answers
    }

    /// The number of connections that the server has not closed.
    pub(crate) fn open(&self) -> usize {
        let is_open = |stream: &&TcpStream| {
            let read = stream.try_read(&mut [0; 1]);
            matches!(read, Ok(1))
                || read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        };
        self.0.iter().filter(is_open).count()
    }
}

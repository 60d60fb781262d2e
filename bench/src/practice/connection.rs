//! A connection that stays open, and waits for each response.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

/// A connection to the server.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    /// Holds a body while it is read.
    body: Vec<u8>,
}

impl Connection {
    pub(super) fn open(host: &str) -> Connection {
        let stream = TcpStream::connect(host).expect("a connection");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        Connection { stream: BufReader::new(stream), body: Vec::new() }
    }

    /// Sends a request, reads the whole response and returns its status.
    pub(super) fn exchange(&mut self, request: &[u8]) -> std::io::Result<u16> {
        self.stream.get_mut().write_all(request)?;
        let status = self.line()?.split(' ').nth(1).and_then(|status| status.parse().ok());
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            match line.split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap_or(0),
                Some(("transfer-encoding", "chunked")) => is_chunked = true,
                None => break,
                _ => {}
            }
        }
        if is_chunked {
            self.skip_chunks()?
        } else {
            self.skip(length)?
        }
        status.ok_or_else(|| std::io::Error::other("a response without a status"))
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    fn skip_chunks(&mut self) -> std::io::Result<()> {
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).unwrap_or(0);
            self.skip(length)?;
            self.line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn skip(&mut self, bytes: usize) -> std::io::Result<()> {
        self.body.resize(bytes, 0);
        self.stream.read_exact(&mut self.body)
    }
}

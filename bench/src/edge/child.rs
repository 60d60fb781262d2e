//! A server in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// What a server prints once it takes requests, followed by its address.
pub(super) const LISTENING: &str = "listening on ";

/// A server that takes requests.
pub(super) struct Child {
    process: std::process::Child,
    /// `http://HOST:PORT`.
    pub(super) origin: String,
    /// From the start of the process until it listened.
    pub(super) started_in: Duration,
}

impl Child {
    /// Starts it and waits until it says that it listens.
    pub(super) fn start(command: &mut Command) -> Child {
        let begun = Instant::now();
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the server starts");
        let stdout = process.stdout.take().expect("its stdout");
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let origin = lines.filter_map(|line| Some(line.strip_prefix(LISTENING)?.to_owned())).next();
        Child {
            process,
            origin: origin.expect("the server says where it listens"),
            started_in: begun.elapsed(),
        }
    }

    /// Tells it to stop and waits until it has.
    pub(super) fn stop(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("SIGTERM");
        self.process.wait().expect("the server ends");
    }

    /// What it holds in memory, in MiB.
    pub(super) fn resident_mib(&self) -> u64 {
        crate::measure::resident_mib_of(&self.process.id().to_string())
    }

    /// One request on a connection of its own; the body of the answer, which must be a good one.
    pub(super) fn ask(&self, method: &str, path: &str, headers: &[String], body: &str) -> String {
        let host = self.origin.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).expect("a connection");
        let length = body.len();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n"
        );
        for header in headers {
            request.push_str(header);
            request.push_str("\r\n");
        }
        write!(stream, "{request}\r\n{body}").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 2"), "{path}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        body.to_owned()
    }
}

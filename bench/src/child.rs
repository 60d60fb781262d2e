//! A server in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// What a server prints once it takes requests, followed by its address.
pub(crate) const LISTENING: &str = "listening on ";
/// A server that does not take connections by then never will.
const LONGEST_START: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// A server that takes requests. It ends when this is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    /// `http://HOST:PORT`.
    pub(crate) origin: String,
    /// From the start of the process until it listened.
    pub(crate) started_in: Duration,
}

impl Child {
    /// Starts it and waits until it says that it listens.
    pub(crate) fn start(command: &mut Command) -> Child {
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

    /// Starts one that does not say where it listens, and waits until `port` takes connections.
    pub(crate) fn start_on(command: &mut Command, port: u16) -> Child {
        let begun = Instant::now();
        let process = command.stdout(Stdio::null()).spawn().expect("the server starts");
        let origin = format!("http://127.0.0.1:{port}");
        let mut child = Child { process, origin, started_in: Duration::ZERO };
        while TcpStream::connect(child.host()).is_err() {
            assert!(begun.elapsed() < LONGEST_START, "{command:?} does not listen");
            std::thread::sleep(BETWEEN_TRIES);
        }
        child.started_in = begun.elapsed();
        child
    }

    /// Tells it to stop and waits until it has.
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("SIGTERM");
        self.process.wait().expect("the server ends");
    }

    /// What it holds in memory, in MiB.
    pub(crate) fn resident_mib(&self) -> u64 {
        crate::measure::resident_mib_of(&self.process.id().to_string())
    }

    /// The processor time it has used, its own and the kernel's for it.
    pub(crate) fn processor_time(&self) -> Duration {
        crate::measure::processor_time_of(&self.process.id().to_string())
    }

    fn host(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }

    /// One request on a connection of its own; the body of the answer, which must be a good one.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[String], body: &str) -> String {
        let (head, body) = self.exchange(method, path, headers, body);
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {head} {body}");
        body
    }

    /// One request on a connection of its own; head and body of the answer.
    pub(crate) fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[String],
        body: &str,
    ) -> (String, String) {
        let host = self.host();
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
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Child {
    /// A benchmark that cannot go on leaves no server behind.
    fn drop(&mut self) {
        // One that has ended already is left alone; for all else it is too late to do more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listens on, for servers that cannot choose one themselves.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

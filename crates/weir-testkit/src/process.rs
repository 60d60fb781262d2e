//! Servers that are child processes: DynamoDB Local and moto.
//!
//! A server must not outlive its test, whatever ends the test:
//!
//! 1. When the value is dropped, the child is killed and waited for.
//! 2. When the process is killed, the kernel kills the child (`setpriv --pdeathsig KILL`). That
//!    signal is tied to the thread that started the child and not to its process, so each child
//!    has a supervisor thread which starts it and then stays.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Error, probe, tools};

/// How long a server may take until it answers; a JVM beside a busy compiler is slow.
const READY_TIMEOUT: Duration = Duration::from_secs(90);

/// Pause between two looks at a server that does not answer yet.
const READY_POLL: Duration = Duration::from_millis(50);

/// How long a server that is asked to end may take.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// A free port can be taken by someone else before the server has it, so a start may be repeated.
const START_TRIES: usize = 3;

/// How much of a failed server's output goes into the error.
const OUTPUT_BYTES_MAX: u64 = 4096;

/// Amazon's DynamoDB Local with an empty in-memory database; it ends when this value is dropped.
#[derive(Debug)]
pub struct DynamoLocal(Process);

impl DynamoLocal {
    /// Starts it on a free port and waits until it answers.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn start() -> Result<Self, Error> {
        let jar = tools::installed("dynamodb-local/DynamoDBLocal.jar")?;
        let arguments = |port: u16| {
            let mut arguments =
                vec!["--".into(), "java".into(), "-jar".into(), jar.clone().into_os_string()];
            // Without -sharedDb every region has tables of its own: see `dynamo_local_region`.
            arguments.extend(["-inMemory", "-disableTelemetry"].map(Into::into));
            arguments.extend(["-port".into(), port.to_string().into()]);
            arguments
        };
        Process::start(&Launch::new("DynamoDB Local", &arguments)).map(Self)
    }

    /// The address, as `http://HOST:PORT`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }
}

/// A moto server with no data; it ends when this value is dropped.
#[derive(Debug)]
pub struct Moto(Process);

impl Moto {
    /// Starts it on a free port and waits until it answers.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn start() -> Result<Self, Error> {
        let program = tools::installed("python/bin/moto_server")?;
        let arguments = |port: u16| {
            let mut arguments = vec!["--".into(), program.clone().into_os_string()];
            arguments.extend(["-H", "127.0.0.1", "-p"].map(Into::into));
            arguments.push(port.to_string().into());
            arguments
        };
        Process::start(&Launch::new("moto", &arguments)).map(Self)
    }

    /// The address, as `http://HOST:PORT`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }
}

/// A running server and its supervisor thread.
#[derive(Debug)]
pub(crate) struct Process {
    endpoint: String,
    /// Dropped to end the server: the supervisor waits for it.
    stop: Option<mpsc::Sender<()>>,
    supervisor: Option<JoinHandle<()>>,
}

/// Options of `setpriv`, `--`, the program and its arguments, given the port to listen on.
type Arguments<'a> = dyn Fn(u16) -> Vec<std::ffi::OsString> + 'a;

/// How a server is started, asked and ended.
pub(crate) struct Launch<'a> {
    /// The name of the server.
    pub(crate) server: &'static str,
    pub(crate) arguments: &'a Arguments<'a>,
    /// Whether it answers.
    pub(crate) answers: fn(SocketAddr) -> bool,
    /// The signal that ends it.
    pub(crate) signal: &'static str,
    /// The port; a free one when `None`.
    pub(crate) port: Option<u16>,
}

impl<'a> Launch<'a> {
    fn new(server: &'static str, arguments: &'a Arguments<'a>) -> Launch<'a> {
        Launch { server, arguments, answers: probe::answers, signal: "KILL", port: None }
    }
}

impl Process {
    pub(crate) fn start(launch: &Launch<'_>) -> Result<Self, Error> {
        let deadline = Instant::now() + READY_TIMEOUT;
        let mut tries = 1;
        loop {
            match Self::try_start(launch, deadline) {
                Err(Error::NotReady { .. }) if tries < START_TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    /// The address, as `http://HOST:PORT`.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn try_start(launch: &Launch<'_>, deadline: Instant) -> Result<Self, Error> {
        let Launch { server, arguments, answers, signal, port } = *launch;
        let address = match port {
            Some(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            None => free_address().map_err(io(server, "find a free port"))?,
        };
        let mut output = tempfile::tempfile().map_err(io(server, "open a temporary file"))?;
        let mut command = tied_to_this_thread(arguments(address.port()), &output, signal)
            .map_err(io(server, "set up"))?;

        let (sender, lines) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let keep = move || {
            let started = command.spawn().map_err(io(server, "run setpriv")).and_then(|child| {
                let running = Running { child, signal };
                running.until_ready((server, answers), address, deadline, &mut output)
            });
            let (running, answer) = match started {
                Ok(running) => (Some(running), Ok(())),
                Err(error) => (None, Err(error)),
            };
            if sender.send(answer).is_ok() && running.is_some() {
                // Never receives: returns when the other end is dropped, and then ends the server.
                stopped.recv().ok();
            }
        };
        let supervisor = thread::Builder::new()
            .name(format!("{server} supervisor"))
            .spawn(keep)
            .map_err(io(server, "start a thread"))?;
        let process = Self {
            endpoint: format!("http://{address}"),
            stop: Some(stop),
            supervisor: Some(supervisor),
        };
        match lines.recv() {
            Ok(answer) => answer.map(|()| process),
            Err(mpsc::RecvError) => {
                Err(not_ready(server, "lost its supervisor thread", String::new()))
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(supervisor) = self.supervisor.take() {
            // A panic of the supervisor has been printed already.
            supervisor.join().ok();
        }
    }
}

/// A child that is ended and waited for when dropped.
struct Running {
    child: Child,
    signal: &'static str,
}

impl Running {
    /// Waits until the server answers, at most until `deadline`.
    fn until_ready(
        mut self,
        (server, answers): (&'static str, fn(SocketAddr) -> bool),
        address: SocketAddr,
        deadline: Instant,
        output: &mut File,
    ) -> Result<Self, Error> {
        loop {
            let answers = answers(address);
            // Looked at after the answer, which may have come from someone else on a taken port.
            if let Some(status) = self.child.try_wait().map_err(io(server, "wait"))? {
                return Err(not_ready(server, &format!("ended with {status}"), end_of(output)));
            }
            if answers {
                return Ok(self);
            }
            if Instant::now() > deadline {
                let what = format!("did not answer within {} s", READY_TIMEOUT.as_secs());
                return Err(not_ready(server, &what, end_of(output)));
            }
            thread::sleep(READY_POLL);
        }
    }
}

impl Running {
    /// Asks the child to end, and waits for a while.
    fn ends_by_signal(&mut self) -> bool {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-s", self.signal, &pid]).status().ok();
        let deadline = Instant::now() + END_TIMEOUT;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return true;
            }
            thread::sleep(READY_POLL);
        }
        false
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // All fail only when the child is gone, which is what we want.
        if self.signal != "KILL" && self.ends_by_signal() {
            return;
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The command that runs `arguments` until it ends or the thread that starts it does.
///
/// Output goes to a file and not to ours: a test runner waits for whoever holds its output open.
fn tied_to_this_thread(
    arguments: Vec<std::ffi::OsString>,
    output: &File,
    signal: &str,
) -> std::io::Result<Command> {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", signal])
        .args(arguments)
        .current_dir(scratch_folder())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    Ok(command)
}

/// Where a server may leave files without littering the repository.
fn scratch_folder() -> PathBuf {
    std::env::temp_dir()
}

fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// The last part of what a server printed, as far as it can be read.
fn end_of(output: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = output.seek(SeekFrom::End(0)).unwrap_or(0);
    output.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES_MAX))).ok();
    output.read_to_end(&mut bytes).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn not_ready(server: &'static str, what: &str, output: String) -> Error {
    Error::NotReady { server, what: what.to_owned(), output }
}

pub(crate) fn io(
    server: &'static str,
    doing: &'static str,
) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Io { doing, server, source }
}

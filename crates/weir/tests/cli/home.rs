//! A folder of a test's own, with `weir` run inside it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use weir_table::embedded::{Embedded, Options};
use weir_table::{Backend as _, Item, TableSpec, Write, limits};

/// The spec that documentation and tests use.
pub(crate) const ORDERS: &str = include_str!("../../../../docs/specs/orders.json");

const WAIT_MAX: Duration = Duration::from_secs(20);

/// A folder with nothing in it but `orders.json`.
pub(crate) struct Home {
    folder: TempDir,
}

/// What a run of the binary printed, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// The run failed with this code, wrote nothing to stdout, and said all of this.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        for text in says {
            assert!(self.err.contains(text), "{text:?} is missing in {:?}", self.err);
        }
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn items(self) -> serde_json::Value {
        items(&self.json()).clone()
    }

    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// The items of a list as `--json` prints it: `{"items": […], "next_cursor": …}` and nothing else.
#[track_caller]
pub(crate) fn items(list: &serde_json::Value) -> &serde_json::Value {
    let fields: Vec<_> = list.as_object().unwrap_or_else(|| panic!("{list}")).keys().collect();
    assert_eq!(fields, ["items", "next_cursor"], "{list}");
    assert!(list["items"].is_array(), "{list}");
    &list["items"]
}

impl Home {
    pub(crate) fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("orders.json"), ORDERS).unwrap();
        Home { folder }
    }

    /// A folder whose store has the table `orders`.
    pub(crate) fn with_orders() -> Home {
        let home = Home::new();
        home.weir("tables create --spec orders.json").ok();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that is `weir`, with no settings of the caller's.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        clean(&mut command, self.folder.path());
        command
    }

    /// Writes the configuration file that `weir` finds by itself.
    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.path("weir.toml"), text).unwrap();
    }

    /// Runs `weir` with the arguments of a shell line.
    #[track_caller]
    pub(crate) fn weir(&self, line: &str) -> Run {
        self.weir_in(&[], line)
    }

    /// Runs `weir` with these variables set.
    #[track_caller]
    pub(crate) fn weir_in(&self, variables: &[(&str, &str)], line: &str) -> Run {
        let arguments = shlex::split(line).unwrap();
        let mut command = self.command();
        command.envs(variables.iter().copied()).args(arguments);
        let output = command.output().unwrap();
        Run {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts a server on the store in `data`.
    pub(crate) fn serve(&self, data: &str) -> Server {
        self.serve_with(&["--data", data])
    }

    pub(crate) fn serve_with(&self, flags: &[&str]) -> Server {
        self.serve_in(&[], flags)
    }

    /// Starts a server with these variables set.
    pub(crate) fn serve_in(&self, variables: &[(&str, &str)], flags: &[&str]) -> Server {
        Home::started(self.command().envs(variables.iter().copied()), flags)
    }

    /// Starts a server whose notes go to a file.
    pub(crate) fn serve_noting(&self, file: &str, flags: &[&str]) -> Server {
        let notes = fs::File::create(self.path(file)).unwrap();
        Home::started(self.command().stderr(notes), flags)
    }

    fn started(command: &mut Command, flags: &[&str]) -> Server {
        let serve = command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags);
        let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(lines.next().unwrap().unwrap()));
        let line = receiver.recv_timeout(WAIT_MAX).unwrap();
        let (_, address) =
            line.strip_prefix("listening on http").unwrap().split_once("://").unwrap();
        let address = address.to_owned();
        Server { child, address }
    }

    /// Fills a table without the binary, which takes a process per item.
    pub(crate) fn fill(&self, data: &str, specs: &[TableSpec], items: &[(&str, Item)]) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let store = Embedded::open(Options::new(self.path(data))).unwrap();
            for spec in specs {
                store.create_table(spec).await.unwrap();
            }
            for batch in items.chunks(limits::BATCH_WRITE_MAX) {
                let puts =
                    batch.iter().map(|(table, item)| Write::put(*table, item.clone()).flushed());
                store.batch_write(puts.collect()).await.unwrap();
            }
            store.close().await.unwrap();
        });
    }
}

/// Takes the caller's settings away from a command.
pub(crate) fn clean(command: &mut Command, folder: &Path) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_setting = ["WEIR_", "AWS_", "CLICOLOR", "NO_COLOR", "COLUMNS"];
        if is_setting.iter().any(|setting| name.starts_with(setting)) {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).envs(weir_testkit::dynamo_local_environment());
}

/// A running server; it is killed when this value is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks over TCP; the status and the body.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.ask(path, "")
    }

    /// Asks for a kind of response.
    pub(crate) fn get_accepting(&self, path: &str, kind: &str) -> (u16, String) {
        self.ask(path, &format!("Accept: {kind}\r\n"))
    }

    /// Asks with the admin key.
    pub(crate) fn get_with(&self, path: &str, key: &str) -> (u16, String) {
        self.ask(path, &format!("X-API-Key: {key}\r\n"))
    }

    /// Asks with a token.
    pub(crate) fn get_as(&self, path: &str, token: &str) -> (u16, String) {
        self.ask(path, &format!("Authorization: Bearer {token}\r\n"))
    }

    /// Posts nothing, with the admin key.
    pub(crate) fn post_with(&self, path: &str, key: &str) -> (u16, String) {
        self.send("POST", path, &format!("X-API-Key: {key}\r\nContent-Length: 0\r\n"))
    }

    fn ask(&self, path: &str, headers: &str) -> (u16, String) {
        self.send("GET", path, headers)
    }

    fn send(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}");
        write!(stream, "{head}Connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// Asks it to stop, and says how it ended.
    pub(crate) fn stop(mut self) -> Option<i32> {
        signal(self.child.id(), "TERM");
        wait(&mut self.child)
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Waits for the end of a process, but not for ever.
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    wait_within(child, WAIT_MAX)
}

/// The same, for one that has more to do.
pub(crate) fn wait_within(child: &mut Child, max: Duration) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < max {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the process did not end");
}

//! A PostgreSQL server, and databases of tests.
//!
//! The server refuses to run as root, so it runs as the user of Debian's package then. It has no password and listens on the
//! loopback address only.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::Error;
use crate::process::{Launch, Process, io};

const SERVER: &str = "PostgreSQL";
/// Where Debian's packages put their versions.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The user of Debian's package.
const ACCOUNT: &str = "postgres";
const FOLDER_PREFIX: &str = "weir-postgres-";
/// The process that made a folder.
const MAKER: &str = "maker.pid";
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// A PostgreSQL server in a temporary folder; it ends when this value is dropped.
#[derive(Debug)]
pub struct Postgres {
    process: Option<Process>,
    folder: TempDir,
    url: String,
    port: u16,
}

impl Postgres {
    /// Starts a server on a free port and waits until it answers.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn start() -> Result<Postgres, Error> {
        Postgres::start_with(None)
    }

    /// Starts a server that also speaks TLS, with a certificate and its key as PEM.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn start_with_tls(certificate: &str, key: &str) -> Result<Postgres, Error> {
        Postgres::start_with(Some((certificate, key)))
    }

    fn start_with(tls: Option<(&str, &str)>) -> Result<Postgres, Error> {
        remove_abandoned();
        let folder = TempDir::with_prefix(FOLDER_PREFIX).map_err(io(SERVER, "make a folder"))?;
        let maker = std::process::id().to_string();
        fs::write(folder.path().join(MAKER), maker).map_err(io(SERVER, "write a file"))?;
        if let Some((user, group)) = account() {
            chown(folder.path(), Some(user), Some(group)).map_err(io(SERVER, "give a folder"))?;
        }
        let data = folder.path().join("data");
        make_cluster(&data)?;
        if let Some((certificate, key)) = tls {
            give(&data.join("server.crt"), certificate)?;
            give(&data.join("server.key"), key)?;
            let config = data.join("postgresql.auto.conf");
            fs::write(config, "ssl = on\n").map_err(io(SERVER, "write a file"))?;
        }
        let mut server = Postgres { process: None, folder, url: String::new(), port: 0 };
        server.launch(None)?;
        Ok(server)
    }

    /// The URL of the server, without a database: `postgres://postgres@127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server, as if its machine was restarted.
    pub fn stop(&mut self) {
        self.process = None;
    }

    /// Starts the server again, with its databases and its port.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start_again(&mut self) -> Result<(), Error> {
        self.launch(Some(self.port))
    }

    fn launch(&mut self, port: Option<u16>) -> Result<(), Error> {
        let program = program("postgres")?;
        let data = self.folder.path().join("data");
        let arguments = |port: u16| {
            let mut arguments = as_account();
            arguments.extend(["--".into(), program.clone().into_os_string()]);
            arguments.extend(["-D".into(), data.clone().into_os_string()]);
            // Tests need no data after a crash of the machine.
            arguments.extend(
                ["-h", "127.0.0.1", "-k", "", "-F", "-N", "200", "-B", "64MB", "-p"]
                    .map(OsString::from),
            );
            arguments.push(port.to_string().into());
            arguments
        };
        let launch = Launch { server: SERVER, arguments: &arguments, answers, signal: "INT", port };
        let process = Process::start(&launch)?;
        let address = process.endpoint().trim_start_matches("http://").to_owned();
        self.port = address.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(0);
        self.url = format!("postgres://postgres@{address}");
        self.process = Some(process);
        Ok(())
    }
}

/// A database of a test's own; it is dropped with this value.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Creates a database on a server.
    ///
    /// # Errors
    /// The server refuses, or `psql` is not installed.
    pub fn create(server: &str, name: &str) -> Result<Database, Error> {
        let name = crate::unique_prefix(name).trim_end_matches('-').replace('-', "_");
        let database = Database { server: server.to_owned(), name };
        psql(&database.on("postgres"), &format!("CREATE DATABASE {}", database.name))?;
        Ok(database)
    }

    /// The URL of the database.
    #[must_use]
    pub fn url(&self) -> String {
        self.on(&self.name)
    }

    /// Runs statements. Returns the rows of queries: columns divided by `|`, rows by line ends.
    ///
    /// # Errors
    /// A statement fails, or the server does not respond.
    pub fn run(&self, statements: &str) -> Result<String, Error> {
        psql(&self.url(), statements)
    }

    fn on(&self, database: &str) -> String {
        format!("{}/{database}?sslmode=disable", self.server)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The server may be gone already.
        psql(&self.on("postgres"), &format!("DROP DATABASE {} WITH (FORCE)", self.name)).ok();
    }
}

fn psql(url: &str, statements: &str) -> Result<String, Error> {
    let mut child = Command::new(program("psql")?)
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io(SERVER, "run psql"))?;
    if let Some(mut input) = child.stdin.take() {
        // A statement that fails ends psql before it has read all.
        input.write_all(statements.as_bytes()).ok();
    }
    let output = child.wait_with_output().map_err(io(SERVER, "wait for psql"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let what = "refused a statement".to_owned();
        return Err(Error::NotReady { server: SERVER, what, output: text(&output.stderr) });
    }
    Ok(text(&output.stdout).trim_end().to_owned())
}

fn make_cluster(data: &Path) -> Result<(), Error> {
    let mut arguments = as_account();
    arguments.extend(["--".into(), program("initdb")?.into_os_string()]);
    arguments.extend(["-D".into(), data.into()]);
    arguments.extend(
        ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
            .map(OsString::from),
    );
    let made = Command::new("setpriv").args(arguments).current_dir("/").output();
    let made = made.map_err(io(SERVER, "run initdb"))?;
    if made.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&made.stderr).into_owned();
    Err(Error::NotReady { server: SERVER, what: "cannot be set up".to_owned(), output })
}

/// Writes a file that only the server may read.
fn give(file: &Path, text: &str) -> Result<(), Error> {
    fs::write(file, text).map_err(io(SERVER, "write a file"))?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
        .map_err(io(SERVER, "protect a file"))?;
    match account() {
        Some((user, group)) => {
            chown(file, Some(user), Some(group)).map_err(io(SERVER, "give a file"))
        }
        None => Ok(()),
    }
}

/// Options of `setpriv` for a server that must not run as root.
fn as_account() -> Vec<OsString> {
    match account() {
        Some((user, group)) => {
            let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
            vec![user.into(), group.into(), "--clear-groups".into()]
        }
        None => Vec::new(),
    }
}

/// User and group of Debian's package, if this process is root.
fn account() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    (id(&["-u"])? == 0).then_some(())?;
    Some((id(&["-u", ACCOUNT])?, id(&["-g", ACCOUNT])?))
}

/// A program of the newest version that is installed.
fn program(name: &str) -> Result<PathBuf, Error> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let number = |path: &PathBuf| -> u32 {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or_default()
    };
    let newest = versions.map(|entry| entry.path()).max_by_key(number);
    let path = newest.unwrap_or_else(|| PathBuf::from(VERSIONS)).join("bin").join(name);
    match path.exists() {
        true => Ok(path),
        false => Err(Error::NotInstalled { path: path.display().to_string() }),
    }
}

/// Whether a server accepts connections: it answers a connection of the user `postgres` with its authentication.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<u8> {
        let mut stream = TcpStream::connect_timeout(&address, PROBE_TIMEOUT)?;
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        let parameters = b"user\0postgres\0database\0postgres\0\0";
        let length = u32::try_from(8 + parameters.len()).unwrap_or_default();
        let protocol: u32 = 3 << 16;
        stream.write_all(&length.to_be_bytes())?;
        stream.write_all(&protocol.to_be_bytes())?;
        stream.write_all(parameters)?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        Ok(answer[0])
    };
    ask().is_ok_and(|answer| answer == b'R')
}

/// Removes the folders of processes that were killed.
fn remove_abandoned() {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for entry in entries {
        let is_ours = entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX);
        let maker = fs::read_to_string(entry.path().join(MAKER)).ok();
        let maker = maker.filter(|_| is_ours).filter(|pid| pid.parse::<u32>().is_ok());
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_server_comes_back_with_its_databases() {
        let mut server = Postgres::start().unwrap();
        let database = Database::create(server.url(), "stopped").unwrap();
        database.run("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)").unwrap();
        assert_eq!(database.run("SELECT n, n + 1 FROM t ORDER BY n").unwrap(), "1|2\n2|3");
        server.stop();
        assert!(database.run("SELECT 1").is_err());
        server.start_again().unwrap();
        assert_eq!(database.run("SELECT count(*) FROM t").unwrap(), "2");
        let error = database.run("SELECT nothing").unwrap_err().to_string();
        assert!(error.contains("column \"nothing\" does not exist"), "{error}");
    }
}

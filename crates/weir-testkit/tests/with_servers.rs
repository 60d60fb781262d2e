//! The `with-servers` program: what the command sees, and that no server is left behind.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap like the tests")]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use weir_testkit::{DYNAMO_LOCAL_VAR, MOTO_VAR, POSTGRES_VAR};

const SHOW_SERVERS: &str =
    "echo $WEIR_TEST_DYNAMODB_LOCAL; echo $WEIR_TEST_MOTO; echo $WEIR_TEST_POSTGRES";

/// Starts `with-servers sh -c script` with servers of its own, and reads the three addresses.
fn start(script: &str) -> (Child, Vec<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_with-servers"))
        .args(["sh", "-c", script])
        .env_remove(DYNAMO_LOCAL_VAR)
        .env_remove(MOTO_VAR)
        .env_remove(POSTGRES_VAR)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let addresses = output
        .lines()
        .take(3)
        .map(|line| line.unwrap().rsplit(['/', '@']).next().unwrap().to_owned())
        .collect();
    (child, addresses)
}

fn listens(address: &str) -> bool {
    TcpStream::connect(address).is_ok()
}

/// Whether nobody listens on `address` any more, waiting 5 s for it at most.
fn goes_away(address: &str) -> bool {
    (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        !listens(address)
    })
}

#[test]
fn passes_the_exit_status_on_and_stops_the_servers() {
    let (mut child, addresses) = start(&format!("{SHOW_SERVERS}; read line; exit 7"));
    assert!(addresses.iter().all(|address| listens(address)), "{addresses:?}");

    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert!(addresses.iter().all(|address| goes_away(address)), "{addresses:?}");
}

#[test]
fn servers_die_with_a_killed_process() {
    let (mut child, addresses) = start(&format!("{SHOW_SERVERS}; read line"));
    assert!(addresses.iter().all(|address| listens(address)), "{addresses:?}");

    child.kill().unwrap();
    child.wait().unwrap();
    assert!(addresses.iter().all(|address| goes_away(address)), "{addresses:?}");
}

#[test]
fn keeps_servers_that_the_environment_names() {
    let output = Command::new(env!("CARGO_BIN_EXE_with-servers"))
        .args(["sh", "-c", SHOW_SERVERS])
        .env(DYNAMO_LOCAL_VAR, "http://127.0.0.1:1")
        .env(MOTO_VAR, "http://127.0.0.1:2")
        .env(POSTGRES_VAR, "postgres://127.0.0.1:3")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "http://127.0.0.1:1\nhttp://127.0.0.1:2\npostgres://127.0.0.1:3\n"
    );
}

#[test]
fn says_how_to_install_what_is_missing() {
    let output = Command::new(env!("CARGO_BIN_EXE_with-servers"))
        .arg("true")
        .env("WEIR_TOOLS", "/nowhere")
        .env_remove(DYNAMO_LOCAL_VAR)
        .env_remove(MOTO_VAR)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("DynamoDBLocal.jar is missing: run `make setup`"), "{message}");
}

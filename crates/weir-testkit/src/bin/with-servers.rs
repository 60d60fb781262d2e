//! Runs a command with DynamoDB Local, moto and PostgreSQL at its side.
//!
//! `with-servers COMMAND [ARGUMENT...]` starts the servers, names them to the command in
//! `WEIR_TEST_DYNAMODB_LOCAL`, `WEIR_TEST_MOTO` and `WEIR_TEST_POSTGRES`, and ends with the command's
//! exit status. A server that the environment names already is used as it is.

use std::env;
use std::error::Error;
use std::process::{Command, ExitCode};
use std::thread;

use weir_testkit::{
    DYNAMO_LOCAL_VAR, MOTO_VAR, POSTGRES_VAR, dynamo_local_endpoint, moto_endpoint, postgres_url,
};

#[expect(clippy::print_stderr, reason = "a command-line program reports its failure there")]
fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("with-servers: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            eprintln!("  because: {error}");
            cause = error.source();
        }
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let program = arguments.next().ok_or("usage: with-servers COMMAND [ARGUMENT...]")?;
    // All at once: each takes seconds.
    let (dynamo_local, postgres, moto) = thread::scope(|scope| {
        let dynamo_local = scope.spawn(dynamo_local_endpoint);
        let postgres = scope.spawn(postgres_url);
        let moto = moto_endpoint();
        (dynamo_local.join(), postgres.join(), moto)
    });
    let postgres = postgres.map_err(|_panic| "starting PostgreSQL panicked")??;
    let dynamo_local = dynamo_local.map_err(|_panic| "starting DynamoDB Local panicked")??;
    let status = Command::new(&program)
        .args(arguments)
        .env(DYNAMO_LOCAL_VAR, dynamo_local)
        .env(MOTO_VAR, moto?)
        .env(POSTGRES_VAR, postgres)
        .status()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    // A command ended by a signal has no code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, Into::into))
}

//! `weir`: the server and the commands, in one binary. All of it is in the library beside this.

use std::process::ExitCode;

/// Folds of the store are twice as fast as with the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    weir::main()
}

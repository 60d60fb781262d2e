//! `weir`: the server and the commands, in one binary. All of it is in the library beside this.

use std::process::ExitCode;

/// The store folds twice as fast with it as with the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    weir::main()
}

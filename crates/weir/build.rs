//! A linker option that makes the release binary smaller (`docs/adr/0042-size-of-the-binary.md`).

/// The target whose default linker is the lld that comes with Rust. Others may not know the option.
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WEIR_ICF");
    let is = |name, value| std::env::var(name).is_ok_and(|found| found == value);
    // A linker other than that lld, such as one of a distribution, may refuse the option: WEIR_ICF=off leaves it out.
    if is("PROFILE", "release") && is("TARGET", TARGET) && !is("WEIR_ICF", "off") {
        // One copy of functions with the same code.
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

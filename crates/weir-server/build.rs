//! Packs the files of the console, which the binary contains compressed: `assets.rs` has a list of them.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=console");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("console");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut files = Vec::new();
    find(&root, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for (number, file) in files.iter().enumerate() {
        let path = file.strip_prefix(&root)?.to_str().ok_or("a name that is not UTF-8")?;
        let packed = out.join(format!("asset-{number}.gz"));
        let content = fs::read(file)?;
        pack(&content, &packed)?;
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let (tag, packed) = (format!("\"{:016x}\"", hasher.finish()), packed.display().to_string());
        writeln!(
            list,
            "Asset {{ path: {path:?}, tag: {tag:?}, packed: include_bytes!({packed:?}) }},"
        )?;
    }
    list.push(']');
    fs::write(out.join("assets.rs"), list)?;
    Ok(())
}

/// Adds the files of a folder and those within.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn pack(content: &[u8], packed: &Path) -> Result<(), Box<dyn Error>> {
    let mut encoder = GzEncoder::new(File::create(packed)?, Compression::best());
    encoder.write_all(content)?;
    encoder.finish()?;
    Ok(())
}

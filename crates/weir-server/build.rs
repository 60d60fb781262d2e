//! Packs the files of the console, which the binary contains compressed: `assets.rs` has a list of them.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use zopfli::{Format, Options};

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
        let content = trimmed(path, fs::read_to_string(file)?);
        pack(content.as_bytes(), &packed)?;
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
        } else if path.file_name().is_none_or(|name| name != "README.md") {
            files.push(path);
        }
    }
    Ok(())
}

/// Our own code without indentation and lines of comments, which browsers do not need. A line that ends within a template
/// has no indentation that matters: htm drops white space with a line break in it.
fn trimmed(path: &str, content: String) -> String {
    if path.starts_with("vendor/") || !(path.ends_with(".js") || path.ends_with(".css")) {
        return content;
    }
    let mut kept = String::with_capacity(content.len());
    let mut in_comment = false;
    for line in content.lines().map(str::trim) {
        if in_comment || line.starts_with("/*") {
            let end = line.find("*/");
            in_comment = end.is_none();
            // Code behind a comment would be lost with it.
            assert!(end.is_none_or(|end| end + 2 == line.len()), "{path}: {line}");
        } else if !line.is_empty() && !line.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Compresses with gzip, as tightly as that can be.
fn pack(content: &[u8], packed: &Path) -> Result<(), Box<dyn Error>> {
    Ok(zopfli::compress(Options::default(), Format::Gzip, content, File::create(packed)?)?)
}

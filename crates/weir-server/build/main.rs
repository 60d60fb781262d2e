//! Packs the files of the console, which the binary contains compressed: `assets.rs` has a list of them.
//!
//! Modules become one file, and style sheets another. The page, `index.html`, names the files of this version.

#![expect(clippy::print_stdout, reason = "cargo reads what a build script prints")]

mod bundle;

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::path::{Path, PathBuf};

use zopfli::{Format, Options};

use bundle::{Files, Result, bundle};

const INDEX: &str = "index.html";
/// The module that the page starts, and the file that takes its place.
const START: &str = "app/main.js";
const SCRIPT: &str = "console.js";
/// The file that takes the place of the style sheets of the page.
const STYLES: &str = "console.css";

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=console");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("console");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut files = read(&root)?;
    let index = files.remove(INDEX).ok_or("no index.html")?;
    let script = bundle(&files, START)?;
    let (index, styles) = one_style_sheet(&index, &files)?;
    files.retain(|path, _| is_whole(path));
    files.extend([(SCRIPT.to_owned(), script), (STYLES.to_owned(), styles)]);
    let version = hash(&files);
    let index = index.replace(START, SCRIPT).replace("/assets/", &format!("/assets/{version}/"));
    files.insert(INDEX.to_owned(), index);
    let mut list = String::from("&[\n");
    for (number, (path, content)) in files.iter().enumerate() {
        let packed = out.join(format!("asset-{number}.gz"));
        pack(content.as_bytes(), &packed)?;
        let (tag, packed) = (format!("\"{}\"", hash(content)), packed.display().to_string());
        writeln!(
            list,
            "Asset {{ path: {path:?}, tag: {tag:?}, packed: include_bytes!({packed:?}) }},"
        )?;
    }
    list.push(']');
    fs::write(out.join("assets.rs"), list)?;
    fs::write(out.join("assets_version.rs"), format!("{version:?}"))?;
    Ok(())
}

/// Whether the binary contains a file as it is: what runs before the modules, pictures and licences.
fn is_whole(path: &str) -> bool {
    path == "app/first-paint.js" || !(path.ends_with(".js") || path.ends_with(".css"))
}

/// The page with one style sheet, and the content of that.
fn one_style_sheet(index: &str, files: &Files) -> Result<(String, String)> {
    let (mut page, mut styles) = (String::new(), String::new());
    for line in index.lines() {
        let Some(link) = line.trim().strip_prefix("<link rel=\"stylesheet\" href=\"/assets/")
        else {
            writeln!(page, "{line}")?;
            continue;
        };
        if styles.is_empty() {
            writeln!(page, "  <link rel=\"stylesheet\" href=\"/assets/{STYLES}\">")?;
        }
        let path = link.trim_end_matches("\">");
        styles.push_str(files.get(path).ok_or_else(|| format!("there is no {path}"))?);
        styles.push('\n');
    }
    Ok((page, styles))
}

fn hash(content: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The files as the binary contains them.
fn read(root: &Path) -> Result<Files> {
    let mut paths = Vec::new();
    find(root, &mut paths)?;
    let mut files = Files::new();
    for file in paths {
        let path = file.strip_prefix(root)?.to_str().ok_or("a name that is not UTF-8")?;
        files.insert(path.to_owned(), trimmed(path, fs::read_to_string(&file)?));
    }
    Ok(files)
}

/// Adds the files of a folder and those within.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
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
fn pack(content: &[u8], packed: &Path) -> Result<()> {
    Ok(zopfli::compress(Options::default(), Format::Gzip, content, File::create(packed)?)?)
}

//! Packs the files of the console, which the binary contains compressed: `assets.rs` has a list of them.
//!
//! Each section has a page of its own, made from `index.html`: it names the files of this version, and lists every module that the
//! section loads, so that a browser asks for all of them at once instead of finding them one import after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::path::{Path, PathBuf};

use zopfli::{Format, Options};

const INDEX: &str = "index.html";
const START: &str = "app/main.js";
const SECTIONS: &str = "app/sections.js";

/// The files of the console by their paths below its folder.
type Files = BTreeMap<String, String>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=console");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("console");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut files = read(&root)?;
    let version = hash(&files);
    let index = files.remove(INDEX).ok_or("no index.html")?;
    let pages = pages(&index, &files, &version)?;
    files.extend(pages);
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

/// The page of each section, as `NAME.html`.
fn pages(index: &str, files: &Files, version: &str) -> Result<Files> {
    let sections = files.get(SECTIONS).ok_or("no sections.js")?;
    let mut pages = Files::new();
    for specifier in between(sections, "import('", '\'') {
        let page = resolved(SECTIONS, specifier);
        let mut modules = BTreeSet::new();
        load(START, files, &mut modules)?;
        load(&page, files, &mut modules)?;
        let mut links = String::new();
        for module in &modules {
            writeln!(links, "<link rel=\"modulepreload\" href=\"/assets/{module}\">")?;
        }
        let html = index.replacen("</head>", &format!("{links}</head>"), 1);
        let name = page.trim_start_matches("pages/").replace(".js", ".html");
        pages.insert(name, html.replace("/assets/", &format!("/assets/{version}/")));
    }
    Ok(pages)
}

/// Adds a module and what it imports.
fn load(path: &str, files: &Files, loaded: &mut BTreeSet<String>) -> Result<()> {
    if !loaded.insert(path.to_owned()) {
        return Ok(());
    }
    let content = files.get(path).ok_or_else(|| format!("no module {path}"))?;
    let ours = between(content, "from '", '\'').chain(between(content, "from\"", '"'));
    for specifier in ours.filter(|specifier| specifier.starts_with('.')) {
        load(&resolved(path, specifier), files, loaded)?;
    }
    Ok(())
}

/// The texts behind `before`, up to `end`.
fn between<'a>(text: &'a str, before: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(move |rest| rest.split(end).next())
}

/// The path that an import of a module names.
fn resolved(from: &str, specifier: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
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

//! Runs the commands that the documentation shows, and compares what they print.
//!
//! A block fenced with `console` is run: lines that begin with `$ ` in one shell per file, in an
//! empty folder with `weir` on the path and `docs/specs` at hand. What follows a command is what it
//! prints; in it `…` stands for any text, and a line of only `…` for any lines. With
//! `WEIR_TEST_BLESS=1` set, what differs is written into the file instead. A block that follows
//! `<!-- file: NAME -->` is there as a file of that name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::home;

/// How long all commands of a document may take: a hundred processes, on a machine that is busy.
const DOCUMENT_MAX: Duration = Duration::from_secs(120);
const END_MARK: &str = "@@ end of command @@";

#[test]
fn what_the_documentation_shows_is_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut commands = 0;
    for file in documents(&root) {
        let text = fs::read_to_string(&file).unwrap();
        let steps = steps(&text);
        if steps.is_empty() {
            continue;
        }
        let logs: Vec<&str> = steps.iter().filter_map(log_of_server).collect();
        let distinct: BTreeSet<&str> = logs.iter().copied().collect();
        assert_eq!(distinct.len(), logs.len(), "{}: servers share a log", file.display());
        let printed = run(&root, &steps, &files(&text));
        commands += steps.len();
        if std::env::var_os("WEIR_TEST_BLESS").is_some() {
            fs::write(&file, blessed(&text, &steps, &printed)).unwrap();
            continue;
        }
        for (step, printed) in steps.iter().zip(&printed) {
            assert!(
                matches(&step.shown, printed),
                "{}:{}: `{}` printed\n{}\nand not\n{}",
                file.display(),
                step.line + 1,
                step.command,
                printed.join("\n"),
                step.shown.join("\n")
            );
        }
    }
    assert!(commands > 10, "the documentation shows only {commands} commands");
}

/// The log of a server that a step starts. The next steps wait for a line of it, which must not be that of a server before.
fn log_of_server(step: &Step) -> Option<&str> {
    let flags = step.command.strip_prefix("weir serve ")?;
    flags.split_once(" > ")?.1.split_whitespace().next()
}

/// The documents whose `console` blocks are run.
fn documents(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("docs")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.push(root.join("README.md"));
    files.retain(|file| file.extension().is_some_and(|end| end == "md") && file.exists());
    files.sort();
    files
}

/// One command of a document.
struct Step {
    command: String,
    /// What the document says it prints.
    shown: Vec<String>,
    /// The line of the document where that begins, from 0.
    line: usize,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut inside, mut continued) = (false, false);
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && (continued || line.starts_with("$ ")) {
            let part = line.strip_prefix("$ ").unwrap_or(line);
            if continued {
                let last = steps.last_mut().unwrap();
                last.command = format!("{}\n{part}", last.command);
                last.line = number + 1;
            } else {
                steps.push(Step { command: part.to_owned(), shown: Vec::new(), line: number + 1 });
            }
            continued = line.ends_with('\\');
        } else if inside {
            steps.last_mut().unwrap().shown.push(line.to_owned());
        }
    }
    steps
}

/// The files that a document shows: their names and what is in them.
fn files(text: &str) -> Vec<(&str, &str)> {
    let file = |part: &'_ str| -> Option<(usize, usize, usize)> {
        let name = part.find(" -->\n```")?;
        let begin = name + part[name..].find("```")?;
        let begin = begin + part[begin..].find('\n')? + 1;
        Some((name, begin, begin + part[begin..].find("```\n")?))
    };
    let parts = text.split("<!-- file: ").skip(1);
    parts
        .map(|part| file(part).map(|(name, at, end)| (&part[..name], &part[at..end])).unwrap())
        .collect()
}

/// Runs all commands in one shell; what each of them printed.
fn run(root: &Path, steps: &[Step], files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::create_dir(folder.path().join("docs")).unwrap();
    std::os::unix::fs::symlink(
        root.join("docs/specs").canonicalize().unwrap(),
        folder.path().join("docs/specs"),
    )
    .unwrap();
    let mut script = String::new();
    for step in steps {
        writeln!(script, "{}\nprintf '\\n%s\\n' '{END_MARK}'", step.command).unwrap();
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_weir"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let printed = folder.path().join(".printed");
    let out = File::create(&printed).unwrap();
    let mut shell = Command::new("sh");
    home::clean(&mut shell, folder.path());
    shell
        .args(["-c", &script])
        .env("PATH", path)
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .process_group(0);
    let mut shell = shell.spawn().unwrap();
    home::wait_within(&mut shell, DOCUMENT_MAX);
    // A server that a document started and did not stop ends with its shell's group.
    let group = format!("-{}", shell.id());
    Command::new("kill").args(["-s", "KILL", "--", &group]).output().unwrap();
    let printed = fs::read_to_string(printed).unwrap();
    let mark = format!("\n{END_MARK}\n");
    let parts = printed.split(&mark).take(steps.len());
    parts.map(|part| part.lines().map(str::to_owned).collect()).collect()
}

/// Whether `shown`, in which `…` stands for anything, is what was printed.
fn matches(shown: &[String], printed: &[String]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "…" => {
            (0..=printed.len()).any(|skip| matches(rest, &printed[skip..]))
        }
        (Some((shown, shown_rest)), Some((printed, printed_rest))) => {
            line_matches(shown, printed) && matches(shown_rest, printed_rest)
        }
        _ => false,
    }
}

fn line_matches(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (shown.trim_end(), printed.trim_end());
    let Some((start, rest)) = shown.split_once('…') else {
        return shown == printed;
    };
    let Some(mut left) = printed.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<_> = rest.split('…').collect();
    let end = parts.pop().unwrap();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(end)
}

/// The document with what was printed in place of what differs from it.
fn blessed(text: &str, steps: &[Step], printed: &[Vec<String>]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (step, printed) in steps.iter().zip(printed).rev() {
        if !matches(&step.shown, printed) {
            let end = step.line + step.shown.len();
            lines.splice(step.line..end, printed.iter().cloned());
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn files_are_what_stands_in_their_block() {
    let text = "a\n<!-- file: x.py -->\n```python\nprint(1)\n```\nb\n```sh\nls\n```\n";
    assert_eq!(files(text), [("x.py", "print(1)\n")]);
}

#[test]
fn dots_stand_for_anything() {
    assert!(line_matches("a … b … c", "a x b y c"));
    assert!(line_matches("…", ""));
    assert!(line_matches("port …", "port 80  "));
    assert!(!line_matches("a … c", "a x b"));
    assert!(!line_matches("a", "ab"));
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a\n…\nd"), &lines("a\nb\nc\nd")));
    assert!(matches(&lines("a\n…"), &lines("a")));
    assert!(!matches(&lines("a\n…\nd"), &lines("a\nb")));
}

//! Runs the commands that the documentation shows, and compares what they print.
//!
//! A reader follows README.md and then the guides, one after the other, in one folder and one shell; so does this test. A block
//! fenced with `console` is run: lines that begin with `$ `, with `weir` on the path and `docs/specs` at hand. What follows a
//! command is what it prints; in it `…` stands for any text, and a line of only `…` for any lines. With `WEIR_TEST_BLESS=1`
//! set, what differs is written into the file instead. A block that follows `<!-- file: NAME -->` is there as a file of that
//! name from the beginning of its document on.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::home;

/// How long all commands may take: some hundred processes, on a machine that is busy.
const ALL_MAX: Duration = Duration::from_secs(300);
const END_MARK: &str = "@@ end of command @@";
/// Prints what a document leaves behind for the next one: settings and servers.
const LEFT_BEHIND: &str = "env | grep ^WEIR_; ls */weir.sock 2> /dev/null";

/// A document with commands.
struct Document {
    file: PathBuf,
    text: String,
    steps: Vec<Step>,
}

#[test]
fn what_the_documentation_shows_is_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documents = documents(&root);
    check_logs(&documents);
    let printed = run(&root, &documents);
    let bless = std::env::var_os("WEIR_TEST_BLESS").is_some();
    for (document, (printed, left_behind)) in documents.iter().zip(&printed) {
        let name = document.file.display();
        if bless {
            fs::write(&document.file, blessed(&document.text, &document.steps, printed)).unwrap();
            continue;
        }
        for (step, printed) in document.steps.iter().zip(printed) {
            assert!(
                matches(&step.shown, printed),
                "{name}:{}: `{}` printed\n{}\nand not\n{}",
                step.line + 1,
                step.command,
                printed.join("\n"),
                step.shown.join("\n")
            );
        }
        assert!(left_behind.is_empty(), "{name} leaves this behind: {left_behind:?}");
    }
    let commands: usize = documents.iter().map(|document| document.steps.len()).sum();
    assert!(commands > 100, "the documentation shows only {commands} commands");
}

/// No server may write the log of another: it would be taken for its own.
fn check_logs(documents: &[Document]) {
    let mut logs = BTreeSet::new();
    for document in documents {
        for log in document.steps.iter().filter_map(log_of_server) {
            assert!(logs.insert(log), "{}: another server writes {log}", document.file.display());
        }
    }
}

/// The log of a server that a step starts.
fn log_of_server(step: &Step) -> Option<&str> {
    let flags = step.command.strip_prefix("weir serve ")?;
    flags.split_once(" > ")?.1.split_whitespace().next()
}

/// The documents with commands, in the order in which README.md names them.
fn documents(root: &Path) -> Vec<Document> {
    let readme = root.join("README.md");
    let table = fs::read_to_string(&readme).unwrap();
    let position = |file: &Path| {
        let name = format!("[docs/{}]", file.file_name().unwrap().to_string_lossy());
        table.find(&name).unwrap_or(usize::MAX)
    };
    let entries = fs::read_dir(root.join("docs")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files.sort_by_key(|file| (position(file), file.clone()));
    let documents = [readme].into_iter().chain(files).map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        Document { steps: steps(&text), text, file }
    });
    documents.filter(|document| !document.steps.is_empty()).collect()
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

/// Runs all commands in one shell and one folder. Returns what each command of each document printed, and what the document
/// left behind.
fn run(root: &Path, documents: &[Document]) -> Vec<(Vec<Vec<String>>, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let files = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    let specs = root.join("docs/specs").canonicalize().unwrap();
    std::os::unix::fs::symlink(specs, folder.path().join("docs/specs")).unwrap();
    let mut script = String::new();
    for (number, document) in documents.iter().enumerate() {
        let own = files.path().join(number.to_string());
        fs::create_dir(&own).unwrap();
        for (name, text) in self::files(&document.text) {
            fs::write(own.join(name), text).unwrap();
        }
        writeln!(script, "cp -r {}/. .", own.display()).unwrap();
        let commands = document.steps.iter().map(|step| step.command.as_str());
        for command in commands.chain([LEFT_BEHIND]) {
            writeln!(script, "{command}\nprintf '\\n%s\\n' '{END_MARK}'").unwrap();
        }
    }
    let printed = run_script(&script, folder.path());
    let mark = format!("\n{END_MARK}\n");
    let mut parts = printed.split(&mark).map(str::lines);
    let mut next = || parts.next().map(|lines| lines.map(str::to_owned).collect::<Vec<_>>());
    let mut of = |document: &Document| {
        let of_steps = document.steps.iter().map(|_| next().unwrap_or_default()).collect();
        (of_steps, next().unwrap_or_default())
    };
    documents.iter().map(&mut of).collect()
}

/// Everything that a script prints.
fn run_script(script: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_weir"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let printed = folder.join(".printed");
    let out = File::create(&printed).unwrap();
    let mut shell = Command::new("sh");
    home::clean(&mut shell, folder);
    shell
        .args(["-c", script])
        .env("PATH", path)
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .process_group(0);
    let mut shell = shell.spawn().unwrap();
    home::wait_within(&mut shell, ALL_MAX);
    // A server that a document started and did not stop ends with its shell's group.
    let group = format!("-{}", shell.id());
    Command::new("kill").args(["-s", "KILL", "--", &group]).output().unwrap();
    fs::read_to_string(printed).unwrap()
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

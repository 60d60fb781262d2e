//! A disk as a power cut sees it: which bytes and which names are durable, and which are only written.
//!
//! As strict as POSIX: an fsync of a file makes its bytes durable, not its name; a name is durable once its folder was
//! synced. Everything else may be there after a power cut, or not, in any combination.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::file::{FileModel, Style};
use super::trace::Event;
use crate::seed::Random;

/// A file or a folder, whatever its names are.
type Id = usize;

#[derive(Debug)]
enum Node {
    File(FileModel),
    Folder(FolderModel),
}

/// The names in a folder.
#[derive(Debug, Default)]
struct FolderModel {
    now: BTreeMap<String, Id>,
    durable: BTreeMap<String, Id>,
    /// Changes since the last sync; a rename is one with two names.
    unsynced: Vec<Vec<(String, Option<Id>)>>,
}

/// What a power cut took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Losses {
    pub(crate) dropped: u64,
    pub(crate) torn: u64,
    pub(crate) zeroed: u64,
    pub(crate) names: u64,
    /// Power cuts that took something from the base store's files.
    pub(crate) base_rounds: u64,
}

impl Losses {
    fn pages(&self) -> u64 {
        self.dropped + self.torn + self.zeroed
    }
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, more: Losses) {
        self.dropped += more.dropped;
        self.torn += more.torn;
        self.zeroed += more.zeroed;
        self.names += more.names;
        self.base_rounds += more.base_rounds;
    }
}

/// The disk below a folder.
pub(crate) struct DiskModel {
    root: PathBuf,
    nodes: Vec<Node>,
    by_inode: HashMap<u64, Id>,
}

const ROOT: Id = 0;

impl DiskModel {
    /// The folder as it is, all of it durable.
    pub(crate) fn load(root: &Path) -> DiskModel {
        let mut disk =
            DiskModel { root: root.to_owned(), nodes: Vec::new(), by_inode: HashMap::new() };
        disk.load_node(root);
        disk
    }

    fn load_node(&mut self, path: &Path) -> Id {
        let metadata = fs::metadata(path).unwrap();
        if !metadata.is_dir() {
            return self.add(metadata.ino(), Node::File(FileModel::load(path)));
        }
        let id = self.add(metadata.ino(), Node::Folder(FolderModel::default()));
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let child = self.load_node(&path);
            let names = self.folder(id);
            names.now.insert(name_of(&path), child);
            names.durable.insert(name_of(&path), child);
        }
        id
    }

    /// A new file or folder. Its inode may have been another one's before.
    fn add(&mut self, inode: u64, node: Node) -> Id {
        self.nodes.push(node);
        self.by_inode.insert(inode, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn folder(&mut self, id: Id) -> &mut FolderModel {
        match &mut self.nodes[id] {
            Node::Folder(folder) => folder,
            Node::File(_) => panic!("not a folder"),
        }
    }

    fn file(&mut self, inode: u64) -> Option<&mut FileModel> {
        match self.nodes.get_mut(*self.by_inode.get(&inode)?)? {
            Node::File(file) => Some(file),
            Node::Folder(_) => None,
        }
    }

    /// The folder that a path is in.
    fn parent(&mut self, path: &Path) -> &mut FolderModel {
        let below = path.parent().unwrap().strip_prefix(&self.root).unwrap().to_owned();
        let id = below.iter().fold(ROOT, |id, name| {
            let names = &self.folder(id).now;
            *names.get(name.to_str().unwrap()).unwrap_or_else(|| panic!("{path:?} is in nothing"))
        });
        self.folder(id)
    }

    /// Changes the disk as the recorded process did.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Create { inode, path } => {
                let id = self.add(*inode, Node::File(FileModel::default()));
                self.parent(path).change(vec![(name_of(path), Some(id))]);
            }
            Event::MakeDir { inode, path } => {
                let id = self.add(*inode, Node::Folder(FolderModel::default()));
                self.parent(path).change(vec![(name_of(path), Some(id))]);
            }
            // A file that was never seen is not in the folder.
            Event::Write { inode, offset, bytes } => {
                self.file(*inode).into_iter().for_each(|file| file.write(*offset, bytes));
            }
            Event::Truncate { inode, len } => {
                self.file(*inode).into_iter().for_each(|file| file.truncate(*len));
            }
            Event::Sync { inode } => {
                match self.by_inode.get(inode).and_then(|id| self.nodes.get_mut(*id)) {
                    Some(Node::File(file)) => file.sync(),
                    Some(Node::Folder(folder)) => folder.sync(),
                    None => {}
                }
            }
            Event::Remove { path } => self.parent(path).change(vec![(name_of(path), None)]),
            Event::Rename { from, to } => {
                assert_eq!(from.parent(), to.parent());
                self.parent(to).rename(&name_of(from), &name_of(to));
            }
            Event::Seen { inode, path } => {
                let id = self.by_inode[inode];
                if *path != self.root {
                    self.parent(path).note_renamed(id, &name_of(path));
                }
            }
        }
    }

    /// Writes what a power cut leaves of the folder `name` to `to`.
    pub(crate) fn crash(&mut self, name: &str, to: &Path, random: &mut Random) -> Losses {
        let style = random.one_of(&[
            Style::Nothing,
            Style::Everything,
            Style::Some,
            Style::Some,
            Style::Some,
            Style::Some,
        ]);
        let mut losses = Losses::default();
        fs::create_dir(to).unwrap();
        let data = self.folder(ROOT).survivors(style, random, &mut losses).remove(name);
        // Without the folder nothing was ever acknowledged; an empty one is as good.
        if let Some(id) = data {
            self.crash_folder(id, to, style, random, &mut losses);
        }
        losses
    }

    fn crash_folder(
        &mut self,
        id: Id,
        to: &Path,
        style: Style,
        random: &mut Random,
        losses: &mut Losses,
    ) {
        for (name, id) in self.folder(id).survivors(style, random, losses) {
            let path = to.join(name);
            match &self.nodes[id] {
                Node::File(file) => file.crash(&path, style, random, losses),
                Node::Folder(_) => {
                    fs::create_dir(&path).unwrap();
                    let before = losses.pages();
                    self.crash_folder(id, &path, style, random, losses);
                    let is_base = path.ends_with("store") && losses.pages() > before;
                    losses.base_rounds += u64::from(is_base);
                }
            }
        }
    }

    /// The model has missed nothing: it is what the process has left.
    pub(crate) fn assert_complete(&mut self) {
        let root = self.root.clone();
        self.assert_same(ROOT, &root);
    }

    fn assert_same(&mut self, id: Id, path: &Path) {
        if let Node::File(file) = &self.nodes[id] {
            assert!(file.is(&fs::read(path).unwrap()), "{} differs", path.display());
            return;
        }
        let names = self.folder(id).now.clone();
        let mut found: Vec<String> =
            fs::read_dir(path).unwrap().map(|entry| name_of(&entry.unwrap().path())).collect();
        found.sort();
        assert_eq!(found, names.keys().cloned().collect::<Vec<_>>(), "{}", path.display());
        for (name, id) in names {
            self.assert_same(id, &path.join(name));
        }
    }
}

impl FolderModel {
    fn change(&mut self, names: Vec<(String, Option<Id>)>) {
        apply(&mut self.now, &names);
        self.unsynced.push(names);
    }

    fn rename(&mut self, from: &str, to: &str) {
        let id = self.now[from];
        self.change(vec![(from.to_owned(), None), (to.to_owned(), Some(id))]);
    }

    /// A file was found under this name; if it had another one, it was renamed.
    fn note_renamed(&mut self, id: Id, name: &str) {
        if self.now.get(name) == Some(&id) {
            return;
        }
        let old = self.now.iter().find(|(_, other)| **other == id).map(|(old, _)| old.clone());
        self.rename(&old.unwrap_or_else(|| panic!("{name} comes from nowhere")), name);
    }

    fn sync(&mut self) {
        self.durable.clone_from(&self.now);
        self.unsynced.clear();
    }

    /// The names that a power cut leaves.
    fn survivors(
        &self,
        style: Style,
        random: &mut Random,
        losses: &mut Losses,
    ) -> BTreeMap<String, Id> {
        let mut names = self.durable.clone();
        // File systems with a journal lose the last changes, others lose any.
        let in_order = random.coin().then(|| random.below(self.unsynced.len() as u64 + 1));
        for (number, change) in (0..).zip(&self.unsynced) {
            let survives = match style {
                Style::Nothing => false,
                Style::Everything => true,
                Style::Some => in_order.map_or_else(|| random.coin(), |end| number < end),
            };
            if survives {
                apply(&mut names, change);
            } else {
                losses.names += 1;
            }
        }
        names
    }
}

fn apply(names: &mut BTreeMap<String, Id>, change: &[(String, Option<Id>)]) {
    for (name, id) in change {
        match id {
            Some(id) => names.insert(name.clone(), *id),
            None => names.remove(name),
        };
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

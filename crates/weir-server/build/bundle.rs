//! Joins the ES modules of the console into one file, which a browser loads faster than seventy (docs/adr/0045-console-bundle.md).
//!
//! A module becomes a constant with its exports, behind those of the modules that it imports:
//!
//! ```js
//! // app/toast.js
//! const app_toast = (() => {
//! const { createStore, useStore } = app_store;
//! …
//! return { Toasts, toast };
//! })();
//! ```
//!
//! This reads lines, not the language: a statement that imports or exports begins a line. A form that is not known here, and a name
//! that no module exports, fail the build.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;

/// The files of the console by their paths below its folder.
pub(crate) type Files = BTreeMap<String, String>;
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How a list of names begins, which may have several lines.
const LISTS: [&str; 4] = ["import ", "import{", "export {", "export{"];
/// How an exported declaration begins. `let` is missing: importers would keep its first value.
const DECLARATIONS: [&str; 4] = ["async function ", "function ", "class ", "const "];

#[derive(Default)]
struct Module {
    path: String,
    /// The code without its imports and exports.
    code: String,
    /// Paths of the imported modules, with the imported names.
    imports: Vec<(String, Vec<String>)>,
    /// Paths of the modules that `import()` names.
    later: Vec<String>,
    /// The exported names, with what each stands for in the code.
    exports: BTreeMap<String, String>,
}

/// The start module and all that it needs. The result exports the constant of each module, for tests.
///
/// # Errors
/// A module is missing, has a form that is not known here, imports what is not there, or needs itself.
pub(crate) fn bundle(files: &Files, start: &str) -> Result<String> {
    let mut modules = BTreeMap::new();
    read(start, files, &mut modules)?;
    let later: BTreeSet<&String> = modules.values().flat_map(|module| &module.later).collect();
    let mut order = Vec::new();
    // What the start module loads later is there when it starts.
    for path in later.into_iter().map(String::as_str).chain([start]) {
        place(path, &modules, &mut order, &mut Vec::new())?;
    }
    let mut bundle = String::new();
    for module in order.iter().filter_map(|path| modules.get(*path)) {
        module.check_imports(&modules)?;
        module.write(&mut bundle)?;
    }
    let constants: Vec<String> = order.into_iter().map(constant).collect();
    writeln!(bundle, "export {{ {} }};", constants.join(", "))?;
    Ok(bundle)
}

/// Reads a module and those that it needs.
fn read(path: &str, files: &Files, modules: &mut BTreeMap<String, Module>) -> Result<()> {
    if modules.contains_key(path) {
        return Ok(());
    }
    let source = files.get(path).ok_or_else(|| format!("there is no module {path}"))?;
    let module = Module::parse(path, source)?;
    let imports = module.imports.iter().map(|(from, _)| from);
    let needed: Vec<String> = imports.chain(&module.later).cloned().collect();
    modules.insert(path.to_owned(), module);
    needed.iter().try_for_each(|path| read(path, files, modules))
}

/// Puts a module behind those that it imports. `waiting` are those that need it.
fn place<'a>(
    path: &'a str,
    modules: &'a BTreeMap<String, Module>,
    order: &mut Vec<&'a str>,
    waiting: &mut Vec<&'a str>,
) -> Result<()> {
    if order.contains(&path) {
        return Ok(());
    }
    if waiting.contains(&path) {
        return Err(format!("modules import each other: {}, {path}", waiting.join(", ")).into());
    }
    waiting.push(path);
    for (from, _) in modules.get(path).into_iter().flat_map(|module| &module.imports) {
        place(from, modules, order, waiting)?;
    }
    waiting.pop();
    order.push(path);
    Ok(())
}

impl Module {
    fn parse(path: &str, source: &str) -> Result<Self> {
        let mut module = Self { path: path.to_owned(), ..Self::default() };
        let mut rest = source;
        while !rest.is_empty() {
            let is_list = LISTS.iter().any(|beginning| rest.starts_with(beginning));
            let end = if is_list { ';' } else { '\n' };
            let (text, after) = rest.split_once(end).unwrap_or((rest, ""));
            let known = if is_list { module.read_list(text) } else { module.read_line(text) };
            known.ok_or_else(|| format!("{path}: a form that the bundle does not know: {text}"))?;
            rest = after;
        }
        Ok(module)
    }

    /// `import a from './x.js'`, `import { a, b as c } from './x.js'`, `export { a, b as c }`, `export { a } from './x.js'`.
    fn read_list(&mut self, statement: &str) -> Option<()> {
        let is_export = statement.starts_with("export");
        let list = statement.get("import".len()..)?.trim_start();
        let (names, from) = match list.strip_prefix('{') {
            Some(list) => list.split_once('}').map(|(list, from)| (pairs(list), from.trim()))?,
            None => list.split_once(' ').map(|(name, from)| (vec![("default", name)], from))?,
        };
        if is_export && from.is_empty() {
            self.exports
                .extend(names.iter().map(|(own, name)| (name.to_string(), own.to_string())));
            return Some(());
        }
        let (from, "") = quoted(from.strip_prefix("from")?.trim_start())? else { return None };
        let from = resolved(&self.path, from);
        let constant = constant(&from);
        if is_export {
            let exported =
                |(theirs, name): &(&str, &str)| (name.to_string(), format!("{constant}.{theirs}"));
            self.exports.extend(names.iter().map(exported));
        } else {
            let named: Vec<String> = names.iter().map(|(theirs, own)| entry(theirs, own)).collect();
            writeln!(self.code, "const {{ {} }} = {constant};", named.join(", ")).ok()?;
        }
        self.imports.push((from, names.iter().map(|(theirs, _)| theirs.to_string()).collect()));
        Some(())
    }

    /// A line of code, which may export what it declares, and load modules later.
    fn read_line(&mut self, line: &str) -> Option<()> {
        let mut line = line;
        if line.is_empty() {
            return Some(());
        }
        if let Some(exported) = line.strip_prefix("export ") {
            let default = exported.strip_prefix("default ");
            line = default.unwrap_or(exported);
            let declared =
                DECLARATIONS.iter().find_map(|beginning| line.strip_prefix(beginning))?;
            let own = declared
                .split(|letter: char| !is_of_name(letter))
                .next()
                .filter(|own| !own.is_empty())?;
            let name = if default.is_some() { "default" } else { own };
            self.exports.insert(name.to_owned(), own.to_owned());
        }
        let is_word = |word: &str| {
            line.strip_prefix(word).is_some_and(|rest: &str| !rest.starts_with(is_of_name))
        };
        if is_word("export")
            || (is_word("import") && !line.starts_with("import("))
            || line.contains("import.meta")
        {
            return None;
        }
        let mut parts = line.split("import(");
        self.code.push_str(parts.next()?);
        for part in parts {
            let (module, rest) = quoted(part)?;
            let module = resolved(&self.path, module);
            write!(self.code, "Promise.resolve({}){}", constant(&module), rest.strip_prefix(')')?)
                .ok()?;
            self.later.push(module);
        }
        self.code.push('\n');
        Some(())
    }

    fn check_imports(&self, modules: &BTreeMap<String, Module>) -> Result<()> {
        for (from, names) in &self.imports {
            let exports = modules.get(from).map(|module| &module.exports);
            let is_missing =
                |name: &&String| exports.is_none_or(|exports| !exports.contains_key(*name));
            if let Some(name) = names.iter().find(is_missing) {
                return Err(format!("{}: {from} does not export {name}", self.path).into());
            }
        }
        Ok(())
    }

    fn write(&self, bundle: &mut String) -> Result<()> {
        let exports: Vec<String> =
            self.exports.iter().map(|(name, own)| entry(name, own)).collect();
        let (path, code, exports) = (&self.path, self.code.trim(), exports.join(", "));
        writeln!(
            bundle,
            "// {path}\nconst {} = (() => {{\n{code}\nreturn {{ {exports} }};\n}})();",
            constant(path)
        )?;
        Ok(())
    }
}

/// `a, b as c` in pairs: (a, a), (b, c).
fn pairs(list: &str) -> Vec<(&str, &str)> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| name.split_once(" as ").unwrap_or((name, name))).collect()
}

/// An entry of an object, or of a pattern that takes one apart.
fn entry(name: &str, own: &str) -> String {
    if name == own { name.to_owned() } else { format!("{name}: {own}") }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// A quoted text, and what is behind it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text.strip_prefix(quote)?.split_once(quote)
}

/// The constant of a module: `app_ui` of `app/ui.js`.
fn constant(path: &str) -> String {
    path.trim_end_matches(".js").replace(|letter: char| !letter.is_alphanumeric(), "_")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn files<const N: usize>(files: [(&str, &str); N]) -> Files {
        files.into_iter().map(|(path, content)| (path.to_owned(), content.to_owned())).collect()
    }

    #[test]
    fn every_form_that_the_console_uses() {
        let files = files([
            (
                "app/main.js",
                "import lib from '../vendor/lib.js';\nimport { h, now as time } from './view.js';\n\
                 const page = () => import('../pages/one.js');\nstart(lib, h, time, page);\n",
            ),
            (
                "app/view.js",
                "import { other } from './other.js';\nexport const h = 1;\nexport { other };\n\
                 export {\ncreate, tick as now,\n} from '../vendor/lib.js';\n",
            ),
            ("app/other.js", "export async function other() {}\nexport class Another {}\n"),
            ("pages/one.js", "import{h}from\"../app/view.js\";export default function One() {}\n"),
            (
                "vendor/lib.js",
                "function c(){}\nexport default function lib(){}\nexport{c as create,c as tick};",
            ),
        ]);
        let expected = "\
// app/other.js
const app_other = (() => {
async function other() {}
class Another {}
return { Another, other };
})();
// vendor/lib.js
const vendor_lib = (() => {
function c(){}
function lib(){}
return { create: c, default: lib, tick: c };
})();
// app/view.js
const app_view = (() => {
const { other } = app_other;
const h = 1;
return { create: vendor_lib.create, h, now: vendor_lib.tick, other };
})();
// pages/one.js
const pages_one = (() => {
const { h } = app_view;
function One() {}
return { default: One };
})();
// app/main.js
const app_main = (() => {
const { default: lib } = vendor_lib;
const { h, now: time } = app_view;
const page = () => Promise.resolve(pages_one);
start(lib, h, time, page);
return {  };
})();
export { app_other, vendor_lib, app_view, pages_one, app_main };
";
        assert_eq!(bundle(&files, "app/main.js").unwrap(), expected);
    }

    #[test]
    fn other_forms_fail_the_build() {
        for form in [
            "export let a = 1;",
            "export var a = 1;",
            "export const { a } = b;",
            "export default 5;",
            "export default function() {}",
            "export * from './b.js';",
            "export*from'./b.js';",
            "export a;",
            "import './b.js';",
            "import'./b.js';",
            "import * as b from './b.js';",
            "import b, { c } from './b.js';",
            "import { c } from './b.js' with { type: 'json' };",
            "const c = () => import(name);",
            "const c = () => import('./b.js', options);",
            "const c = import.meta.url;",
            "import.meta.hot();",
        ] {
            let files = files([("a.js", form), ("b.js", "export const c = 1;\n")]);
            let error = bundle(&files, "a.js").expect_err(form).to_string();
            assert!(error.starts_with("a.js: a form that the bundle does not know: "), "{error}");
        }
    }

    #[test]
    fn what_is_missing_or_needs_itself_fails_the_build() {
        for (a, b, expected) in [
            ("import { c } from './c.js';", "", "there is no module c.js"),
            ("const c = import('./c.js');", "", "there is no module c.js"),
            ("import { c } from 'b';", "", "there is no module b"),
            ("import { d } from './b.js';", "export const c = 1;", "a.js: b.js does not export d"),
            (
                "import c from './b.js';",
                "export const c = 1;",
                "a.js: b.js does not export default",
            ),
            (
                "import { c } from './b.js';",
                "import { a } from './a.js';",
                "modules import each other: a.js, b.js, a.js",
            ),
        ] {
            let files = files([("a.js", a), ("b.js", b)]);
            assert_eq!(bundle(&files, "a.js").unwrap_err().to_string(), expected);
        }
    }
}

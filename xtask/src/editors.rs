//! The schema, as two editors' tools understand it: what is good passes, what is wrong is refused
//! at its line.
//!
//! Each document lies beside the schema and names it in its first line, as an operator's would, so
//! the relative path is tried as well.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::{self, capture, program};

/// Where the tools are installed, and below it where the documents are laid out.
const HOME: &str = "target/editors";
const SCHEMA: &str = "gateway.schema.json";

struct Tool {
    name: &'static str,
    version: &'static str,
    lint: &'static [&'static str],
}

const TOOLS: [Tool; 2] = [
    Tool {
        name: "taplo",
        version: "0.9.3",
        lint: &["lint", "--no-auto-config", "--colors", "never"],
    },
    Tool {
        name: "tombi",
        version: "1.9.6",
        lint: &["lint", "--offline"],
    },
];

/// Pages whose samples have to pass.
const PAGES: [&str; 3] = ["README.md", "docs/migration.md", "docs/operations.md"];

/// What is wrong with a document, the document, and the line that has to be named.
const WRONG: [(&str, &str, usize); 6] = [
    (
        "misspelled-setting",
        "[pools.shop]\nnodes = [\"10.0.0.1:80\"]\nbalence = \"random\"\n",
        4,
    ),
    // At the top level one of the tools only says that it is in the file.
    (
        "misspelled-table",
        "[pools.shop]\nnodes = [\"10.0.0.1:80\"]\n\n[pools.shop.porbe]\npath = \"/\"\n",
        5,
    ),
    (
        "no-unit",
        "[drain]\n\n[pools.shop]\nnodes = [\"10.0.0.1:80\"]\nqueue_wait = 5\n",
        6,
    ),
    (
        "not-a-number",
        "[pools.shop]\nnodes = [\"10.0.0.1:80\"]\n\nin_flight = \"many\"\n",
        5,
    ),
    (
        "not-a-word",
        "[pools.shop]\nbalance = \"fairest\"\nnodes = [\"10.0.0.1:80\"]\n",
        3,
    ),
    (
        "within-braces",
        "[listeners.web]\nbind = \"127.0.0.1:80\"\nin_flight = { max = 2, when_ful = 503 }\n",
        4,
    ),
];

/// Checks with each tool that is there or can be had; otherwise the reason why not.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let ground = root.join(HOME).join("ground");
    let good = lay_out(root, &ground)?;
    let mut absent = Vec::new();
    for tool in &TOOLS {
        match installed(root, tool) {
            Ok(path) => tool.judges(&ground, &path, &good)?,
            Err(reason) => absent.push(format!("by {}: {reason}", tool.name)),
        }
    }
    Ok((!absent.is_empty()).then(|| absent.join("; ")))
}

/// The command: the same, and what cannot be had is said.
pub(crate) fn run(root: &Path) -> Result {
    if let Some(reason) = check(root)? {
        println!("NOT CHECKED: {reason}");
    }
    Ok(())
}

impl Tool {
    fn judges(&self, ground: &Path, tool: &Path, good: &[String]) -> Result {
        let lint = |files: &[String]| {
            let tool = tool.to_string_lossy();
            let mut command = program(ground, &tool, self.lint);
            capture(command.args(files))
        };
        lint(good)?;
        println!("{}: {} documents pass", self.name, good.len());
        for (name, _, line) in WRONG {
            let (file, place) = (format!("{name}.toml"), format!("{name}.toml:{line}:"));
            match lint(&[file]) {
                Ok(_) => return Err(format!("{} finds nothing wrong with {name}", self.name)),
                Err(said) if said.contains(&place) => {}
                Err(said) => return Err(format!("{} does not say {place}\n{said}", self.name)),
            }
        }
        println!("{}: {} are refused at their line", self.name, WRONG.len());
        Ok(())
    }
}

/// Writes the schema and every document, and gives the names of those that are good.
fn lay_out(root: &Path, ground: &Path) -> Result<Vec<String>> {
    if ground.exists() {
        fs::remove_dir_all(ground).map_err(|why| format!("{}: {why}", ground.display()))?;
    }
    fs::create_dir_all(ground).map_err(|why| format!("{}: {why}", ground.display()))?;
    write(
        &ground.join(SCHEMA),
        &read(&root.join("docs").join(SCHEMA))?,
    )?;
    let mut good = goldens(&root.join("tests/config"))?;
    for page in PAGES {
        let samples = samples(&read(&root.join(page))?);
        let name = |at| format!("{}-{at}.toml", page.replace('/', "-"));
        good.extend(
            samples
                .into_iter()
                .enumerate()
                .map(|(at, text)| (name(at), text)),
        );
    }
    for (name, text) in &good {
        write(&ground.join(name), &with_schema(text))?;
    }
    for (name, text, _) in WRONG {
        write(&ground.join(format!("{name}.toml")), &with_schema(text))?;
    }
    Ok(good.into_iter().map(|(name, _)| name).collect())
}

/// The effective configurations there are, and what each was made from.
fn goldens(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))? {
        let path = entry.map_err(|why| why.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(stem) = name.strip_suffix(".effective.toml") {
            let source = format!("{stem}.toml");
            let text = read(&folder.join(&source))?;
            all.extend([(source, text), (name.to_string(), read(&path)?)]);
        }
    }
    match all.is_empty() {
        true => Err(format!(
            "no effective configuration in {}",
            folder.display()
        )),
        false => Ok(all),
    }
}

/// What stands between the fences of a page that say `toml`.
fn samples(page: &str) -> Vec<String> {
    let behind = page.split("\n```toml\n").skip(1);
    let inside = behind.filter_map(|rest| rest.split("\n```").next());
    inside.map(|text| format!("{text}\n")).collect()
}

fn with_schema(text: &str) -> String {
    let line = format!("#:schema ./{SCHEMA}\n");
    match text.strip_prefix(&line) {
        Some(_) => text.to_owned(),
        None => line + text,
    }
}

/// The tool's path: ours, the machine's, or one that is installed for it.
fn installed(root: &Path, tool: &Tool) -> Result<PathBuf> {
    let home = format!("{HOME}/{}", tool.name);
    let own = root.join(&home).join("bin").join(tool.name);
    for path in [own.clone(), PathBuf::from(tool.name)] {
        let asked = capture(&mut program(root, &path.to_string_lossy(), &["--version"]));
        if asked.is_ok_and(|said| said.split(' ').any(|word| word.trim() == tool.version)) {
            return Ok(path);
        }
    }
    println!("installing {} {} into {home}", tool.name, tool.version);
    let wanted = format!("{}=={}", tool.name, tool.version);
    let arguments = ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"];
    let patience = ["--timeout", "20", "--retries", "1"];
    let mut pip = program(root, "python3", &arguments);
    pip.args(patience).args(["--target", &home, &wanted]);
    match process::run(pip.env("PIP_ROOT_USER_ACTION", "ignore")) {
        Ok(()) if own.is_file() => Ok(own),
        Ok(()) => Err(format!("pip has no program for {wanted} on this machine")),
        Err(_) => Err(format!("pip could not install {wanted}")),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))
}

fn write(path: &Path, text: &str) -> Result {
    fs::write(path, text).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{WRONG, samples, with_schema};

    #[test]
    fn samples_are_what_stands_between_fences() {
        let page = "a\n```sh\nls\n```\n```toml\na = 1\n```\nb\n\n```toml\n[b]\nc = 2\n```\n";
        assert_eq!(samples(page), ["a = 1\n", "[b]\nc = 2\n"]);
        assert!(samples("no sample").is_empty());
    }

    #[test]
    fn a_document_names_its_schema_once() {
        let once = with_schema("a = 1\n");
        assert_eq!(once, "#:schema ./gateway.schema.json\na = 1\n");
        assert_eq!(with_schema(&once), once);
    }

    #[test]
    fn the_line_named_is_one_of_the_document() {
        for (name, text, line) in WRONG {
            let lines = with_schema(text).lines().count();
            assert!((2..=lines).contains(&line), "{name}");
        }
    }
}

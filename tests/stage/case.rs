//! The configurations of `tests/config`, and how each is laid out to be checked.
//!
//! `NAME.toml` is a file, with `NAME.cluster.toml` beside it where it names one; a folder `NAME`
//! of them is a configuration in several files. What cannot lie in a checkout as text is described
//! in `made.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::scratch::set_mode;

mod made;

use made::Made;

/// One configuration.
#[derive(Debug)]
pub struct Case {
    /// Its name, which is that of its file or folder.
    pub name: String,
    form: Form,
}

#[derive(Debug)]
enum Form {
    File,
    Folder,
    Made(Made),
}

/// Where the configurations lie.
#[must_use]
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config")
}

/// Every configuration, by name.
///
/// # Panics
/// When they cannot be read.
#[must_use]
pub fn all() -> Vec<Case> {
    let listing = fs::read_dir(directory()).expect("the configurations");
    let mut cases: Vec<Case> = listing
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|path| Case::of(&path))
        .collect();
    let made = fs::read_to_string(directory().join("made.toml")).expect("made.toml");
    let made: BTreeMap<String, Made> = toml::from_str(&made).expect("made.toml can be read");
    cases.extend(made.into_iter().map(|(name, made)| Case {
        name,
        form: Form::Made(made),
    }));
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

impl Case {
    fn of(path: &Path) -> Option<Self> {
        let file = path.file_name()?.to_str()?;
        let (name, form) = match file.split_once('.') {
            None if path.is_dir() && file != "incumbents" => (file, Form::Folder),
            Some((name, "toml")) if name != "made" => (name, Form::File),
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            form,
        })
    }

    /// Its file or folder, as a document names it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.form {
            Form::File => format!("tests/config/{}.toml", self.name),
            Form::Folder => format!("tests/config/{}/", self.name),
            Form::Made(_) => format!("`{}` in tests/config/made.toml", self.name),
        }
    }

    /// Whether it is sound: then what is compared is what becomes of it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.beside("effective.toml").exists()
    }

    /// A file that belongs to it.
    #[must_use]
    pub fn beside(&self, ending: &str) -> PathBuf {
        directory().join(format!("{}.{ending}", self.name))
    }

    /// Whether `run` can be asked to serve it: it is a file or a folder and nothing else.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        !matches!(&self.form, Form::Made(made) if !made.command.is_empty())
    }

    /// Whether it is a folder of files.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        matches!(self.form, Form::Folder)
    }

    /// The command line that checks it, where it has been laid out.
    #[must_use]
    pub fn check(&self) -> Vec<String> {
        match &self.form {
            Form::Made(made) if !made.command.is_empty() => made.command.clone(),
            _ => vec!["check".to_owned(), self.path().to_owned()],
        }
    }

    /// What it is called where it has been laid out.
    #[must_use]
    pub fn path(&self) -> &'static str {
        match self.form {
            Form::Folder => "conf.d",
            Form::File | Form::Made(_) => "gateway.toml",
        }
    }

    /// Lays it out in a directory, in the place of what lies there under its names.
    ///
    /// # Panics
    /// When it cannot be read or written.
    pub fn lay(&self, into: &Path) {
        let target = into.join(self.path());
        match &self.form {
            Form::File => {
                copy(&self.beside("toml"), &target);
                let cluster = self.beside("cluster.toml");
                if cluster.exists() {
                    copy(&cluster, &into.join("cluster.toml"));
                }
            }
            Form::Folder => {
                let _ = fs::remove_dir_all(&target);
                fs::create_dir(&target).expect("a directory");
                for entry in fs::read_dir(directory().join(&self.name)).expect("a folder") {
                    let file = entry.expect("an entry").path();
                    copy(&file, &target.join(file.file_name().expect("a name")));
                }
            }
            Form::Made(made) => made.lay(into),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::write(to, fs::read(from).expect("a file of ours")).expect("a file in the scratch");
}

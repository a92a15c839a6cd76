//! Documents as one text, so that a snapshot can be kept and read again.
//!
//! A line names each document and is a comment in TOML; a text without such a line is one document.

use crate::origin::Document;

/// What begins the line that names a document.
const NAMES: &str = "#:document ";

/// One text of them.
///
/// # Errors
/// The name of a document that could not be told apart from another one afterwards.
pub(super) fn text(documents: &[Document]) -> Result<String, String> {
    let mut text = String::new();
    for one in documents {
        let is_odd = one.name.contains(['\n', '\r']) || one.text.contains(&format!("\n{NAMES}"));
        if is_odd || one.text.starts_with(NAMES) {
            return Err(one.name.clone());
        }
        text.push_str(&format!("{NAMES}{}\n{}", one.name, one.text));
        if !one.text.is_empty() && !one.text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}

/// The documents of a text; `name` is for a text that names none.
pub(super) fn documents(text: &str, name: &str) -> Vec<Document> {
    let Some(rest) = text.strip_prefix(NAMES) else {
        return vec![Document {
            name: name.to_owned(),
            text: text.to_owned(),
        }];
    };
    rest.split(&format!("\n{NAMES}"))
        .map(|one| {
            let (name, text) = one.split_once('\n').unwrap_or((one, ""));
            Document {
                name: name.to_owned(),
                text: text.to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str, text: &str) -> Document {
        Document {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn documents_come_back_as_they_were() {
        let all = [
            document("a.toml", "[a]\nx = 1\n"),
            document("b.toml", ""),
            document("c.toml", "[c]\ny = '''\n# document\n'''\n"),
        ];
        let text = text(&all).unwrap();
        let back = documents(&text, "unused");
        let names: Vec<&str> = back.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a.toml", "b.toml", "c.toml"]);
        for (one, back) in all.iter().zip(&back) {
            assert_eq!(one.text.trim_end(), back.text.trim_end());
        }
    }

    #[test]
    fn a_text_without_names_is_one_document() {
        assert_eq!(documents("x = 1\n", "it"), [document("it", "x = 1\n")]);
    }

    #[test]
    fn a_document_cannot_pretend_to_be_two() {
        for odd in [
            document("a", "x = 1\n#:document b\n"),
            document("a", "#:document b\n"),
            document("a\nb", ""),
        ] {
            assert_eq!(text(std::slice::from_ref(&odd)), Err(odd.name));
        }
    }
}

//! Checks what a route does with a request: the action, and how its path is forwarded.

use toml::Spanned;

use super::locations::{self, Wrong};
use super::{Context, literal, patterns};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::files::{FileRole, NamedFile};
use crate::masking;
use crate::model::{
    Action, Answer, Files, ForwardPath, Pattern, Redirect, Rewrite, Route, Segments,
};
use crate::pattern;
use crate::raw::{self, Short};
use crate::settings::{self as s, Setting};
use crate::source::{Place, Placed};
use crate::spelling::Spelling;
use crate::value;

/// What a route does; a pool when it says nothing else.
pub(super) fn action(cx: &mut Context<'_>, from: &str, raw: &raw::Route) -> Action {
    let mut places: Vec<Place> = Vec::new();
    places.extend(raw.answer.as_ref().map(|leaf| cx.place(leaf)));
    places.extend(raw.files.as_ref().map(|leaf| cx.place(leaf)));
    places.extend(raw.pool.as_ref().map(|leaf| cx.place(leaf)));
    places.extend(raw.redirect.as_ref().map(|leaf| cx.place(leaf)));
    if places.len() > 1 {
        places.sort_by_key(|place| place.span.start);
        let title = format!("{from} does several things at once");
        let mut found = Diagnostic::error(codes::ONE_ACTION, title);
        for (index, place) in places.iter().rev().enumerate() {
            let label = if index == 0 {
                "a route does one thing"
            } else {
                "this is another"
            };
            found = found.at(place, label);
        }
        cx.push(found);
    }
    let action = if let Some(leaf) = &raw.answer {
        answer(cx, from, leaf)
    } else if let Some(leaf) = &raw.files {
        files(cx, from, leaf)
    } else if let Some(leaf) = &raw.redirect {
        redirect(cx, from, leaf)
    } else {
        return Action::Pool;
    };
    if places.len() == 1 {
        without_pool(cx, raw);
    }
    action
}

/// Refuses what only means something when a request goes to a node.
fn without_pool(cx: &mut Context<'_>, raw: &raw::Route) {
    let why = "nothing of this route goes to a node";
    cx.no_effect(&raw.timeouts.response, &s::ROUTE_RESPONSE, why);
    cx.no_effect(&raw.timeouts.idle, &s::ROUTE_IDLE, why);
    cx.no_effect(&raw.retry, &s::ROUTE_RETRY, why);
    cx.no_effect(&raw.repeatable, &s::ROUTE_REPEATABLE, why);
    cx.no_effect(&raw.upgrade, &s::ROUTE_UPGRADE, why);
    cx.no_effect(&raw.rewrite, &s::ROUTE_REWRITE, why);
    cx.no_effect(&raw.forward_path, &s::ROUTE_FORWARD_PATH, why);
}

fn answer(cx: &mut Context<'_>, from: &str, leaf: &Spanned<Short<i64, raw::Answer>>) -> Action {
    let none = raw::Answer {
        status: None,
        body: None,
        content_type: None,
    };
    let mut setting = &s::ANSWER_STATUS;
    let (written, long) = match leaf.get_ref() {
        Short::Short(status) => {
            setting = &s::ROUTE_ANSWER;
            (Some(Spanned::new(leaf.span(), *status)), &none)
        }
        Short::Long(long) => {
            if long.status.is_none() {
                cx.missing(&format!("`answer` of {from}"), leaf, &s::ANSWER_STATUS);
            }
            (long.status.clone(), &**long)
        }
    };
    let status: u16 = cx.integer(&written, setting);
    if let Some(leaf) = written.filter(|_| is_elsewhere(status)) {
        let title = format!("an answer with {status} says where to, and this one cannot");
        let label = "write `redirect`, which takes a status too";
        cx.refuse(codes::OUT_OF_RANGE, title, &leaf, label);
    }
    if matches!(status, 204 | 205 | 304) {
        let why = format!("an answer with {status} has no body");
        cx.no_effect(&long.body, &s::ANSWER_BODY, &why);
    }
    if long.body.is_none() {
        let why = "there is no `body`";
        cx.no_effect(&long.content_type, &s::ANSWER_TYPE, why);
    }
    let content_type = match &long.content_type {
        Some(leaf) => cx.token(leaf, &s::ANSWER_TYPE, value::is_field_value),
        None => PLAIN.into(),
    };
    Action::Answer(Box::new(Answer {
        status,
        body: long
            .body
            .as_ref()
            .map(|leaf| leaf.get_ref().as_str().into()),
        content_type,
    }))
}

fn files(cx: &mut Context<'_>, from: &str, leaf: &Spanned<Short<String, raw::Files>>) -> Action {
    let (root, long) = match leaf.get_ref() {
        Short::Short(root) => (Some(Spanned::new(leaf.span(), root.clone())), None),
        Short::Long(long) => {
            if long.root.is_none() {
                cx.missing(&format!("`files` of {from}"), leaf, &s::FILES_ROOT);
            }
            (long.root.clone(), Some(&**long))
        }
    };
    let index = long.and_then(|long| long.index.as_ref());
    let spa = long.and_then(|long| long.spa.as_ref());
    let listing = long.and_then(|long| long.listing.clone());
    let list = long.and_then(|long| long.precompressed.clone());
    let root = root.map(|root| cx.file(&root, FileRole::Directory));
    let root = root.unwrap_or_default();
    let spa = spa.map(|leaf| {
        let name = cx.token(leaf, &s::FILES_SPA, is_file_name);
        let whole = Placed::new(root.join(&*name), cx.place(leaf));
        cx.files.push(NamedFile::new(&whole, FileRole::Sent));
        name
    });
    Action::Files(Box::new(Files {
        root,
        index: match index {
            Some(leaf) => cx.token(leaf, &s::FILES_INDEX, is_file_name),
            None => INDEX.into(),
        },
        listing: cx.flag(&listing, &s::FILES_LISTING),
        spa,
        precompressed: cx.words(&list, &s::FILES_PRECOMPRESSED).unwrap_or_default(),
    }))
}

/// Whether a text is the name of one file.
fn is_file_name(text: &str) -> bool {
    let is_dots = matches!(text, "." | "..");
    !text.is_empty()
        && !is_dots
        && masking::logins(text).is_empty()
        && !text
            .chars()
            .any(|c| c.is_control() || matches!(c, '/' | '\\'))
}

fn redirect(
    cx: &mut Context<'_>,
    from: &str,
    leaf: &Spanned<Short<String, raw::Redirect>>,
) -> Action {
    let (to, long) = match leaf.get_ref() {
        Short::Short(to) => (Some(Spanned::new(leaf.span(), to.clone())), None),
        Short::Long(long) => {
            if long.to.is_none() {
                cx.missing(&format!("`redirect` of {from}"), leaf, &s::REDIRECT_TO);
            }
            (long.to.clone(), Some(&**long))
        }
    };
    let to = to.and_then(|to| spelling(cx, from, &to, locations::location));
    let written = long.and_then(|long| long.status.clone());
    let status: u16 = cx.integer(&written, &s::REDIRECT_STATUS);
    if let Some(leaf) = written.filter(|_| !is_elsewhere(status)) {
        let title = format!("{status} sends nobody elsewhere");
        cx.refuse(
            codes::OUT_OF_RANGE,
            title,
            &leaf,
            "301, 302, 303, 307 or 308",
        );
    }
    let keep = long.and_then(|long| long.keep_path.clone());
    if to
        .as_ref()
        .is_some_and(|to| to.to_string().contains(['?', '#']))
    {
        let kept = keep.clone().filter(|leaf| *leaf.get_ref());
        let why = "nothing can be put behind a `?` or `#`";
        cx.no_effect(&kept, &s::REDIRECT_KEEP_PATH, why);
    }
    Action::Redirect(Box::new(Redirect {
        to: to.unwrap_or_else(Spelling::root),
        status,
        keep_path: cx.flag(&keep, &s::REDIRECT_KEEP_PATH),
    }))
}

/// Whether an answer with this status says where else the request is to go (RFC 9110 §15.4).
fn is_elsewhere(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

fn spelling(
    cx: &mut Context<'_>,
    from: &str,
    leaf: &Spanned<String>,
    leads: fn(&str) -> Result<(), Wrong>,
) -> Option<Spelling> {
    let (at, why) = match (Spelling::parse(leaf.get_ref()), leads(leaf.get_ref())) {
        (Ok(spelling), Ok(())) => {
            literal::spelling(cx, from, leaf);
            return Some(spelling);
        }
        (Err(wrong), _) => (wrong.at, wrong.why),
        (_, Err(wrong)) => wrong,
    };
    let place = cx.inside(leaf, at);
    let title = format!("{from} leads to no address");
    cx.push(Diagnostic::error(codes::BAD_PATTERN, title).at(&place, why));
    None
}

/// Which path goes to the node, and what is changed in it.
pub(super) fn forwarding(
    cx: &mut Context<'_>,
    from: &str,
    raw: &raw::Route,
    segments: Segments,
    route: &mut Route,
) {
    route.forward_path = match cx.word(&raw.forward_path, &s::ROUTE_FORWARD_PATH) {
        "as-received" => ForwardPath::AsReceived,
        _ => ForwardPath::Normalised,
    };
    if let Some(leaf) = &raw.rewrite {
        route.rewrite = rewrite(cx, from, leaf);
    }
    if segments == Segments::Decoded {
        let why = "a site with decoded segments rebuilds the path from what matched";
        cx.no_effect(&raw.rewrite, &s::ROUTE_REWRITE, why);
        let said = raw.forward_path.clone();
        let as_received = said.filter(|_| route.forward_path == ForwardPath::AsReceived);
        cx.no_effect(&as_received, &s::ROUTE_FORWARD_PATH, why);
    } else if route.rewrite != Rewrite::Keep && route.forward_path == ForwardPath::AsReceived {
        let why = "a path that is rewritten is not the one received";
        cx.no_effect(&raw.forward_path, &s::ROUTE_FORWARD_PATH, why);
    }
}

fn rewrite(cx: &mut Context<'_>, from: &str, leaf: &Spanned<raw::Rewrite>) -> Rewrite {
    let raw = leaf.get_ref();
    if let Some(template) = &raw.template {
        let why = "`template` makes the whole path";
        cx.no_effect(&raw.strip, &s::REWRITE_STRIP, why);
        cx.no_effect(&raw.add, &s::REWRITE_ADD, why);
        let spelling = spelling(cx, from, template, locations::path);
        return spelling.map_or(Rewrite::Keep, Rewrite::Template);
    }
    let strip = piece(cx, &raw.strip, &s::REWRITE_STRIP);
    let add = piece(cx, &raw.add, &s::REWRITE_ADD);
    if strip.is_empty() && add.is_empty() {
        return Rewrite::Keep;
    }
    Rewrite::Prefix {
        strip: strip.into(),
        add: add.into(),
    }
}

/// A prefix of a path, without the slash at its end.
fn piece(cx: &mut Context<'_>, leaf: &raw::Leaf<String>, setting: &Setting) -> String {
    let Some(leaf) = leaf else {
        return String::new();
    };
    let text = leaf.get_ref();
    if let Some((at, why, cure)) = patterns::not_normal(text, true) {
        let title = format!("`{}` takes a path", setting.key());
        let mut found = Diagnostic::error(codes::BAD_PATTERN, title).at(&cx.inside(leaf, at), why);
        found.cure(cure);
        cx.push(found);
    }
    text.trim_end_matches('/').to_owned()
}

/// Where a route redirects to, as it was typed.
pub(super) fn redirect_to(raw: &raw::Route) -> Option<Spanned<String>> {
    let leaf = raw.redirect.as_ref()?;
    match leaf.get_ref() {
        Short::Short(to) => Some(Spanned::new(leaf.span(), to.clone())),
        Short::Long(long) => long.to.clone(),
    }
}

/// Refuses names in a redirect or a rewriting that the pattern does not capture.
pub(super) fn captures(cx: &mut Context<'_>, from: &str, raw: &raw::Route, route: &Route) {
    let (spelling, leaf) = match (&route.action, &route.rewrite) {
        (Action::Redirect(redirect), _) => (&redirect.to, redirect_to(raw)),
        (_, Rewrite::Template(template)) => {
            let rewrite = raw.rewrite.as_ref().map(Spanned::get_ref);
            (template, rewrite.and_then(|raw| raw.template.clone()))
        }
        _ => return,
    };
    let Some(leaf) = leaf else { return };
    let legal: Vec<String> = match &route.pattern {
        Pattern::Template(template) => template.names().map(str::to_owned).collect(),
        Pattern::Regex(text) => pattern::captured(text),
        Pattern::Exact(_) | Pattern::Glob(_) | Pattern::Prefix(_) => Vec::new(),
    };
    for name in spelling
        .names()
        .filter(|name| !legal.iter().any(|one| one == name))
    {
        let at = leaf.get_ref().find(&format!("{{{name}}}")).unwrap_or(0);
        let place = cx.inside(&leaf, at..at + name.len() + 2);
        let title = format!("{from} captures no `{name}`");
        let mut found =
            Diagnostic::error(codes::UNKNOWN_CAPTURE, title).at(&place, "stands for nothing");
        let (_, help) = cx
            .findings
            .budget
            .search(name, legal.iter().map(String::as_str));
        found.cure(
            help.or_else(|| {
                Some("only a `template` and the groups of a `regex` capture".to_owned())
            }),
        );
        cx.push(found);
    }
}

/// The type of a body that was given none.
const PLAIN: &str = "text/plain; charset=utf-8";
/// The file that stands for a directory.
const INDEX: &str = "index.html";

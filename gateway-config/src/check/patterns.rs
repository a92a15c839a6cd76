//! Checks the paths that routes take, and finds routes that are never reached.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::{Context, literal};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::masking;
use crate::model::{Pattern, Route, Segments};
use crate::pattern;
use crate::raw;
use crate::segment;
use crate::settings::{self as s, Setting};
use crate::target::normal_path;
use crate::template::Template;

/// The one pattern of a route; `None` when there is none that can match.
pub(super) fn pattern(
    cx: &mut Context<'_>,
    from: &str,
    (key, raw): (&Spanned<String>, &raw::Route),
    (segments, merge_slashes): (Segments, bool),
) -> Option<Pattern> {
    let written: Vec<(&Setting, &Spanned<String>)> = [
        (&s::ROUTE_EXACT, &raw.exact),
        (&s::ROUTE_TEMPLATE, &raw.template),
        (&s::ROUTE_GLOB, &raw.glob),
        (&s::ROUTE_REGEX, &raw.regex),
        (&s::ROUTE_PATH, &raw.path),
    ]
    .into_iter()
    .filter_map(|(setting, leaf)| Some((setting, leaf.as_ref()?)))
    .collect();
    let (setting, text) = match written.as_slice() {
        [one] => *one,
        [] => {
            let title = format!("{from} has no pattern");
            let label = "needs `exact`, `template`, `glob`, `regex` or `path`";
            cx.refuse(codes::ONE_PATTERN, title, key, label);
            return None;
        }
        several => {
            let count = ["no", "one", "two", "three", "four"];
            let count = count.get(several.len()).copied().unwrap_or("five");
            let title = format!("{from} has {count} patterns");
            let mut places: Vec<_> = several.iter().map(|(_, leaf)| cx.place(leaf)).collect();
            places.sort_by_key(|place| place.span.start);
            let mut found = Diagnostic::error(codes::ONE_PATTERN, title);
            for (index, place) in places.iter().rev().enumerate() {
                let label = ["a route has one", "this is another"].get(index.min(1));
                found = found.at(place, label.copied().unwrap_or_default());
            }
            cx.push(found);
            return None;
        }
    };
    let by_text =
        std::ptr::eq(setting, &s::ROUTE_PATH) || std::ptr::eq(setting, &s::ROUTE_TEMPLATE);
    if segments == Segments::Decoded && !by_text {
        let title = format!("{from} needs normalised paths");
        let label = "a site with decoded segments takes `template` and `path`";
        cx.refuse(codes::NO_EFFECT, title, text, label);
        return None;
    }
    let found = read(cx, from, setting, text, merge_slashes);
    if found.is_some() && (by_text || std::ptr::eq(setting, &s::ROUTE_EXACT)) {
        literal::pattern(cx, from, setting, text);
    }
    found
}

fn read(
    cx: &mut Context<'_>,
    from: &str,
    setting: &Setting,
    leaf: &Spanned<String>,
    merge_slashes: bool,
) -> Option<Pattern> {
    let text = leaf.get_ref();
    let own = || text.as_str().into();
    let wrong = match setting.key() {
        "exact" => return path(cx, from, leaf, merge_slashes).then(|| Pattern::Exact(own())),
        "path" => return path(cx, from, leaf, merge_slashes).then(|| Pattern::Prefix(own())),
        "template" => match Template::parse(text) {
            Ok(template) => return Some(Pattern::Template(template)),
            Err(wrong) => (wrong.at..wrong.at + wrong.len, wrong.why.to_owned()),
        },
        "glob" => match pattern::glob(text) {
            Ok(expression) if pattern::is_unmatched(&expression, merge_slashes) => {
                unmatched(cx, from, leaf, (true, merge_slashes));
                return None;
            }
            Ok(_) => return Some(Pattern::Glob(own())),
            Err(wrong) => wrong,
        },
        _ => match pattern::regex(text) {
            Ok(expression) if pattern::is_unmatched(&expression, merge_slashes) => {
                unmatched(cx, from, leaf, (false, merge_slashes));
                return None;
            }
            Ok(_) => return Some(Pattern::Regex(own())),
            Err(wrong) => wrong,
        },
    };
    let (at, why) = wrong;
    let place = cx.inside(leaf, at);
    let title = format!("{from} has no {} that can match", setting.key());
    cx.push(Diagnostic::error(codes::BAD_PATTERN, title).at(&place, why));
    None
}

/// Adds that a glob or regular expression matches no path, and what to write where that is clear.
fn unmatched(
    cx: &mut Context<'_>,
    from: &str,
    leaf: &Spanned<String>,
    (is_glob, merge_slashes): (bool, bool),
) {
    let text = leaf.get_ref();
    let kind = if is_glob { "glob" } else { "regex" };
    let title = format!("{from} has no {kind} that can match");
    let place = cx.within(leaf);
    let mut found = Diagnostic::error(codes::BAD_PATTERN, title).at(&place, NOT_NORMAL);
    let normal = pattern::as_normal(text, is_glob).map(|text| normal_path(&text, merge_slashes));
    let normal = normal.filter(|normal| normal != text);
    found.cure(normal.map(|normal| format!("write \"{normal}\"")));
    cx.push(found);
}

/// Why a path is compared with none.
const NOT_NORMAL: &str = "not in the form in which paths are compared";

/// Whether a path is written as requests are compared with it; a finding when not.
fn path(cx: &mut Context<'_>, from: &str, leaf: &Spanned<String>, merge_slashes: bool) -> bool {
    let text = leaf.get_ref();
    if text.len() > pattern::MAX_BYTES {
        let place = cx.inside(leaf, pattern::MAX_BYTES..text.len());
        let title = format!("{from} has a path that is too long");
        cx.push(Diagnostic::error(codes::BAD_PATTERN, title).at(&place, "behind 1024 bytes"));
        return false;
    }
    let Some((at, why, mut cure)) = not_normal(text, merge_slashes) else {
        return true;
    };
    if text == "*" {
        cure = Some("for every path write path = \"/\"".to_owned());
    }
    let title = format!("{from} has a path that cannot match");
    let mut found = Diagnostic::error(codes::BAD_PATTERN, title).at(&cx.inside(leaf, at), why);
    found.cure(cure);
    cx.push(found);
    false
}

/// Where and why a text is no path in the form in which they are compared, and what to write.
pub(super) fn not_normal(
    text: &str,
    merge_slashes: bool,
) -> Option<(Range<usize>, &'static str, Option<String>)> {
    let all = 0..text.len();
    if !text.starts_with('/') {
        // Behind a slash nobody would take a login for one.
        let has_host = text.contains("://") || !masking::logins(text).is_empty();
        let cure = match has_host {
            true => "write the path alone; hosts are said by the site".to_owned(),
            false => format!(
                "write \"{}\"",
                normal_path(&format!("/{text}"), merge_slashes)
            ),
        };
        return Some((all, "a path begins with `/`", Some(cure)));
    }
    let end = |(at, c)| segment::ends_path(c).map(|why| (at, why));
    if let Some((at, why)) = text.char_indices().find_map(end) {
        return Some((at..text.len(), why, None));
    }
    let normal = normal_path(text, merge_slashes);
    (text != normal).then(|| (all, NOT_NORMAL, Some(format!("write \"{normal}\""))))
}

/// Warns of a route whose every request an earlier one of the same pattern takes.
pub(super) fn shadowed(cx: &mut Context<'_>, site: &raw::Site, routes: &[Route]) {
    let mut groups: BTreeMap<(u8, String), Vec<&Route>> = BTreeMap::new();
    for route in routes {
        let shape = match &route.pattern {
            Pattern::Exact(path) => (0, path.to_string()),
            Pattern::Glob(text) => (1, text.to_string()),
            Pattern::Prefix(path) => (2, path.strip_suffix('/').unwrap_or(path).to_owned()),
            Pattern::Regex(text) => (3, text.to_string()),
            Pattern::Template(template) => (4, template.shape()),
        };
        groups.entry(shape).or_default().push(route);
    }
    for group in groups.values() {
        for (index, later) in group.iter().enumerate() {
            let first = group
                .iter()
                .take(index)
                .find(|earlier| takes_all_of(earlier, later));
            let Some(first) = first else {
                continue;
            };
            let title = format!("route `{}` is never reached", later.name);
            let place = |cx: &Context<'_>, name: &str| match site.routes.get_key_value(name) {
                Some((key, _)) => Some(cx.place(key)),
                None => site.pool.as_ref().map(|leaf| cx.place(leaf)),
            };
            let mut found = Diagnostic::warning(codes::SHADOWED_ROUTE, title);
            if let Some(place) = place(cx, &later.name) {
                found = found.at(&place, "same paths and methods …");
            }
            if let Some(place) = place(cx, &first.name) {
                found = found.at(&place, "… as this one, which is tried first");
            }
            cx.push(found);
        }
    }
}

fn takes_all_of(earlier: &Route, later: &Route) -> bool {
    let methods = earlier.methods.is_empty()
        || (!later.methods.is_empty()
            && later
                .methods
                .iter()
                .all(|method| earlier.methods.contains(method)));
    methods && (earlier.when.is_empty() || earlier.when == later.when)
}

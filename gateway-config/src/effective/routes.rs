//! Writes routes.

use super::pools::retry_on;
use super::sites::rate;
use super::writer::{Writer, inline, key, quote, word_list};
use crate::model::{Action, Body, ForwardPath, Pattern, Rewrite, Route};
use crate::settings::{self as s, Setting};
use crate::value;

/// One route of the site whose table is `site`.
pub(super) fn route(out: &mut Writer, site: &str, one: &Route) {
    out.table(&format!("{site}.routes.{}", key(&one.name)));
    match &one.pattern {
        Pattern::Exact(path) => out.text(&s::ROUTE_EXACT, path),
        Pattern::Glob(text) => out.text(&s::ROUTE_GLOB, text),
        Pattern::Prefix(path) => out.text(&s::ROUTE_PATH, path),
        Pattern::Regex(text) => out.text(&s::ROUTE_REGEX, text),
        Pattern::Template(template) => out.text(&s::ROUTE_TEMPLATE, &template.to_string()),
    }
    out.line(&s::ROUTE_PRIORITY, one.priority);
    out.texts(&s::ROUTE_METHODS, &one.methods);
    when(out, one);
    if let Some(keys) = &one.query {
        let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
        out.words(&s::ROUTE_QUERY, &keys);
    }
    if !one.refuse_query.is_empty() {
        let pairs = one.refuse_query.iter();
        let pairs = pairs.map(|refused| (&*refused.key, Some(&*refused.because)));
        let setting = &s::ROUTE_REFUSE_QUERY;
        out.line(setting, out.by_name(setting, pairs));
    }
    let (how, bytes) = match one.body {
        Body::Buffer(bytes) => (&s::BODY_BUFFER, bytes),
        Body::Stream(bytes) => (&s::BODY_STREAM, bytes),
    };
    let bytes = quote(&value::write_size(bytes));
    out.line(&s::ROUTE_BODY, inline(&[(how.key(), bytes)]));
    rate(out, &s::ROUTE_RATE, one.rate);
    action(out, one);
}

fn when(out: &mut Writer, one: &Route) {
    if one.when.is_empty() {
        return;
    }
    let mut pairs = Vec::new();
    let tables = [
        (&s::WHEN_HEADERS, &one.when.headers),
        (&s::WHEN_QUERY, &one.when.query),
        (&s::WHEN_COOKIES, &one.when.cookies),
    ];
    for (setting, conditions) in tables {
        if !conditions.is_empty() {
            let all = conditions.iter();
            let all = all.map(|one| (&*one.name, one.value.as_deref()));
            pairs.push((setting.key(), out.by_name(setting, all)));
        }
    }
    if let Some(networks) = &one.when.client {
        pairs.push((s::WHEN_CLIENT.key(), out.network_list(networks)));
    }
    out.line(&s::ROUTE_WHEN, inline(&pairs));
}

fn action(out: &mut Writer, one: &Route) {
    if let Some(total) = one.total.filter(|_| one.action != Action::Pool) {
        let pairs = [(s::ROUTE_TOTAL.key(), quote(&value::write_duration(total)))];
        out.line(&s::ROUTE_TIMEOUTS, inline(&pairs));
    }
    match &one.action {
        Action::Answer(answer) => {
            let mut pairs = vec![(s::ANSWER_STATUS.key(), answer.status.to_string())];
            if let Some(body) = &answer.body {
                pairs.push((s::ANSWER_BODY.key(), quote(body)));
                pairs.push((s::ANSWER_TYPE.key(), quote(&answer.content_type)));
            }
            out.line(&s::ROUTE_ANSWER, inline(&pairs));
        }
        Action::Files(files) => {
            let mut pairs = vec![
                (s::FILES_ROOT.key(), quote(&files.root.to_string_lossy())),
                (s::FILES_INDEX.key(), quote(&files.index)),
                (s::FILES_LISTING.key(), files.listing.to_string()),
            ];
            pairs.extend(
                files
                    .spa
                    .as_ref()
                    .map(|spa| (s::FILES_SPA.key(), quote(spa))),
            );
            if !files.precompressed.is_empty() {
                let list = word_list(&files.precompressed);
                pairs.push((s::FILES_PRECOMPRESSED.key(), list));
            }
            out.line(&s::ROUTE_FILES, inline(&pairs));
        }
        Action::Pool => to_pool(out, one),
        Action::Redirect(redirect) => {
            let pairs = [
                (s::REDIRECT_TO.key(), quote(&redirect.to.to_string())),
                (s::REDIRECT_STATUS.key(), redirect.status.to_string()),
                (s::REDIRECT_KEEP_PATH.key(), redirect.keep_path.to_string()),
            ];
            out.line(&s::ROUTE_REDIRECT, inline(&pairs));
        }
    }
}

fn to_pool(out: &mut Writer, one: &Route) {
    out.line(&s::ROUTE_REPEATABLE, one.repeatable);
    let time =
        |setting: &'static Setting, time| (setting.key(), quote(&value::write_duration(time)));
    let mut pairs = vec![time(&s::ROUTE_RESPONSE, one.budget)];
    pairs.extend(one.answer_gap.map(|gap| time(&s::ROUTE_IDLE, gap)));
    pairs.extend(one.total.map(|total| time(&s::ROUTE_TOTAL, total)));
    out.line(&s::ROUTE_TIMEOUTS, inline(&pairs));
    let mut pairs = Vec::new();
    let attempts = one.retry.attempts;
    pairs.extend(attempts.map(|attempts| (s::ROUTE_RETRY_ATTEMPTS.key(), attempts.to_string())));
    pairs.extend(
        one.retry
            .on
            .map(|on| (s::ROUTE_RETRY_ON.key(), word_list(&retry_on(on)))),
    );
    if !pairs.is_empty() {
        out.line(&s::ROUTE_RETRY, inline(&pairs));
    }
    out.line(&s::ROUTE_UPGRADE, one.upgrade);
    let path = match one.forward_path {
        ForwardPath::AsReceived => "as-received",
        ForwardPath::Normalised => "normalised",
    };
    out.text(&s::ROUTE_FORWARD_PATH, path);
    match &one.rewrite {
        Rewrite::Keep => {}
        Rewrite::Prefix { strip, add } => {
            let pieces = [(&s::REWRITE_STRIP, strip), (&s::REWRITE_ADD, add)];
            let pairs: Vec<(&str, String)> = pieces
                .iter()
                .filter(|(_, text)| !text.is_empty())
                .map(|(setting, text)| (setting.key(), quote(text)))
                .collect();
            out.line(&s::ROUTE_REWRITE, inline(&pairs));
        }
        Rewrite::Template(template) => {
            let pairs = [(s::REWRITE_TEMPLATE.key(), quote(&template.to_string()))];
            out.line(&s::ROUTE_REWRITE, inline(&pairs));
        }
    }
    out.text(&s::ROUTE_POOL, &one.pool);
}

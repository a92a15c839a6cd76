//! The bounds a request is under, each with a name for people.

use gateway_config::model::{Body, Listener, Pool, Rate, Route, Site};
use gateway_config::value::{write_duration, write_size};

use crate::proto::config::Budget;

/// Everything that bounds a request which goes to a pool by this route.
pub(super) fn of(listener: &Listener, site: &Site, route: &Route, pool: &Pool) -> Vec<Budget> {
    let gap = route.answer_gap.unwrap_or(pool.answer_gap);
    let waiting = format!(
        "{}, {} requests at most",
        write_duration(pool.queue_wait),
        pool.queue
    );
    let mut all = vec![
        budget(
            "to the head of the answer, over all tries",
            write_duration(route.budget),
        ),
        budget("to connect, each try", write_duration(pool.connect_timeout)),
        budget("silence inside the answer", write_duration(gap)),
        budget("wait for a slot", waiting),
        budget("in flight on a node", pool.in_flight),
        budget("request body", body(route.body)),
        budget(
            "silence inside the request body",
            write_duration(listener.body_gap),
        ),
    ];
    let tunnel = Some(listener.tunnel_idle).filter(|_| route.upgrade);
    let times = [
        ("the whole exchange", route.total),
        ("silence in a tunnel", tunnel),
    ];
    let times = times.into_iter();
    all.extend(times.filter_map(|(what, time)| Some(budget(what, write_duration(time?)))));
    let total = pool.in_flight_total;
    all.extend(total.map(|most| budget("in flight on the pool", most)));
    let most = listener.in_flight.as_ref();
    all.extend(most.map(|most| budget("in flight on the listener", most.max)));
    let share = pool.retry_budget;
    all.extend(share.map(|share| budget("further tries, of all requests", format!("{share} %"))));
    let rates = [
        ("requests of one client", route.rate),
        ("… on the site", site.rate),
    ];
    let rates = rates.into_iter();
    all.extend(rates.filter_map(|(what, one)| Some(budget(what, rate(one?)))));
    all
}

fn budget(what: &str, value: impl ToString) -> Budget {
    Budget {
        what: what.to_owned(),
        value: value.to_string(),
    }
}

fn body(body: Body) -> String {
    match body {
        Body::Buffer(most) => format!("{}, read whole before a node is asked", write_size(most)),
        Body::Stream(most) => format!("{}, passed on as it comes", write_size(most)),
    }
}

fn rate(rate: Rate) -> String {
    let per = write_duration(rate.per);
    format!("{} in {per}, {} at once", rate.requests, rate.burst)
}

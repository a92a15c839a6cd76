//! Certificates that cannot be used, and those that come into their files while they are shown.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::time::Duration;

use gateway_tests::certs::Identity;
use gateway_tests::client::Conversation;
use gateway_tests::gateway::{Door, Metrics, Plan};
use gateway_tests::message::Request;
use gateway_tests::scratch::set_mode;
use gateway_tests::wait;
use nix::sys::signal::Signal;

use crate::certificates::House;

const DAY: Duration = Duration::from_secs(86_400);
const BROKEN: &str = "a certificate cannot be used";
const SHOWN: &str = "a certificate is shown that was not before";
const ENDS: &str = "a certificate ends soon";

/// A house that looks at its files each second, with the names `a.test` and `b.test`.
fn house() -> (House, Identity, Identity) {
    let (mut house, _) = House::new();
    let (a, b) = (
        house.authority.signs(&["a.test"]),
        house.authority.signs(&["b.test"]),
    );
    house.text += "[limits]\ncertificate_poll = \"1s\"\n[admin]\nbind = \"127.0.0.1:0\"\n";
    for (name, identity) in [("a", &a), ("b", &b)] {
        house.profile(name, identity, "");
        house.site(name, &[&format!("{name}.test")], name);
    }
    (house, a, b)
}

fn put(door: &Door, name: &str, text: &str) {
    let _ = door.scratch().file(name, text);
}

fn shows(house: &House, door: &Door, name: &str, identity: &Identity) -> bool {
    let shaken = house.hello(name).shakes(door.addr());
    shaken.is_ok_and(|shaken| shaken.shows(identity))
}

/// Waits until the files have been looked at once more, which a renewal of `b` shows.
fn is_looked_at(house: &House, door: &Door) {
    let next = house.authority.signs(&["b.test"]);
    let before = told(door, SHOWN, "b.pem");
    put(door, "b.pem", &next.cert_pem);
    put(door, "b.key", &next.key_pem);
    // It is said once it is so.
    wait::until("the look", wait::SOON, || {
        told(door, SHOWN, "b.pem") > before
    });
    assert!(shows(house, door, "b.test", &next));
}

fn told(door: &Door, what: &str, chain: &str) -> usize {
    let said = door.log().saying(what);
    let of_it = said
        .iter()
        .filter(|one| one.text("certificate").ends_with(chain));
    of_it.count()
}

fn admin(door: &Door) -> SocketAddr {
    door.log()
        .waits_for("admin", |_| true)
        .text("addr")
        .parse()
        .unwrap()
}

pub(crate) fn scrape(door: &Door) -> Metrics {
    let answer = Conversation::open(admin(door)).asks(&Request::get("/metrics"));
    Metrics::parse(&answer.is(200).text())
}

#[test]
fn a_broken_certificate_refuses_its_own_handshakes_until_it_can_be_used() {
    let (mut house, a, b) = house();
    house.files.retain(|(name, _)| name != "a.key");
    let door = house.opens();

    let why = house.hello("a.test").fails(door.addr());
    assert!(why.contains("InternalError"), "{why}");
    assert!(shows(&house, &door, "b.test", &b));
    let said = door.log().all().join("\n");
    assert!(
        said.contains("warning[G0602]") && said.contains("a.key"),
        "{said}"
    );
    let broken = "gateway_certificates_broken{profile=\"a\"}";
    let refused = "gateway_handshakes_total{listener=\"edge\",outcome=\"no_certificate\"}";
    assert_eq!(
        (scrape(&door).number(broken), scrape(&door).number(refused)),
        (1.0, 1.0)
    );
    let page = Conversation::open(admin(&door)).asks(&Request::get("/"));
    let sentence = "handshakes for its names are refused";
    assert!(page.text().contains(sentence), "{}", page.text());

    put(&door, "a.key", &a.key_pem);

    wait::until("the key", wait::SOON, || {
        scrape(&door).number(broken) == 0.0
    });
    assert!(shows(&house, &door, "a.test", &a));
    assert_eq!(
        (told(&door, BROKEN, "a.pem"), told(&door, SHOWN, "a.pem")),
        (0, 1)
    );
}

#[test]
fn a_listener_without_a_certificate_that_can_be_used_is_not_started_with() {
    let (house, _, _) = house();
    let plan = Plan::configured(&house.text);
    for (name, _) in &house.files {
        fs::write(plan.path(name), "no PEM").unwrap();
        set_mode(&plan.path(name), 0o600);
    }
    let ended = plan.is_refused();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("error[G0603]"), "{}", ended.stderr);
}

#[test]
fn a_pair_that_is_changed_in_two_steps_is_shown_as_before_until_it_fits() {
    let (house, a, _) = house();
    let door = house.opens();
    let mut shown = a;
    let steps: [fn(&Door, &Identity); 2] = [
        |door, next| put(door, "a.pem", &next.cert_pem),
        |door, next| put(door, "a.key", &next.key_pem),
    ];
    for (round, (first, second)) in [(0, 1), (1, 0)].into_iter().enumerate() {
        let next = house.authority.signs(&["a.test"]);

        steps[first](&door, &next);
        wait::until("a finding", wait::SOON, || {
            told(&door, BROKEN, "a.pem") == round + 1
        });
        is_looked_at(&house, &door);
        assert!(shows(&house, &door, "a.test", &shown));
        assert_eq!(told(&door, BROKEN, "a.pem"), round + 1);

        steps[second](&door, &next);
        wait::until("the new one", wait::SOON, || {
            shows(&house, &door, "a.test", &next)
        });
        shown = next;
    }
}

#[test]
fn what_cannot_be_used_is_told_once_and_the_one_before_is_shown() {
    let (house, a, _) = house();
    let door = house.opens();
    let path = door.scratch().path().join("a.pem");
    let expired = house.authority.signs_again(&["a.test"], 2001..2002, &a);
    let cut = a.cert_pem.get(..a.cert_pem.len() - 60).unwrap();
    let mut findings = 0;
    let mut is_told = |what: &str| {
        findings += 1;
        wait::until(what, wait::SOON, || {
            told(&door, BROKEN, "a.pem") == findings
        });
        is_looked_at(&house, &door);
        assert_eq!(told(&door, BROKEN, "a.pem"), findings, "{what}");
        assert!(shows(&house, &door, "a.test", &a), "{what}");
    };

    put(&door, "a.pem", cut);
    is_told("cut off");
    put(&door, "a.pem", &a.cert_pem);
    set_mode(&door.scratch().path().join("a.key"), 0o644);
    is_told("open to others");
    set_mode(&door.scratch().path().join("a.key"), 0o600);
    put(&door, "a.pem", "garbage");
    is_told("garbage");
    put(&door, "a.pem", &expired.cert_pem);
    is_told("expired");
    fs::remove_file(&path).unwrap();
    is_told("gone");
    // It was shown throughout, also when its file was as before in between.
    assert_eq!(told(&door, SHOWN, "a.pem"), 0);
}

#[test]
fn contents_are_compared_and_not_times() {
    let (house, _, _) = house();
    let door = house.opens();
    let next = house.authority.signs(&["a.test"]);
    for (name, text) in [("a.pem", &next.cert_pem), ("a.key", &next.key_pem)] {
        let path = door.scratch().path().join(name);
        let was = fs::metadata(&path).unwrap().modified().unwrap();
        put(&door, name, text);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(was)
            .unwrap();
    }

    wait::until("the new one", wait::SOON, || {
        shows(&house, &door, "a.test", &next)
    });
}

#[test]
fn a_reload_lives_with_a_broken_certificate_among_several_and_refuses_to_show_none() {
    let (house, a, b) = house();
    let door = house.opens();
    let path = door.scratch().path().join("gateway.toml");
    let reload = |text: &str, outcome: &str| {
        let before = door.log().saying(outcome).len();
        fs::write(&path, text).unwrap();
        door.signal(Signal::SIGHUP);
        wait::until(outcome, wait::SOON, || {
            door.log().saying(outcome).len() > before
        });
    };

    let elsewhere = house
        .text
        .replace("chain = \"a.pem\"", "chain = \"nowhere.pem\"");
    reload(&elsewhere, "reload: applied");
    assert!(
        house
            .hello("a.test")
            .fails(door.addr())
            .contains("InternalError")
    );
    assert!(shows(&house, &door, "b.test", &b));
    reload(&house.text, "reload: applied");
    assert!(shows(&house, &door, "a.test", &a));

    let nowhere = house.text.replace("chain = \"", "chain = \"no/");
    reload(&nowhere, "reload: refused");
    assert!(shows(&house, &door, "a.test", &a) && shows(&house, &door, "b.test", &b));
}

/// Case 74: the first step of a swap, and a reload before the second.
#[test]
fn a_reload_between_the_steps_of_a_swap_is_applied_and_shows_what_was_shown() {
    let (house, a, b) = house();
    let door = house.opens();
    for (name, hosts) in [("own", "own.test"), ("a", "a.test"), ("b", "b.test")] {
        let next = house.authority.signs(&[hosts]);
        put(&door, &format!("{name}.pem"), &next.cert_pem);
    }

    let path = door.scratch().path().join("gateway.toml");
    let text = house.text.replace("body = \"a\"", "body = \"new\"");
    fs::write(path, text).unwrap();
    door.signal(Signal::SIGHUP);

    let _ = door.log().waits_for("reload: applied", |_| true);
    assert!(shows(&house, &door, "a.test", &a) && shows(&house, &door, "b.test", &b));
    let trust = house.authority.trust();
    let mut client = Conversation::open_tls(door.addr(), &trust, "a.test");
    let answer = client.asks(&Request::get("/").to("a.test"));
    assert_eq!(answer.is(200).text(), "new");
}

#[test]
fn the_end_of_a_certificate_is_a_number_and_told_once_as_it_comes_near() {
    let (mut house, _, _) = house();
    let soon = house.authority.signs_until(&["c.test"], 5 * DAY);
    house.profile("c", &soon, "");
    house.site("c", &["c.test"], "c");
    let door = house.opens();

    let said = door
        .log()
        .waits_for(ENDS, |one| one.text("certificate").ends_with("c.pem"));
    assert_eq!(said.text("days"), "4");
    door.signal(Signal::SIGHUP);
    let unchanged = "reload: unchanged but for the files it names";
    let _ = door.log().waits_for(unchanged, |_| true);
    is_looked_at(&house, &door);
    assert_eq!(door.log().saying(ENDS).len(), 1);

    let ends = "gateway_certificate_expiry_timestamp_seconds{profile=\"c\"}";
    let now = gateway_tests::clock::wall().duration_since(std::time::UNIX_EPOCH);
    let left = scrape(&door).number(ends) - now.unwrap().as_secs_f64();
    assert!((4.9..5.1).contains(&(left / DAY.as_secs_f64())), "{left}");
    let later = house.authority.signs_until(&["c.test"], 90 * DAY);
    put(&door, "c.pem", &later.cert_pem);
    put(&door, "c.key", &later.key_pem);
    wait::until("the new one", wait::SOON, || {
        scrape(&door).number(ends) > now_in(80)
    });
    assert!(shows(&house, &door, "c.test", &later));
}

fn now_in(days: u32) -> f64 {
    let then = gateway_tests::clock::wall() + days * DAY;
    then.duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}

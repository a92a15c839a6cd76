use std::path::PathBuf;
use std::{fs, process};

use gateway_config::model::{Listener, Model};
use rcgen::{CertificateParams, KeyPair};

use super::*;

/// The files of one pair.
pub(crate) struct Ground {
    dir: PathBuf,
    files: PairFiles,
}

impl Ground {
    pub(crate) fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("gateway-{name}-{}", process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (chain, key) = (dir.join("own.pem"), dir.join("own.key"));
        let files = PairFiles { chain, key };
        Ground { dir, files }
    }

    pub(crate) fn tls(&self) -> Tls {
        let PairFiles { chain, key } = self.files.clone();
        Tls::new("own".into(), chain, key)
    }

    /// Puts a new pair there that begins and ends so long after 1970; says what its chain is.
    pub(crate) fn puts(&self, begins: Duration, ends: Duration) -> String {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        params.not_before = (UNIX_EPOCH + begins).into();
        params.not_after = (UNIX_EPOCH + ends).into();
        let chain = params.self_signed(&key).unwrap().pem();
        self.writes(&chain);
        fs::write(&self.files.key, key.serialize_pem()).unwrap();
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&self.files.key, closed).unwrap();
        chain
    }

    pub(crate) fn writes(&self, chain: &str) {
        fs::write(&self.files.chain, chain).unwrap();
    }

    fn pairs(&self, before: &Pairs, now: SystemTime) -> Pairs {
        let mut model = Model::new();
        let mut listener = Listener::new("edge".into(), ([127, 0, 0, 1], 0).into());
        listener.tls = Some(self.tls());
        model.listeners.push(listener);
        Pairs::read(&model, before, now)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.dir).unwrap();
    }
}

/// The days after 1970 on which the pairs of these tests are valid.
const VALID: [Duration; 2] = [days(100), days(200)];

const fn days(days: u64) -> Duration {
    Duration::from_secs(days * DAY)
}

fn day(count: u64) -> SystemTime {
    UNIX_EPOCH + days(count)
}

#[test]
fn the_end_comes_near_at_three_weeks_one_week_and_a_day() {
    let near = |left: u64| Near::of(Some(Duration::from_secs(left)));
    for (left, wanted) in [
        (22 * DAY, Near::Far),
        (21 * DAY + 1, Near::Far),
        (21 * DAY, Near::Weeks),
        (7 * DAY + 1, Near::Weeks),
        (7 * DAY, Near::Week),
        (DAY + 1, Near::Week),
        (DAY, Near::Day),
        (0, Near::Day),
    ] {
        assert_eq!(near(left), wanted, "{left}");
    }
    assert_eq!(Near::of(None), Near::Over);
    assert!(Near::Far < Near::Weeks && Near::Week < Near::Day && Near::Day < Near::Over);
}

#[test]
fn what_has_not_changed_is_understood_once_and_judged_again() {
    let ground = Ground::new("bytes");
    let read = |pairs: &Pairs| pairs.get(&ground.files).unwrap().read.clone().unwrap();
    let shown = |pairs: &Pairs| pairs.get(&ground.files).unwrap().shown.clone().unwrap();
    let [begins, ends] = VALID;
    ground.puts(begins, ends);
    let first = ground.pairs(&Pairs::default(), day(150));
    let second = ground.pairs(&first, day(151));
    assert!(Arc::ptr_eq(&read(&first), &read(&second)));
    // One that begins later is shown as soon as it does.
    ground.puts(days(160), days(300));
    let early = ground.pairs(&second, day(152));
    assert!(Arc::ptr_eq(&shown(&first), &shown(&early)));
    let later = ground.pairs(&early, day(161));
    assert!(Arc::ptr_eq(&read(&early), &read(&later)));
    assert!(!Arc::ptr_eq(&shown(&first), &shown(&later)));
}

#[test]
fn a_pair_that_is_not_valid_now_is_told_of_by_its_path() {
    let ground = Ground::new("expired");
    let [begins, ends] = VALID;
    ground.puts(begins, ends);
    let before = ground.pairs(&Pairs::default(), day(150));
    ground.puts(days(100), days(140));
    let pairs = ground.pairs(&before, day(150));
    let chain = ground.files.chain.display();
    let said = format!("{chain}: what is in it is not valid now; the certificate before is shown");
    assert_eq!(pairs.broken().collect::<Vec<_>>(), [said]);
}

#[test]
fn shown_is_said_only_where_what_is_shown_differs() {
    let ground = Ground::new("mended");
    let news = |before: &mut Pairs| {
        let mut pairs = ground.pairs(before, day(150));
        let all = pairs.news(before, day(150)).into_iter();
        let all: Vec<News> = all.map(|(_, one)| one).collect();
        *before = pairs;
        all
    };
    let mut pairs = Pairs::default();
    let [begins, ends] = VALID;
    let chain = ground.puts(begins, ends);
    assert_eq!(news(&mut pairs), [News::Shown]);
    ground.writes("garbage");
    assert!(matches!(&*news(&mut pairs), [News::Broken(_)]));
    ground.writes(&chain);
    assert_eq!(news(&mut pairs), [News::Mended]);
    assert_eq!(news(&mut pairs), []);
    ground.writes("garbage");
    assert!(matches!(&*news(&mut pairs), [News::Broken(_)]));
    ground.puts(begins, ends);
    assert_eq!(news(&mut pairs), [News::Shown]);
}

#[test]
fn the_last_day_and_the_end_are_two_things() {
    let ground = Ground::new("ends");
    let [begins, ends] = VALID;
    ground.puts(begins, ends);
    let mut pairs = Pairs::default();
    let mut news = |now: SystemTime| {
        let before = pairs.clone();
        pairs = ground.pairs(&before, now);
        let all = pairs.news(&before, now).into_iter();
        all.map(|(_, one)| one).collect::<Vec<_>>()
    };
    let second = Duration::from_secs(1);
    assert_eq!(news(day(150)), [News::Shown]);
    assert_eq!(news(day(195)), [News::Ends(5)]);
    assert_eq!(news(day(200) - second), [News::Ends(0)]);
    assert_eq!(news(day(200)), []);
    assert_eq!(news(day(200) + second), [News::Ended]);
    assert_eq!(news(day(201)), []);
}

use std::time::UNIX_EPOCH;

use gateway_config::model::Tls;

use super::*;
use crate::pairs::tests::Ground;

/// A data plane of one listener that shows one certificate, with the files of that.
struct House {
    engine: Engine,
    ground: Ground,
}

impl House {
    fn new(name: &str, change: impl FnOnce(&mut Tls)) -> Self {
        let ground = Ground::new(name);
        let mut tls = ground.tls();
        change(&mut tls);
        let mut listener = Listener::new("edge".into(), ([127, 0, 0, 1], 0).into());
        listener.tls = Some(tls);
        let mut model = Model::new();
        model.workers = Some(1);
        model.listeners.push(listener);
        let engine = Engine::start(Arc::new(Snapshot::new(model)), Options::default()).unwrap();
        House { engine, ground }
    }

    fn renews(&self, meanwhile: impl FnOnce(&Engine)) {
        self.engine.renew(|model, before, now| {
            meanwhile(&self.engine);
            Pairs::read(model, before, now)
        });
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.engine.drain();
        self.engine.join();
    }
}

#[test]
fn a_disk_that_does_not_answer_keeps_nobody_from_a_change() {
    let house = House::new("slow", |_| ());
    let mut is_free = false;
    house.renews(|engine| is_free = engine.overrides.try_lock().is_ok());
    assert!(is_free);
}

#[test]
fn a_look_that_a_change_has_overtaken_is_dropped() {
    let house = House::new("late", |_| ());
    let mut changed = None;
    house.renews(|engine| {
        let prepared = engine.prepare(engine.snapshot()).unwrap();
        prepared.activate();
        changed = Some(engine.pairs.load_full());
    });
    let pairs = house.engine.pairs.load_full();
    assert!(Arc::ptr_eq(&pairs, &changed.unwrap()));
    house.renews(|_| ());
    assert!(!Arc::ptr_eq(&pairs, &house.engine.pairs.load()));
}

#[test]
fn what_could_not_be_shown_is_told_of_by_nobody_and_tried_again() {
    // No handshake can be done under such a profile, which no configuration comes to.
    let house = House::new("unshown", |tls| (tls.tls12, tls.tls13) = (false, false));
    let broken = house.engine.broken_certificates();
    assert_eq!(broken.len(), 1);
    house.ground.puts(Duration::ZERO, now() + DAY);
    house.renews(|_| ());
    let ends = || {
        let pairs = house.engine.pairs.load();
        let listener = house.engine.snapshot().model().listeners[0].clone();
        pairs.standing(&listener.tls.unwrap()).0
    };
    assert_eq!((house.engine.broken_certificates(), ends()), (broken, None));

    let mut model = house.engine.snapshot().model().clone();
    model.listeners[0].tls.as_mut().unwrap().tls13 = true;
    let prepared = house.engine.prepare(Arc::new(Snapshot::new(model)));
    prepared.unwrap().activate();
    assert!(ends().is_some());
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn now() -> Duration {
    clock::wall().duration_since(UNIX_EPOCH).unwrap()
}

use std::path::PathBuf;
use std::{fs, process};

use gateway_config::model::Tls;

use super::*;

/// A data plane of one listener that shows one certificate, with the files of that.
struct House {
    engine: Engine,
    dir: PathBuf,
}

impl House {
    fn new(name: &str, change: impl FnOnce(&mut Tls)) -> Self {
        let dir = std::env::temp_dir().join(format!("gateway-{name}-{}", process::id()));
        fs::create_dir_all(&dir).unwrap();
        let mut tls = Tls::new("own".into(), dir.join("chain.pem"), dir.join("own.key"));
        change(&mut tls);
        let mut listener = Listener::new("edge".into(), ([127, 0, 0, 1], 0).into());
        listener.tls = Some(tls);
        let mut model = Model::new();
        model.workers = Some(1);
        model.listeners.push(listener);
        let engine = Engine::start(Arc::new(Snapshot::new(model)), Options::default()).unwrap();
        House { engine, dir }
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
        fs::remove_dir_all(&self.dir).unwrap();
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

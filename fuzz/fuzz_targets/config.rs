//! Any text is loaded or refused; what is loaded is written and read again as the same.

#![no_main]

use gateway_config::capability::unserved;
use gateway_config::{Sources, load_sources};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut sources = Sources::default();
    // A line of dashes ends a file, so that folders are tried, too.
    let ids: Vec<_> = text
        .split("\n---\n")
        .enumerate()
        .map(|(at, text)| sources.add(&format!("{at}.toml"), text.to_owned()))
        .collect();
    let found = match load_sources(&ids, &mut sources) {
        Err(found) => found,
        Ok(loaded) => {
            let canonical = loaded.snapshot.canonical();
            let mut again = Sources::default();
            let id = again.add("again.toml", canonical);
            let Ok(again) = load_sources(&[id], &mut again) else {
                panic!("what was written is refused");
            };
            assert_eq!(again.snapshot, loaded.snapshot);
            for site in &loaded.snapshot.model().sites {
                let _ = site.route("GET", data);
            }
            unserved(&loaded, &[], &sources)
        }
    };
    for label in found.iter().flat_map(|one| &one.labels) {
        let text = sources.text(label.place.source);
        assert!(text.get(label.place.span.clone()).is_some());
    }
});

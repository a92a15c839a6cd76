//! Whatever is done to a path, a node sees only what a rule allows: by the letter of RFC 3986, and as
//! nodes read it that decode before they split, take `\` for `/`, or cut parameters off.

use gateway_tests::client::Conversation;
use gateway_tests::gateway::Door;
use gateway_tests::node::Cluster;
use gateway_tests::wait;

/// Targets that are tried.
const MANY: usize = 4_000;
/// Where the first one begins; another number is another run.
const SEED: u64 = 0x5eed_0042;

/// Numbers without end, the same for the same seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// What attackers put into paths.
const PIECES: &[&str] = &[
    "/", "//", "/.", "/..", "/./", "/../", "..", ".", "%2e", "%2E%2e", "%2f", "%5c", "\\", ";",
    ";x=1", "..;", "/..;/", "%00", "%c0%ae", "%252e", "%25", "%", "%zz", "~", "a", "A", "?",
    "?q=/pub/", "#", "%20", "admin", "pub", "/admin", "/pub/",
];

fn target(dice: &mut Dice) -> String {
    let mut target = dice
        .one_of(&[
            "/pub/a/b",
            "/pub/",
            "/pub",
            "/admin/x",
            "/admin",
            "/other",
            "/pub/../admin",
        ])
        .to_owned();
    for _ in 0..=dice.below(4) {
        let places: Vec<usize> = target.char_indices().map(|(at, _)| at).collect();
        let at = places[dice.below(places.len())];
        match dice.below(4) {
            0 => {
                let letter = target.remove(at);
                target.insert_str(at, &format!("%{:02x}", u32::from(letter)));
            }
            1 => {
                let letter = target.remove(at);
                target.insert(at, letter.to_ascii_uppercase());
            }
            _ => target.insert_str(at, dice.one_of(PIECES)),
        }
    }
    match target.starts_with('/') {
        true => target,
        false => format!("/{target}"),
    }
}

/// The segments that a careless reader is left with.
fn read_carelessly(target: &str, decodes_first: bool, cuts: bool) -> Vec<String> {
    let path = target.split('?').next().unwrap_or_default();
    let decode = |text: &str| {
        let bytes = text.as_bytes();
        let mut out = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let pair = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
            match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
                Some(byte) => {
                    out.push(byte);
                    at += 3;
                }
                None => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    let path = if decodes_first {
        decode(path)
    } else {
        path.to_owned()
    };
    let mut left: Vec<String> = Vec::new();
    for segment in path.split(['/', '\\']) {
        let segment = if decodes_first {
            segment.to_owned()
        } else {
            decode(segment)
        };
        let segment = match cuts {
            true => segment.split(';').next().unwrap_or_default().to_owned(),
            false => segment,
        };
        match &*segment {
            "" | "." => {}
            ".." => {
                left.pop();
            }
            _ => left.push(segment),
        }
    }
    left
}

#[test]
fn nothing_reaches_a_node_that_a_rule_does_not_allow() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::configured(&format!(
        "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\nendpoints = \"shop\"\n\
         [sites.shop.routes]\npub = {{ path = \"/pub\", pool = \"shop\" }}\n\
         admin = {{ path = \"/admin\", answer = {{ status = 403, body = \"no\" }} }}\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\nprobe = {{ every = \"250ms\" }}\n",
        cluster["a"].addr()
    ));
    door.sees_in("a");
    let mut dice = Dice(SEED);
    let (mut reached, mut refused) = (0, 0);

    for turn in 0..MANY {
        let target = target(&mut dice);
        let mut client = Conversation::open(door.addr());
        let ask = format!("GET {target} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n");
        let answer = client.says(ask).expects_answer_to("GET").hears();
        let seen = cluster["a"].seen();
        cluster.forgets();
        let Some(seen) = seen.first() else {
            refused += 1;
            let is_ours = [400, 403, 404].contains(&answer.status);
            assert!(
                is_ours,
                "turn {turn} of {SEED:#x}: {target}: {}",
                answer.status
            );
            continue;
        };
        reached += 1;
        for (decodes_first, cuts) in [(false, false), (false, true), (true, false), (true, true)] {
            let read = read_carelessly(&seen.target, decodes_first, cuts);
            assert_eq!(
                read.first().map(String::as_str),
                Some("pub"),
                "turn {turn} of {SEED:#x}: {target} came as {}",
                seen.target
            );
        }
    }
    assert!(
        reached > MANY / 10 && refused > MANY / 10,
        "{reached} and {refused}"
    );
    wait::until("nothing in flight", wait::SOON, || {
        door.node("a")["in_flight"] == 0
    });
}

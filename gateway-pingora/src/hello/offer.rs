//! Hellos made for tests, byte by byte: also such as no good client makes.

use proptest::prelude::*;
use proptest::sample::subsequence;

/// What a hello offers, by the numbers of RFC 8446.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    /// `None`: no list, which means TLS 1.2.
    pub(crate) versions: Option<Vec<u16>>,
    pub(crate) suites: Vec<u16>,
    pub(crate) schemes: Vec<u16>,
    /// Behind X25519, which comes first and with a share.
    pub(crate) groups: Vec<u16>,
}

/// Offers of everything that is spoken here, and of some that is not.
pub(crate) fn an_offer() -> impl Strategy<Value = Offer> {
    const VERSIONS: [u16; 2] = [0x0304, 0x0303];
    const SUITES: [u16; 9] = [
        0x1301, 0x1302, 0x1303, 0xc02b, 0xc02c, 0xcca9, 0xc02f, 0xc030, 0x002f,
    ];
    const SCHEMES: [u16; 9] = [
        0x0403, 0x0503, 0x0807, 0x0804, 0x0805, 0x0401, 0x0501, 0x0203, 0x0201,
    ];
    const GROUPS: [u16; 2] = [23, 24];

    let versions = proptest::option::of(subsequence(VERSIONS.to_vec(), 1..=VERSIONS.len()));
    let suites = subsequence(SUITES.to_vec(), 1..=SUITES.len());
    let schemes = subsequence(SCHEMES.to_vec(), 1..=SCHEMES.len());
    let groups = subsequence(GROUPS.to_vec(), 0..=GROUPS.len());
    (versions, suites, schemes, groups).prop_map(|(versions, suites, schemes, groups)| Offer {
        versions,
        suites,
        schemes,
        groups,
    })
}

impl Offer {
    /// The hello in records of at most this many bytes.
    pub(crate) fn hello(&self, piece: usize) -> Vec<u8> {
        const X25519: u16 = 29;
        const POINT: [u8; 32] = [9; 32];

        let share = [&X25519.to_be_bytes()[..], &block(2, &POINT)].concat();
        let groups = [&[X25519], &*self.groups].concat();
        let versions = self.versions.as_ref().map(|all| block(1, &words(all)));
        let extensions = [
            (10, Some(block(2, &words(&groups)))),
            (13, Some(block(2, &words(&self.schemes)))),
            (43, versions),
            (51, Some(block(2, &share))),
        ];
        let extensions = extensions.into_iter().filter_map(|(kind, data)| {
            let kind: u16 = kind;
            Some([&kind.to_be_bytes()[..], &block(2, &data?)].concat())
        });
        let body = [
            vec![3, 3],
            vec![7; 32],
            block(1, &[]),
            block(2, &words(&self.suites)),
            block(1, &[0]),
            block(2, &extensions.collect::<Vec<_>>().concat()),
        ];
        let message = [vec![1], block(3, &body.concat())].concat();
        let records = message.chunks(piece.min(message.len()));
        let record = |part: &[u8]| [vec![22, 3, 1], block(2, part)].concat();
        records.flat_map(record).collect()
    }
}

fn words(all: &[u16]) -> Vec<u8> {
    all.iter().flat_map(|one| one.to_be_bytes()).collect()
}

/// Bytes behind their length of so many bytes.
fn block(size: usize, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len().to_be_bytes();
    [&length[length.len() - size..], bytes].concat()
}

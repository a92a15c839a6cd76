//! Follows the frames of an HTTP/2 connection, in both directions, and counts those that cost much and
//! carry nothing: too many of them, and the client is told to go away.
//!
//! Pure; it changes no byte and parses no more than it counts, which is left to the engine's own
//! reader. Asked by the stream of the connection ([`Conn`](crate::stream::Conn)) before that reader
//! sees the bytes.
//!
//! Source: RFC 9113 §4.1, §6, §10.5; adr/0044.

use std::time::{Duration, Instant};

use gateway_config::model::Http2Limits;

/// In what time frames are counted.
const WINDOW: Duration = Duration::from_secs(10);
/// Bytes that a client begins with (RFC 9113 §3.4).
const PREFACE: usize = 24;
/// Bytes of a frame's head.
const HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// RFC 9113 §7: `NO_ERROR`.
pub(crate) const NO_ERROR: u8 = 0;
/// RFC 9113 §7: `ENHANCE_YOUR_CALM`.
pub(crate) const CALM: u8 = 0xb;

/// What a client sent too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    /// Frames of data without data.
    EmptyData,
    /// Pings.
    Pings,
    /// Streams that it reset, or sent something that made us reset them.
    Resets,
    /// Changes of settings.
    Settings,
}

/// Both directions of one connection.
#[derive(Debug)]
pub(crate) struct Frames {
    limits: Http2Limits,
    preface: usize,
    incoming: Cutter,
    outgoing: Cutter,
    resets: Rate,
    pings: Rate,
    settings: Rate,
    /// Frames of data without data, one after another.
    empty: u32,
    /// Bytes of data that the frame under way carries.
    content: usize,
    /// The first bytes of a reset of ours, or of a farewell, and how many they are.
    word: (u64, usize),
    /// The last stream and the code of our farewell.
    farewell: Option<(u32, u32)>,
    /// The client has begun something of which it must send the rest.
    is_owed: bool,
    /// The highest stream of the client.
    last: u32,
    begun: u64,
    /// Streams whose answers are not complete.
    open: Vec<u32>,
    /// Content of answers was sent since that was last asked.
    has_sent: bool,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The rest of a preface, settings included, or of a list of fields.
    Owed,
    /// Answers, to be made or to be taken.
    Answers,
    /// A request: there is no stream.
    Rest,
    /// The end: there is no stream, and the client has been told to go away.
    Leave,
}

impl Frames {
    /// A connection on which nothing has passed.
    pub(crate) fn new(limits: Http2Limits) -> Self {
        Frames {
            limits,
            preface: PREFACE,
            incoming: Cutter::default(),
            outgoing: Cutter::default(),
            resets: Rate::default(),
            pings: Rate::default(),
            settings: Rate::default(),
            empty: 0,
            content: 0,
            word: (0, 0),
            farewell: None,
            is_owed: true,
            last: 0,
            begun: 0,
            open: Vec::new(),
            has_sent: false,
        }
    }

    /// Whether content of answers was sent since this was last asked.
    pub(crate) fn has_sent(&mut self) -> bool {
        std::mem::take(&mut self.has_sent)
    }

    /// What the connection waits for.
    pub(crate) fn wait(&self) -> Wait {
        match (self.is_owed, self.open.is_empty(), self.farewell) {
            (true, ..) => Wait::Owed,
            (false, false, _) => Wait::Answers,
            (false, true, None) => Wait::Rest,
            (false, true, Some(_)) => Wait::Leave,
        }
    }

    /// Streams that the client has begun.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// The code with which the engine has told the client to go away (RFC 9113 §7); 0 is no error.
    pub(crate) fn farewell(&self) -> Option<u32> {
        self.farewell.map(|(_, code)| code)
    }

    /// Whether the client has been told which of its streams were taken (RFC 9113 §6.8): the first farewell of a
    /// connection that is closed in order names more of them than there are.
    pub(crate) fn is_told(&self) -> bool {
        self.farewell.is_some_and(|(last, _)| last <= self.last)
    }

    /// Some bytes of the client.
    ///
    /// # Errors
    /// What it sent too much of.
    pub(crate) fn receive(&mut self, bytes: &[u8], now: Instant) -> Result<(), Flood> {
        let preface = self.preface.min(bytes.len());
        self.preface -= preface;
        let mut rest = bytes.get(preface..).unwrap_or_default();
        while let Some(piece) = self.incoming.next(&mut rest) {
            match piece {
                Piece::Head(head) => self.begins(head, now)?,
                Piece::Payload(head, is_first, part) => {
                    if let (true, DATA, Some(pad)) = (is_first, head.kind, part.first())
                        && head.flags & PADDED != 0
                    {
                        self.content = self.content.saturating_sub(1 + usize::from(*pad));
                    }
                }
                Piece::End(head) => self.ends(head)?,
            }
        }
        Ok(())
    }

    fn begins(&mut self, head: Head, now: Instant) -> Result<(), Flood> {
        let limits = self.limits;
        match head.kind {
            DATA => self.content = head.length,
            HEADERS => {
                self.is_owed = true;
                if head.stream > self.last {
                    self.last = head.stream;
                    self.begun += 1;
                    self.open.push(head.stream);
                }
            }
            PING => self.pings.one(limits.pings, now, Flood::Pings)?,
            RST_STREAM => {
                self.is_over(head.stream);
                self.resets.one(limits.resets, now, Flood::Resets)?;
            }
            SETTINGS => self.settings.one(limits.settings, now, Flood::Settings)?,
            _ => {}
        }
        Ok(())
    }

    fn ends(&mut self, head: Head) -> Result<(), Flood> {
        match head.kind {
            DATA if self.content > 0 => self.empty = 0,
            // The end of a stream may be told in a frame of its own.
            DATA if head.flags & END_STREAM == 0 => {
                self.empty += 1;
                if self.empty > self.limits.empty_data {
                    return Err(Flood::EmptyData);
                }
            }
            CONTINUATION | HEADERS if head.flags & END_HEADERS != 0 => self.is_owed = false,
            SETTINGS if self.begun == 0 => self.is_owed = false,
            _ => {}
        }
        Ok(())
    }

    /// Some bytes of ours.
    ///
    /// # Errors
    /// What the client made us send too much of.
    pub(crate) fn send(&mut self, bytes: &[u8], now: Instant) -> Result<(), Flood> {
        let mut rest = bytes;
        while let Some(piece) = self.outgoing.next(&mut rest) {
            match piece {
                Piece::Payload(head, _, part) if matches!(head.kind, GOAWAY | RST_STREAM) => {
                    let (word, have) = &mut self.word;
                    for byte in part.iter().take(8_usize.saturating_sub(*have)) {
                        *word = *word << 8 | u64::from(*byte);
                        *have += 1;
                    }
                }
                Piece::End(head) if matches!(head.kind, GOAWAY | RST_STREAM) => {
                    let (word, _) = std::mem::take(&mut self.word);
                    let low = |word: u64| u32::try_from(word & u64::from(u32::MAX));
                    let code = low(word).unwrap_or_default();
                    if head.kind == GOAWAY {
                        self.farewell = Some((low(word >> 32).unwrap_or_default(), code));
                        continue;
                    }
                    self.is_over(head.stream);
                    if is_provoked(code) {
                        self.resets.one(self.limits.resets, now, Flood::Resets)?;
                    }
                }
                Piece::End(head)
                    if matches!(head.kind, DATA | HEADERS) && head.flags & END_STREAM != 0 =>
                {
                    self.is_over(head.stream);
                }
                Piece::Payload(head, ..) if head.kind == DATA => self.has_sent = true,
                Piece::Payload(..) | Piece::End(_) | Piece::Head(_) => {}
            }
        }
        Ok(())
    }

    /// A stream has its answer, or nobody waits for it.
    fn is_over(&mut self, stream: u32) {
        self.open.retain(|open| *open != stream);
    }

    /// The frame that tells the client to go away, with this code; `None` in the middle of another one of
    /// ours.
    ///
    /// RFC 9113 §6.8: with the last stream that may have been served.
    pub(crate) fn go_away(&mut self, code: u8) -> Option<[u8; 17]> {
        if !self.outgoing.is_between() || self.preface > 0 {
            return None;
        }
        self.farewell = Some((self.last, u32::from(code)));
        let [a, b, c, d] = self.last.to_be_bytes();
        Some([0, 0, 8, GOAWAY, 0, 0, 0, 0, 0, a, b, c, d, 0, 0, 0, code])
    }
}

/// Whether the client was to blame for a reset of ours (RFC 9113 §7): a protocol, flow control or
/// frame size error, a stream that was closed, one more than may be.
fn is_provoked(code: u32) -> bool {
    matches!(code, 1 | 3 | 5..=7)
}

/// How often something came of late. The time begins with the first, and again when it is over.
#[derive(Debug, Default)]
struct Rate {
    since: Option<Instant>,
    count: u32,
}

impl Rate {
    fn one(&mut self, most: u32, now: Instant, flood: Flood) -> Result<(), Flood> {
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) >= WINDOW {
            self.since = Some(now);
            self.count = 0;
        }
        self.count += 1;
        match self.count > most {
            true => Err(flood),
            false => Ok(()),
        }
    }
}

/// The head of a frame (RFC 9113 §4.1).
#[derive(Clone, Copy, Debug)]
struct Head {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

/// A piece of a frame.
enum Piece<'a> {
    /// Its head is complete.
    Head(Head),
    /// Some of its payload, and whether it is the first of it.
    Payload(Head, bool, &'a [u8]),
    /// It is complete.
    End(Head),
}

/// Cuts bytes into frames, however they come.
#[derive(Debug, Default)]
struct Cutter {
    head: [u8; HEAD],
    have: usize,
    left: Option<usize>,
}

impl Cutter {
    /// Whether the next byte is the first of a frame.
    fn is_between(&self) -> bool {
        self.have == 0
    }

    /// The next piece, taken off the bytes.
    fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
        let head = self.read();
        match self.left {
            None => {
                let room = self.head.get_mut(self.have..)?;
                let count = room.len().min(bytes.len());
                let (now, later) = bytes.split_at_checked(count)?;
                room.get_mut(..count)?.copy_from_slice(now);
                *bytes = later;
                self.have += count;
                if self.have < HEAD {
                    return None;
                }
                let head = self.read();
                self.left = Some(head.length);
                Some(Piece::Head(head))
            }
            Some(0) => {
                (self.left, self.have) = (None, 0);
                Some(Piece::End(head))
            }
            Some(left) if !bytes.is_empty() => {
                let (now, later) = bytes.split_at_checked(left.min(bytes.len()))?;
                *bytes = later;
                self.left = Some(left - now.len());
                Some(Piece::Payload(head, left == head.length, now))
            }
            Some(_) => None,
        }
    }

    fn read(&self) -> Head {
        let [a, b, c, kind, flags, d, e, f, g] = self.head;
        Head {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            stream: u32::from_be_bytes([d & 0x7f, e, f, g]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const LIMITS: Http2Limits = Http2Limits {
        streams: 100,
        resets: 3,
        pings: 3,
        settings: 3,
        empty_data: 2,
    };

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        let mut bytes = vec![0, 0, length, kind, flags, 0, 0, 0, stream];
        bytes.extend_from_slice(payload);
        bytes
    }

    fn begun() -> Frames {
        let mut frames = Frames::new(LIMITS);
        frames.receive(&[b'x'; PREFACE], clock::now()).unwrap();
        frames
    }

    /// All at once, and byte by byte, with the same result.
    fn receives(all: &[Vec<u8>], wanted: Result<(), Flood>) {
        let (bytes, now) = (all.concat(), clock::now());
        assert_eq!(begun().receive(&bytes, now), wanted);
        let mut frames = begun();
        let mut each = bytes.iter().map(|byte| frames.receive(&[*byte], now));
        assert_eq!(each.find(Result::is_err).unwrap_or(Ok(())), wanted);
    }

    #[test]
    fn as_many_as_may_be_pass_and_one_more_does_not() {
        let reset = frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]);
        for (one, flood) in [
            (frame(PING, 0, 0, &[0; 8]), Flood::Pings),
            (frame(SETTINGS, 0, 0, b""), Flood::Settings),
            (reset, Flood::Resets),
        ] {
            receives(&vec![one.clone(); 3], Ok(()));
            receives(&vec![one; 4], Err(flood));
        }
    }

    #[test]
    fn after_ten_seconds_it_is_counted_again() {
        let (mut frames, now) = (begun(), clock::now());
        let ping = frame(PING, 0, 0, &[0; 8]);
        for second in 0..40 {
            let now = now + Duration::from_secs(second * 10 / 3);
            assert_eq!(frames.receive(&ping, now), Ok(()), "{second}");
        }
    }

    #[test]
    fn data_without_data_is_told_from_data_and_from_an_end() {
        let empty = frame(DATA, 0, 1, b"");
        let padded = frame(DATA, PADDED, 1, &[2, 0, 0]);
        let some = frame(DATA, PADDED, 1, &[1, b'x', 0]);
        let end = frame(DATA, END_STREAM, 1, b"");
        let ping = frame(PING, 0, 0, &[0; 8]);
        receives(&[empty.clone(), padded.clone()], Ok(()));
        let three = [empty.clone(), ping, end.clone(), padded, empty.clone()];
        receives(&three, Err(Flood::EmptyData));
        let kept = [empty.clone(), empty.clone(), some, empty.clone(), empty];
        receives(&kept, Ok(()));
        receives(&vec![end; 9], Ok(()));
    }

    #[test]
    fn resets_of_ours_count_where_the_client_made_us() {
        let reset = |code| frame(RST_STREAM, 0, 1, &[0, 0, 0, code]);
        for (code, wanted) in [(7, Err(Flood::Resets)), (0, Ok(())), (8, Ok(()))] {
            let mut frames = begun();
            let sent = frames.send(&[reset(code), reset(code)].concat(), clock::now());
            assert_eq!(sent, Ok(()));
            let sent = frames.send(&[reset(code), reset(code)].concat(), clock::now());
            assert_eq!(sent, wanted, "{code}");
        }
    }

    #[test]
    fn a_farewell_is_known_by_its_code() {
        let mut frames = begun();
        let last = frame(GOAWAY, 0, 0, b"\0\0\0\x05\0\0\0\x0bwith words");
        let (one, two) = last.split_at(13);
        frames.send(one, clock::now()).unwrap();
        assert_eq!(frames.farewell(), None);
        frames.send(two, clock::now()).unwrap();
        assert_eq!(frames.farewell(), Some(u32::from(CALM)));
    }

    #[test]
    fn what_is_owed_is_the_preface_and_the_rest_of_a_list_of_fields() {
        let (mut frames, now) = (Frames::new(LIMITS), clock::now());
        let mut owed = Vec::new();
        for piece in [
            vec![b'x'; PREFACE],
            frame(SETTINGS, 0, 0, b""),
            frame(HEADERS, 0, 1, b"f"),
            frame(SETTINGS, 0, 0, b""),
            frame(CONTINUATION, END_HEADERS, 1, b"f"),
        ] {
            owed.push(frames.wait() == Wait::Owed);
            frames.receive(&piece, now).unwrap();
        }
        owed.push(frames.wait() == Wait::Owed);
        assert_eq!(owed, [true, true, false, true, true, false]);
        assert_eq!(frames.begun(), 1);
    }

    #[test]
    fn a_connection_rests_when_each_answer_is_complete_or_given_up() {
        let (mut frames, now) = (begun(), clock::now());
        frames.receive(&frame(SETTINGS, 0, 0, b""), now).unwrap();
        assert_eq!(frames.wait(), Wait::Rest);
        for stream in [1, 3, 5, 7] {
            let asks = frame(HEADERS, END_HEADERS | END_STREAM, stream, b"f");
            frames.receive(&asks, now).unwrap();
        }
        let ends = [
            frame(HEADERS, END_HEADERS | END_STREAM, 1, b"f"),
            frame(RST_STREAM, 0, 3, b"\0\0\0\0"),
            frame(DATA, END_STREAM, 5, b"all"),
        ];
        frames.send(&frame(DATA, 0, 5, b"some"), now).unwrap();
        for end in ends {
            assert_eq!(frames.wait(), Wait::Answers);
            frames.send(&end, now).unwrap();
        }
        let gives_up = frame(RST_STREAM, 0, 7, b"\0\0\0\x08");
        assert_eq!(frames.wait(), Wait::Answers);
        frames.receive(&gives_up, now).unwrap();
        assert_eq!(frames.wait(), Wait::Rest);
    }

    #[test]
    fn a_client_is_told_by_the_farewell_that_names_no_more_streams_than_there_are() {
        let (mut frames, now) = (begun(), clock::now());
        frames.receive(&frame(SETTINGS, 0, 0, b""), now).unwrap();
        let first = frame(GOAWAY, 0, 0, b"\x7f\xff\xff\xff\0\0\0\0");
        frames.send(&first, now).unwrap();
        assert_eq!((frames.wait(), frames.is_told()), (Wait::Leave, false));
        let last = frame(GOAWAY, 0, 0, &[0; 8]);
        frames.send(&last, now).unwrap();
        assert!(frames.is_told());
    }

    #[test]
    fn the_last_word_waits_for_the_end_of_a_frame() {
        let mut frames = begun();
        let data = frame(DATA, 0, 1, b"abc");
        frames.send(&data[..10], clock::now()).unwrap();
        assert_eq!(frames.go_away(CALM), None);
        frames.send(&data[10..], clock::now()).unwrap();
        frames
            .receive(&frame(HEADERS, END_HEADERS, 5, b"f"), clock::now())
            .unwrap();
        let last = frames.go_away(CALM).unwrap();
        assert_eq!(last[..9], [0, 0, 8, 7, 0, 0, 0, 0, 0]);
        assert_eq!(last[9..], [0, 0, 0, 5, 0, 0, 0, CALM]);
    }
}

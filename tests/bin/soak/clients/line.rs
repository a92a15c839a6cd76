//! One connection of a client, and one exchange on it.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use gateway_tests::client::{Answer, Conversation};
use gateway_tests::clock;
use gateway_tests::message::Request;

use crate::bodies::Write;
use crate::house::read;
use crate::judge::{Exchange, Saw};
use crate::scene::Scene;
use crate::weather::{Door, Spot};

/// Whom to connect to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The address.
    pub(crate) addr: SocketAddr,
    /// Whether TLS is spoken there.
    pub(crate) is_tls: bool,
    /// Where the side listener was, if it is that one.
    pub(crate) side: Option<Spot>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// May be put to another node.
    Read,
    /// May not.
    Write(Write),
}

/// A connection.
pub(crate) struct Line {
    /// What is said on it.
    pub(crate) conversation: Conversation,
    /// When it last had an answer, or began.
    pub(crate) last_heard: Instant,
    /// Whether the listener was leaving already when it was made.
    pub(crate) is_late: bool,
}

impl Target {
    /// The clear listener that stays.
    pub(crate) fn front(scene: &Scene<'_>) -> Self {
        Target {
            addr: scene.front,
            is_tls: false,
            side: None,
        }
    }

    /// The encrypted listener that stays.
    pub(crate) fn safe(scene: &Scene<'_>) -> Self {
        Target {
            addr: scene.safe,
            is_tls: true,
            side: None,
        }
    }

    /// The side listener, if it is anywhere.
    pub(crate) fn side(scene: &Scene<'_>) -> Option<Self> {
        let spot = scene.weather.side()?;
        Some(Target {
            addr: spot.addr,
            is_tls: spot.is_tls,
            side: Some(spot),
        })
    }

    /// Connects; a connection that is not taken is an exchange that failed.
    pub(crate) fn connects(&self, scene: &Scene<'_>, client: &'static str) -> Option<Line> {
        let begun = clock::now();
        let connected = match self.is_tls {
            true => Conversation::tries_tls(self.addr, &scene.trust, "door.test"),
            false => Conversation::tries(self.addr),
        };
        let is_late = self.side.is_some_and(|spot| scene.weather.has_moved(&spot));
        match connected {
            Ok(conversation) => Some(Line {
                conversation,
                last_heard: clock::now(),
                is_late,
            }),
            Err(error) => {
                self.says(
                    scene,
                    client,
                    (begun, begun, is_late),
                    true,
                    not_taken(&error),
                );
                None
            }
        }
    }

    /// Asks on a connection, on a new one if there is none, and keeps it if it may be kept.
    pub(crate) fn asks(
        &self,
        scene: &Scene<'_>,
        client: &'static str,
        slot: &mut Option<Line>,
        ask: &Ask,
    ) {
        let Some(mut line) = slot.take().or_else(|| self.connects(scene, client)) else {
            return;
        };
        let begun = clock::now();
        line.conversation.sends(&ask.request());
        if self.hears(scene, client, (&mut line, begun), ask) {
            *slot = Some(line);
        }
    }

    /// Hears the answer to what was begun to be asked at a moment, and says what came; whether the
    /// connection can be kept.
    pub(crate) fn hears(
        &self,
        scene: &Scene<'_>,
        client: &'static str,
        (line, begun): (&mut Line, Instant),
        ask: &Ask,
    ) -> bool {
        let heard = line.conversation.listens();
        let may_stay = heard
            .as_ref()
            .is_ok_and(|heard| heard.as_ref().is_some_and(may_stay));
        let saw = ask.judge(heard, scene);
        let when = (begun, line.last_heard, line.is_late);
        self.says(scene, client, when, matches!(ask, Ask::Read), saw);
        line.last_heard = clock::now();
        may_stay
    }

    /// Says what was seen of something begun, on a connection last heard, made late or not.
    pub(crate) fn says(
        &self,
        scene: &Scene<'_>,
        client: &'static str,
        (begun, last_heard, is_late): (Instant, Instant, bool),
        is_repeatable: bool,
        saw: Saw,
    ) {
        let exchange = Exchange {
            client,
            door: self.side.map_or(Door::Stays, |_| Door::Side),
            begun,
            last_heard,
            is_repeatable,
            is_late,
            saw,
        };
        scene.ledger.takes(scene.weather, &exchange);
    }
}

impl Ask {
    /// As it is sent.
    pub(crate) fn request(&self) -> Request {
        match self {
            Ask::Read => read(),
            Ask::Write(write) => write.request(),
        }
    }

    /// What was seen in place of the answer it should have.
    fn judge(&self, heard: io::Result<Option<Answer>>, scene: &Scene<'_>) -> Saw {
        match heard {
            Ok(Some(answer)) => self.saw(&answer, &scene.expected),
            Ok(None) => Saw::Closed("the end of the connection".to_owned()),
            Err(error) => Saw::failing(&error),
        }
    }

    /// What an answer is.
    pub(crate) fn saw(&self, answer: &Answer, expected: &[u8]) -> Saw {
        let is_right = || match self {
            Ask::Read => answer.body == expected,
            Ask::Write(write) => answer.json()["echo"].as_str() == Some(&write.body),
        };
        match answer.status {
            status if !answer.is_whole => Saw::Cut(status),
            200 if is_right() => Saw::Served,
            200 => Saw::Differs(answer.text().chars().take(200).collect()),
            status => Saw::Status(status, sentence(answer)),
        }
    }
}

/// Whether the connection goes on after this answer.
fn may_stay(answer: &Answer) -> bool {
    answer.is_whole && !answer.head.lists("connection", "close")
}

/// What a failure says, or the fields of an answer that is none of the gateway's.
pub(crate) fn sentence(answer: &Answer) -> String {
    let sentence = answer.sentence();
    match sentence.is_empty() {
        true => format!("{:?}", answer.head.fields),
        false => sentence,
    }
}

fn not_taken(error: &io::Error) -> Saw {
    Saw::NotTaken(error.to_string())
}

//! Answers GET and HEAD from a directory: which file, which bytes of it, with which fields.
//!
//! [`Root`] holds the directory open, [`Root::answer`] looks a request up in it, and [`Part`]
//! reads what is to be sent. Knows no runtime and no engine: the adapter sends the head, moves the
//! bytes, and writes the sentence of every answer from 400 on, whose body is left empty here.
//!
//! Invariant: no answer holds a byte from outside the directory, whatever is requested and
//! whatever is moved about in the directory meanwhile.
//!
//! Source: GATEWAY §4; RFC 9110 §8, §13, §14; adr/0036.

mod answer;
mod asked;
mod coding;
mod condition;
mod listing;
mod media;
mod part;
mod path;
mod quality;
mod range;
mod root;
mod serve;
mod validator;

pub use answer::{Answer, Body};
pub use asked::Asked;
pub use coding::preferred as preferred_codings;
pub use part::{Part, ReadNow};
pub use root::{Fault, Root};

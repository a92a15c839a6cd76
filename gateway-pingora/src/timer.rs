//! A timer that is armed late and moved rarely: one per connection, for deadlines that are pushed
//! back with every request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::time::Sleep;

/// A timer for a deadline that changes. Nothing is allocated until it is first asked.
#[derive(Default)]
pub(crate) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Ready once `deadline` has passed.
    ///
    /// A deadline later than the one armed costs nothing until the armed one fires.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let until = tokio::time::Instant::from_std(deadline);
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if until < sleep.deadline() {
            sleep.as_mut().reset(until);
        }
        loop {
            match sleep.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if sleep.deadline() < until => sleep.as_mut().reset(until),
                Poll::Ready(()) => return Poll::Ready(()),
            }
        }
    }
}

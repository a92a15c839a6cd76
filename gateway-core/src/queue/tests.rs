use std::sync::Arc;

use super::*;
use crate::in_flight::Gate;
use crate::tried::Tried;

/// A node of which only the gate matters.
#[derive(Debug)]
struct Toy {
    id: NodeId,
    gate: Gate,
}

/// A slot of it that is given back by hand.
type Ticket = Arc<Toy>;

impl OfNode for Ticket {
    fn node_id(&self) -> NodeId {
        self.id
    }
}

impl Toy {
    fn takes(self: &Arc<Self>) -> Option<Ticket> {
        self.gate.take().map(|_| Arc::clone(self))
    }
}

fn toys(number: u64) -> Vec<Arc<Toy>> {
    let toy = |id| {
        let gate = Gate::shut(1);
        gate.open();
        Arc::new(Toy {
            id: NodeId(id),
            gate,
        })
    };
    (0..number).map(toy).collect()
}

/// The first toy with a free slot.
fn choose(toys: &[Arc<Toy>], hints: &Hints) -> Choice<Ticket> {
    let mut free = toys.iter().filter(|toy| !hints.tried.contains(toy.id));
    let taken = free.find_map(Toy::takes);
    taken.map_or(Choice::Full, Choice::Taken)
}

fn joins(queue: &Queue<Ticket>, toys: &[Arc<Toy>], hints: &Hints) -> u64 {
    match queue.join(hints, |hints| choose(toys, hints)).0 {
        Ok(Joined::Waits(ticket)) => ticket,
        other => panic!("does not wait: {other:?}"),
    }
}

fn is_handed(queue: &Queue<Ticket>, ticket: u64, id: u64) -> bool {
    matches!(queue.poll(ticket, Waker::noop()), Some(Choice::Taken(toy)) if toy.id == NodeId(id))
}

fn tried(ids: &[u64]) -> Hints {
    let mut tried = Tried::none();
    ids.iter().for_each(|id| tried.add(NodeId(*id)));
    Hints { tried, key: None }
}

/// Between the release of a slot and its passing on, a newcomer may come to the line first.
#[test]
fn a_newcomer_that_finds_a_slot_before_it_is_passed_on_leaves_it_to_the_waiter() {
    let (queue, toys) = (Queue::new(4), toys(1));
    assert!(toys[0].takes().is_some());
    let waits = joins(&queue, &toys, &Hints::none());
    toys[0].gate.release();
    let (choice, _) = queue.overtake(&Hints::none(), |hints| choose(&toys, hints));
    assert!(matches!(choice, Choice::Full));
    assert!(is_handed(&queue, waits, 0));
    assert!(queue.pass(toys[0].id, || toys[0].takes()).is_none());
    assert_eq!((queue.waiting(), toys[0].gate.count()), (0, 1));
}

#[test]
fn one_that_joins_does_not_overtake_either_and_keeps_what_no_waiter_may_use() {
    let (queue, toys) = (Queue::new(4), toys(2));
    assert!(toys[0].takes().is_some() && toys[1].takes().is_some());
    let first = joins(&queue, &toys, &tried(&[1]));
    toys[0].gate.release();
    let second = joins(&queue, &toys, &tried(&[1]));
    assert!(is_handed(&queue, first, 0));
    toys[1].gate.release();
    let (joined, _) = queue.join(&Hints::none(), |hints| choose(&toys, hints));
    assert!(matches!(joined, Ok(Joined::Ended(Choice::Taken(toy))) if toy.id == NodeId(1)));
    assert_eq!(queue.waiting(), 1);
    assert!(queue.leave(second).is_none());
    assert_eq!(queue.waiting(), 0);
}

#[test]
fn a_slot_passes_those_who_may_not_use_it() {
    let (queue, toys) = (Queue::new(4), toys(1));
    assert!(toys[0].takes().is_some());
    let not_here = joins(&queue, &toys, &tried(&[0]));
    let here = joins(&queue, &toys, &Hints::none());
    toys[0].gate.release();
    assert!(
        queue.pass(toys[0].id, || toys[0].takes()).is_none(),
        "nobody was polled, so nobody is woken"
    );
    assert!(is_handed(&queue, here, 0) && !is_handed(&queue, not_here, 0));
    assert_eq!(queue.waiting(), 1);
}

#[test]
fn a_lower_bound_refuses_newcomers_and_lets_waiters_stay() {
    let (queue, toys) = (Queue::new(2), toys(1));
    assert!(toys[0].takes().is_some());
    let waits = joins(&queue, &toys, &Hints::none());
    queue.set_limit(1);
    let (joined, _) = queue.join(&Hints::none(), |hints| choose(&toys, hints));
    assert_eq!((joined.unwrap_err(), queue.waiting()), (QueueFull, 1));
    assert!(queue.leave(waits).is_none());
}

/// Whoever releases a slot after a joiner has looked for one must find it counted.
#[test]
fn a_joiner_is_counted_before_it_looks() {
    let queue: Queue<Ticket> = Queue::new(4);
    let (joined, _) = queue.join(&Hints::none(), |_| {
        assert_eq!(queue.waiting(), 1, "a release would have passed by");
        Choice::Full
    });
    assert!(matches!(joined, Ok(Joined::Waits(_))));
}

use super::*;
use crate::in_flight::Gate;

/// A node of which only the gate matters.
#[derive(Debug)]
struct Toy {
    id: NodeId,
    gate: Gate,
}

impl Lane for Toy {
    fn id(&self) -> NodeId {
        self.id
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
fn choose(toys: &[Arc<Toy>], tried: &Tried) -> Choice<Toy> {
    let free = toys
        .iter()
        .find(|toy| !tried.contains(toy.id) && toy.gate.take());
    free.map_or(Choice::Full, |toy| Choice::Taken(Arc::clone(toy)))
}

fn joins(queue: &Queue<Toy>, toys: &[Arc<Toy>], tried: &Tried) -> u64 {
    match queue.join(tried, |tried| choose(toys, tried)).0 {
        Ok(Joined::Waits(ticket)) => ticket,
        other => panic!("does not wait: {other:?}"),
    }
}

fn is_handed(queue: &Queue<Toy>, ticket: u64, id: u64) -> bool {
    matches!(queue.poll(ticket, Waker::noop()), Some(Choice::Taken(toy)) if toy.id == NodeId(id))
}

fn tried(ids: &[u64]) -> Tried {
    let mut tried = Tried::none();
    ids.iter().for_each(|id| tried.add(NodeId(*id)));
    tried
}

/// Between the release of a slot and its passing on, a newcomer may come to the line first.
#[test]
fn a_newcomer_that_finds_a_slot_before_it_is_passed_on_leaves_it_to_the_waiter() {
    let (queue, toys) = (Queue::new(4), toys(1));
    assert!(toys[0].gate.take());
    let waits = joins(&queue, &toys, &Tried::none());
    toys[0].gate.release();
    let (choice, _) = queue.overtake(&Tried::none(), |tried| choose(&toys, tried));
    assert!(matches!(choice, Choice::Full));
    assert!(is_handed(&queue, waits, 0));
    assert!(queue.pass(&toys[0], || toys[0].gate.take()).is_none());
    assert_eq!((queue.waiting(), toys[0].gate.count()), (0, 1));
}

#[test]
fn one_that_joins_does_not_overtake_either_and_keeps_what_no_waiter_may_use() {
    let (queue, toys) = (Queue::new(4), toys(2));
    assert!(toys[0].gate.take() && toys[1].gate.take());
    let first = joins(&queue, &toys, &tried(&[1]));
    toys[0].gate.release();
    let second = joins(&queue, &toys, &tried(&[1]));
    assert!(is_handed(&queue, first, 0));
    toys[1].gate.release();
    let (joined, _) = queue.join(&Tried::none(), |tried| choose(&toys, tried));
    assert!(matches!(joined, Ok(Joined::Ended(Choice::Taken(toy))) if toy.id == NodeId(1)));
    assert_eq!(queue.waiting(), 1);
    assert!(queue.leave(second).is_none());
    assert_eq!(queue.waiting(), 0);
}

#[test]
fn a_slot_passes_those_who_may_not_use_it() {
    let (queue, toys) = (Queue::new(4), toys(1));
    assert!(toys[0].gate.take());
    let not_here = joins(&queue, &toys, &tried(&[0]));
    let here = joins(&queue, &toys, &Tried::none());
    toys[0].gate.release();
    assert!(
        queue.pass(&toys[0], || toys[0].gate.take()).is_none(),
        "nobody was polled, so nobody is woken"
    );
    assert!(is_handed(&queue, here, 0) && !is_handed(&queue, not_here, 0));
    assert_eq!(queue.waiting(), 1);
}

#[test]
fn a_lower_bound_refuses_newcomers_and_lets_waiters_stay() {
    let (queue, toys) = (Queue::new(2), toys(1));
    assert!(toys[0].gate.take());
    let waits = joins(&queue, &toys, &Tried::none());
    queue.set_limit(1);
    let (joined, _) = queue.join(&Tried::none(), |tried| choose(&toys, tried));
    assert_eq!((joined.unwrap_err(), queue.waiting()), (QueueFull, 1));
    assert!(queue.leave(waits).is_none());
}

/// Whoever releases a slot after a joiner has looked for one must find it counted.
#[test]
fn a_joiner_is_counted_before_it_looks() {
    let queue: Queue<Toy> = Queue::new(4);
    let (joined, _) = queue.join(&Tried::none(), |_| {
        assert_eq!(queue.waiting(), 1, "a release would have passed by");
        Choice::Full
    });
    assert!(matches!(joined, Ok(Joined::Waits(_))));
}

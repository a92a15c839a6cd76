//! What is written to the log: names of events and fields, declared once.

use gateway_config::model::Name;
use gateway_core::rotation::Moves;

/// One line for each change of rotation, and one for each range that is lost or held again.
pub(crate) fn moves(pool: &Name, moves: &Moves) {
    for rotation in &moves.rotations {
        tracing::info!(
            pool = &**pool,
            node = &*rotation.node,
            addr = &*rotation.addr,
            r#in = rotation.is_in,
            was = rotation.was_in,
            why = rotation.why.map(|why| why.to_string()),
            by = rotation.by.as_str(),
            total_in = rotation.total_in,
            "rotation"
        );
    }
    for range in &moves.ranges {
        match range.is_held {
            true => tracing::info!(pool = &**pool, range = &*range.range, "range held again"),
            false => tracing::warn!(pool = &**pool, range = &*range.range, "range without node"),
        }
    }
}

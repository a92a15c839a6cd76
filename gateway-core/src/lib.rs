//! Decisions with memory.

//! `check`: the quick part of `test`, for the minute before a commit.

use std::path::Path;

use crate::{Result, test, vendor};

/// Stops at the first step that fails.
pub(crate) fn run(root: &Path) -> Result {
    vendor::ensure(root)?;
    test::play(root, test::QUICK)
}

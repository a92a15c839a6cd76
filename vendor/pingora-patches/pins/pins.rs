//! Nothing: this package exists for its manifest and its lock file.

//! When scheduled runs start.

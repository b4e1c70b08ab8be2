//! See the module's parts.

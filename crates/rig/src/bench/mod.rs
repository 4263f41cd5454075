//! Benchmarks beside the original: charts made by a rule, and processes measured by a small parent.

pub mod archive;
pub mod catalogs;
pub mod charts;
pub mod measure;
pub mod operator;
pub mod rate;
pub mod releases;

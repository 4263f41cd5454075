//! The controller kit: what every controller is made of.
//!
//! ```text
//!  watch ──Event──▶ store ──Change──▶ queue ──key──▶ reconcile ──▶ client, events
//!                                       ▲                │
//!                                       └─── backoff ────┘
//!  lease: leader election      roster: other processes      log, measure: logs and metrics      cpu_pool: CPU-bound work
//! ```

pub mod cpu_pool;
pub mod events;
pub mod leader_election;
pub mod log;
pub mod metrics;
pub mod object_store;
pub mod peers;
pub mod work_queue;

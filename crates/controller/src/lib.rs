//! The controller kit: what every controller is made of.
//!
//! ```text
//!  API server ──▶ Informer ──WatchEvent──▶ handler ──key──▶ WorkQueue ──▶ Reconciler ──▶ API server, EventRecorder
//!                    │                                         ▲             │
//!                    └──▶ ObjectStore                          └── backoff ──┘
//!
//!  Manager: leader election, probes, metrics, Events, shutdown      CpuPool: rendering, hashing, unpacking
//! ```
//!
//! A new controller is one type that implements [`Reconciler`], the informers that enqueue its keys, and a call of
//! [`Manager::start`]; `examples/controller` in the repository is one in a single file. Everything runs on one thread, on a
//! [`LocalSet`](tokio::task::LocalSet): reconciles interleave where they wait, so state is shared in cells without locks.
//! CPU-bound work goes to the [`CpuPool`](cpu_pool::CpuPool), or it would delay the renewal of the lease.

pub mod controller;
pub mod cpu_pool;
pub mod events;
pub mod informer;
pub mod leader_election;
pub mod log;
pub mod manager;
pub mod metrics;
pub mod metrics_auth;
pub mod object_store;
pub mod peers;
pub mod work_queue;

pub use controller::{Controller, Reconciler};
pub use events::{EventRecorder, EventType, ObjectReference};
pub use informer::Informer;
pub use leader_election::LeaderElection;
pub use manager::{Manager, shutdown_signal};
pub use object_store::ObjectStore;
pub use work_queue::{Backoff, ReconcileResult, WorkQueue};

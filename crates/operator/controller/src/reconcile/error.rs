//! Why a reconcile failed, as the status reports it.

use podium_client::client;
use podium_release::engine;

/// A failed reconcile.
#[derive(Debug)]
pub struct ReconcileError {
    /// The type of the condition.
    pub condition: &'static str,
    /// The reason of the condition and of the Event.
    pub reason: &'static str,
    /// The message.
    pub message: String,
    /// Whether it is expected to pass without the user, such as a conflict or an unreachable API server: it is logged
    /// and not reported in the status.
    pub transient: bool,
}

impl ReconcileError {
    pub(super) fn new(condition: &'static str, reason: &'static str, message: impl ToString) -> Self {
        Self { condition, reason, message: message.to_string(), transient: false }
    }

    /// An error before or outside of the change of a release.
    pub(super) fn irreconcilable(reason: &'static str, message: impl ToString) -> Self {
        Self::new("Irreconcilable", reason, message)
    }

    /// An error that the next try is expected not to have.
    pub(super) fn transient(message: impl ToString) -> Self {
        Self { transient: true, ..Self::irreconcilable("ReconcileError", message) }
    }
}

impl From<client::Error> for ReconcileError {
    fn from(error: client::Error) -> Self {
        let transient = match &error {
            client::Error::Unreachable { .. } | client::Error::InvalidResponse { .. } => true,
            client::Error::Api(status) => status.code == 409,
            client::Error::Config(_) => false,
        };
        Self { transient, ..Self::irreconcilable("ReconcileError", error) }
    }
}

/// The error of an install or upgrade as a condition.
pub(super) fn release_error(install: bool, error: engine::Error) -> ReconcileError {
    let reason = if install { "InstallError" } else { "UpgradeError" };
    match error {
        engine::Error::Client(error) => error.into(),
        engine::Error::Store(podium_release::Error::Client(error)) => error.into(),
        error => ReconcileError::new("ReleaseFailed", reason, error),
    }
}

/// The error of an uninstall as a condition.
pub(super) fn uninstall_error(error: engine::Error) -> ReconcileError {
    match error {
        engine::Error::Client(error) | engine::Error::Store(podium_release::Error::Client(error)) => {
            error.into()
        }
        error => ReconcileError::new("ReleaseFailed", "UninstallError", error),
    }
}

//! Certificates: who shows one, and making them.

pub mod der;
mod issue;
mod subject;

pub use issue::{Authority, Error, Issued, Validity};
pub use subject::{Unreadable, identity};

/// Object identifiers of the parts of a subject, as they stand in DER.
mod part {
    /// commonName.
    pub const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    /// organizationName.
    pub const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
    /// Kubernetes' own, for the uid of a user: 1.3.6.1.4.1.57683.2.
    pub const UID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];
}

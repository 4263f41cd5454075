//! Tokens: those of service accounts, which are signed, and those that were agreed on.

mod bearer;
mod claims;
mod fixed;
mod issuer;
mod live;
mod request;

pub use bearer::{Bearer, bearer_of};
pub use claims::{Claims, LEGACY, Ref};
pub use fixed::Fixed;
pub use issuer::{Issuer, Known};
pub use live::Lookup;
pub use request::{Request, request};

/// Why a token is not accepted, in the words of the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is nothing that we have given.
    #[error("invalid bearer token")]
    Unknown,
    /// It names a key that we do not have.
    #[error("invalid signature, no keys found")]
    NoKey,
    /// It was not signed with our key.
    #[error("go-jose/go-jose: error in cryptographic primitive")]
    Signature,
    /// It says nothing that makes sense.
    #[error("the claims of the token cannot be read")]
    Claims,
    /// It is for others.
    #[error("token audiences {0} is invalid for the target audiences {1}")]
    Audience(String, String),
    /// Its time is over.
    #[error("service account token has expired")]
    Expired,
    /// Its time has not come.
    #[error("service account token is not valid yet")]
    TooEarly,
    /// It was made in the future.
    #[error("service account token is issued in the future")]
    Future,
    /// What it was bound to is gone.
    #[error("service account token has been invalidated")]
    Gone,
    /// The service account is gone, or what it is bound to is another one now.
    #[error("{0}")]
    Other(String),
}

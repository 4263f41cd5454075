//! Images: built, kept, pushed, pulled, unpacked; and a registry for them.
//!
//! What other tools need is small:
//!
//! - [`Reference`] names an image in a registry, [`ImageLocation`] also one in files (`oci:`, `oci-archive:`, `docker-archive:`).
//! - [`Layout`] is a directory of images. Everything that is built or pulled is there first.
//! - [`build::Image`] with [`build::Layer`] makes an image of files: `image.write(&layout)` gives its [`Descriptor`]. The
//!   same input is always the same digest. [`build::index`] makes one for several platforms.
//! - [`Client`] talks to registries: [`Client::push`], [`Client::pull`], [`Client::copy`], [`Client::resolve`],
//!   [`Client::tags`], [`Client::tag`], [`Client::delete`], [`Client::referrers`].
//! - [`Client::files`] reads the files of an image in a registry under some paths, without keeping the rest: a catalog's
//!   `/configs`, a bundle's `/manifests` and `/metadata`. For images in a layout or an archive the same is
//!   `(&layout as &dyn BlobSource).files(…)`, and [`files::FileCollector`] takes layers from anywhere.
//! - [`unpack`] writes an image's files to disk.
//!
//! Build and push:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use podium_oci::build::{Image, Layer, Rights};
//! use podium_oci::{Client, Layout, Options, Platform, Reference, quiet};
//!
//! let layout = Layout::create("/tmp/images")?;
//! let mut layer = Layer::new();
//! layer.file("/configs/catalog.yaml", *b"schema: olm.package\n", Rights::default())?;
//! let mut image = Image::new(Platform::here());
//! image.layers.push(layer);
//! image.labels.insert("operators.operatorframework.io.index.configs.v1".into(), "/configs".into());
//! let descriptor = image.write(&layout)?;
//! let name = Reference::parse("localhost:5000/catalog:1.0.0")?;
//! Client::new(Options::default()).push(&layout, &descriptor, &name, &quiet()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Read files of an image:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use podium_oci::{Client, Options, Platform, Reference, files::Limits};
//!
//! let name = Reference::parse("localhost:5000/catalog:1.0.0")?;
//! let client = Client::new(Options::default());
//! let found = client.files(&name, &Platform::here(), &["/configs"], Limits::default()).await?;
//! println!("{} has {:?}", found.image.digest, found.config.labels());
//! for (path, file) in found.files.below("/configs") {
//!     println!("{path}: {} bytes", file.data.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The parts that read and write files ([`build`], [`layout`], [`files`], [`unpack`], [`tar`]) know nothing of networks;
//! the client and the registry need a tokio runtime. Nothing here looks at the environment but for this machine's
//! authorities: [`Options`] says it all.

pub mod archive;
pub mod blob_source;
pub mod build;
pub mod client;
pub mod digest;
pub mod files;
pub mod layer;
pub mod layout;
pub mod model;
pub mod reference;
pub mod registry;
pub mod tar;
pub mod tree;
pub mod unpack;

mod buffer_pool;
mod disk;
mod gzip;
#[cfg(test)]
mod test_util;
mod threaded_hasher;
mod zstd;

pub use blob_source::BlobSource;
pub use client::credentials::{Credential, Keyring};
pub use client::dial::ProxyConfig;
pub use client::remote::ImageContents;
pub use client::tls::{ClientCertificate, TlsOptions};
pub use client::{Client, Options, Platforms, Progress, ProgressReporter, TransferOutcome, no_progress};
pub use digest::Digest;
pub use layout::Layout;
pub use model::{Config, Descriptor, Index, Manifest, ManifestOrIndex, Platform};
pub use reference::{ImageLocation, Reference};

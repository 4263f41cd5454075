//! OCI images: build, store, push, pull and unpack, and a registry.
//!
//! - [`Reference`] names an image in a registry; [`ImageLocation`] also covers local files (`oci:`, `oci-archive:`,
//!   `docker-archive:`).
//! - [`Layout`] is an OCI image layout directory. Built and pulled images are stored in one.
//! - [`build::ImageBuilder`] and [`build::LayerBuilder`] build an image from files: `image.write(&layout)` returns its
//!   [`Descriptor`]. Builds are reproducible. [`build::write_index`] combines images for several platforms.
//! - [`Client`] talks to registries: [`Client::push`], [`Client::pull`], [`Client::copy`], [`Client::resolve`],
//!   [`Client::tags`], [`Client::tag`], [`Client::delete`], [`Client::referrers`].
//! - [`Client::files`] reads the files of a remote image under selected paths without storing the image: a catalog's
//!   `/configs`, a bundle's `/manifests` and `/metadata`. For layouts and archives, use
//!   `(&layout as &dyn BlobSource).files(…)`; [`files::FileCollector`] accepts layers from any source.
//! - [`unpack`] writes the files of an image to disk.
//!
//! Build and push:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use podium_oci::build::{FileAttributes, ImageBuilder, LayerBuilder};
//! use podium_oci::{Client, Layout, Options, Platform, Reference, no_progress};
//!
//! let layout = Layout::create("/tmp/images")?;
//! let mut layer = LayerBuilder::new();
//! layer.add_file("/configs/catalog.yaml", *b"schema: olm.package\n", FileAttributes::default())?;
//! let mut image = ImageBuilder::new(Platform::host());
//! image.layers.push(layer);
//! image.labels.insert("operators.operatorframework.io.index.configs.v1".into(), "/configs".into());
//! let descriptor = image.write(&layout)?;
//! let reference = Reference::parse("localhost:5000/catalog:1.0.0")?;
//! Client::new(Options::default()).push(&layout, &descriptor, &reference, &no_progress()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Read files of an image:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use podium_oci::{Client, Options, Platform, Reference, files::ExtractLimits};
//!
//! let reference = Reference::parse("localhost:5000/catalog:1.0.0")?;
//! let client = Client::new(Options::default());
//! let found = client.files(&reference, &Platform::host(), &["/configs"], ExtractLimits::default()).await?;
//! println!("{} has {:?}", found.image.digest, found.config.labels());
//! for (path, file) in found.files.files_under("/configs") {
//!     println!("{path}: {} bytes", file.data.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`build`], [`layout`], [`files`], [`unpack`] and [`tar`] do no networking; the client and the registry need a tokio
//! runtime. Apart from the system's root certificates, all settings are passed in through [`Options`].

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

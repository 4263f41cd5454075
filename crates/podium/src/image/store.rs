//! The images of this machine: a layout in the data folder, with whole names.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::ArgMatches;
use podium_oci::{Descriptor, Layout, Reference};

use crate::local::home::Home;

/// Where the local images are; made when it is first used.
pub fn open(matches: &ArgMatches) -> Result<Layout> {
    let root = Home::of(matches)?.root.join("images");
    Ok(Layout::create(&root)?)
}

/// Where compressed layers are remembered.
pub fn cache(matches: &ArgMatches) -> Result<PathBuf> {
    Ok(Home::of(matches)?.root.join("images.cache"))
}

/// An image of this machine, by name or digest.
pub fn find(layout: &Layout, name: &str) -> Result<Option<Descriptor>> {
    let index = layout.index()?;
    let text = name.strip_prefix('@').unwrap_or(name);
    if let Some(found) = index.manifests.iter().find(|image| image.digest.to_string() == text) {
        return Ok(Some(found.clone()));
    }
    let reference = Reference::parse(name)?;
    let same = |image: &&Descriptor| match (&reference.tag, &reference.digest) {
        (Some(_), None) => image.ref_name() == Some(reference.to_string().as_str()),
        (_, Some(digest)) => image.digest == *digest,
        (None, None) => false,
    };
    Ok(index.manifests.iter().find(same).cloned())
}

/// An image that has to be here.
pub fn get(layout: &Layout, name: &str) -> Result<Descriptor> {
    find(layout, name)?.ok_or_else(|| {
        anyhow!("there is no image {name} on this machine: podium image list shows those that are, podium image pull gets others")
    })
}

/// The name under which an image is kept.
pub fn whole(name: &str) -> Result<Reference> {
    Ok(Reference::parse(name)?)
}

//! A registry on loopback, and temporary directories.
#![allow(dead_code, clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use podium_oci::build::{FileAttributes, ImageBuilder, LayerBuilder};
use podium_oci::registry::store::Store;
use podium_oci::registry::{Registry, server_limits};
use podium_oci::{Client, Descriptor, Layout, Options, Platform, Reference};
use podium_serve::Server;

pub struct TempDir(PathBuf);

static NUMBER: AtomicUsize = AtomicUsize::new(0);

impl TempDir {
    pub fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("podium-oci-test-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts a registry over a directory; returns its address.
pub async fn registry(folder: &Path) -> (String, Arc<Store>) {
    let store = Arc::new(Store::open(folder, false).unwrap());
    let registry = Registry::new(store.clone());
    (serve(registry).await, store)
}

pub async fn serve(registry: Registry) -> String {
    let server = Server::bind("127.0.0.1:0", server_limits()).await.unwrap();
    let address = server.local_addr().unwrap().to_string();
    tokio::spawn(server.run(registry.service(), std::future::pending()));
    address
}

/// Incompressible, reproducible bytes.
pub fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut data = Vec::with_capacity(size + 8);
    while data.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data.extend_from_slice(&state.to_le_bytes());
    }
    data.truncate(size);
    data
}

/// Builds an image with a small and a large layer.
pub fn image(layout: &Layout, size: usize) -> Descriptor {
    let mut small = LayerBuilder::new();
    small.add_file("/configs/catalog.yaml", *b"schema: olm.package\n", FileAttributes::default()).unwrap();
    small.add_file("/etc/motd", *b"hello", FileAttributes::default()).unwrap();
    let mut large = LayerBuilder::new();
    large
        .add_file("/bin/app", noise(size), FileAttributes { mode: Some(0o755), ..FileAttributes::default() })
        .unwrap();
    let mut image = ImageBuilder::new(Platform::host());
    image.layers = vec![small, large];
    image.entrypoint = vec!["/bin/app".to_owned()];
    image.labels.insert("l".to_owned(), "v".to_owned());
    image.write(layout).unwrap()
}

pub fn client() -> Client {
    Client::new(Options { retries: 2, ..Options::default() })
}

pub fn name(address: &str, rest: &str) -> Reference {
    Reference::parse(&format!("{address}/{rest}")).unwrap()
}

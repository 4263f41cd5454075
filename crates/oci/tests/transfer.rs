//! The client against the registry of this crate.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{TempDir, client, image, name, noise, registry, serve};
use podium_oci::files::ExtractLimits;
use podium_oci::model::{Annotations, MEDIA_TYPE_EMPTY, MEDIA_TYPE_MANIFEST, Manifest};
use podium_oci::registry::Registry;
use podium_oci::registry::htpasswd::Htpasswd;
use podium_oci::registry::store::Store;
use podium_oci::{
    BlobSource, Client, Credential, Descriptor, Digest, Keyring, Layout, Options, Platform, Platforms,
    Progress, ProgressReporter, Reference, TransferOutcome, build, no_progress,
};

fn recorder() -> (ProgressReporter, Arc<Mutex<Vec<Progress>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let copy = log.clone();
    (Arc::new(move |progress| copy.lock().unwrap().push(progress)), log)
}

fn outcomes(log: &Mutex<Vec<Progress>>) -> Vec<TransferOutcome> {
    let log = log.lock().unwrap();
    log.iter()
        .filter_map(|entry| if let Progress::Finished(_, outcome) = entry { Some(*outcome) } else { None })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn push_pull_copy_tag_and_delete() {
    let scratch = TempDir::new();
    let (address, _) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 5 << 20);
    let client = client();
    let tagged = name(&address, "team/app:1.0");
    let (progress, log) = recorder();
    client.push(&layout, &built, &tagged, &progress).await.unwrap();
    assert_eq!(outcomes(&log), [TransferOutcome::Transferred; 3]);
    let (progress, log) = recorder();
    client.push(&layout, &built, &tagged, &progress).await.unwrap();
    assert_eq!(outcomes(&log), [TransferOutcome::AlreadyExists; 3]);

    let pulled_layout = Layout::create(scratch.path("back")).unwrap();
    let (progress, log) = recorder();
    let one = Platforms::One(Platform::host());
    let pulled = client.pull(&tagged, &pulled_layout, &one, &progress).await.unwrap();
    assert_eq!(
        (pulled.digest.clone(), outcomes(&log)),
        (built.digest.clone(), vec![TransferOutcome::Transferred; 3])
    );
    client.pull(&tagged, &pulled_layout, &one, &no_progress()).await.unwrap();
    assert!(!pulled_layout.root().join("ingest").exists());
    let (_, manifest) = (&pulled_layout as &dyn BlobSource).select_image(&pulled, &Platform::host()).unwrap();
    podium_oci::unpack::unpack(&pulled_layout, &manifest, &scratch.path("root"), ExtractLimits::default())
        .unwrap();
    assert_eq!(std::fs::read(scratch.path("root/bin/app")).unwrap(), noise(5 << 20));

    assert_eq!(client.resolve(&tagged).await.unwrap().unwrap().digest, built.digest);
    assert!(client.resolve(&name(&address, "team/app:none")).await.unwrap().is_none());
    let missing = client
        .pull(&name(&address, "team/app:none"), &pulled_layout, &one, &no_progress())
        .await
        .unwrap_err();
    assert!(missing.is_not_found() && missing.to_string().contains("team/app:none not found"), "{missing}");

    client.tag(&tagged, "2.0").await.unwrap();
    assert_eq!(client.tags(&tagged).await.unwrap(), ["1.0", "2.0"]);

    let (progress, log) = recorder();
    client.copy(&tagged, &name(&address, "other/app:x"), &Platforms::All, &progress).await.unwrap();
    assert_eq!(outcomes(&log), [TransferOutcome::Mounted; 3]);
    let (second, _) = registry(&scratch.path("second")).await;
    let (progress, log) = recorder();
    client.copy(&tagged, &name(&second, "app:x"), &Platforms::All, &progress).await.unwrap();
    assert_eq!(outcomes(&log), [TransferOutcome::Transferred; 3]);
    assert_eq!(client.resolve(&name(&second, "app:x")).await.unwrap().unwrap().digest, built.digest);

    let found =
        client.files(&tagged, &Platform::host(), &["/configs"], ExtractLimits::default()).await.unwrap();
    assert_eq!(
        found.files.files_under("configs").map(|(path, _)| path).collect::<Vec<_>>(),
        ["catalog.yaml"]
    );
    assert_eq!((found.image.digest, found.config.label("l")), (built.digest.clone(), Some("v")));

    client.delete(&name(&address, "team/app:2.0")).await.unwrap();
    assert_eq!(client.tags(&tagged).await.unwrap(), ["1.0"]);
    client.delete(&tagged.with_digest(&built.digest)).await.unwrap();
    assert_eq!(client.tags(&tagged).await.unwrap(), [""; 0]);
    assert!(client.delete(&tagged).await.unwrap_err().is_not_found());
}

#[tokio::test(flavor = "multi_thread")]
async fn multi_platform_index_and_referrers() {
    let scratch = TempDir::new();
    let (address, _) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let build_for = |platform: &str| {
        let mut layer = build::LayerBuilder::new();
        layer.add_file("/p", platform.as_bytes().to_vec(), build::FileAttributes::default()).unwrap();
        let mut image = build::ImageBuilder::new(Platform::parse(platform).unwrap());
        image.layers.push(layer);
        image.write(&layout).unwrap()
    };
    let images = [build_for("linux/amd64"), build_for("linux/arm64"), build_for("linux/arm/v7")];
    let index = build::write_index(&layout, &images, &Annotations::new()).unwrap();
    let client = client();
    let tagged = name(&address, "multi:1");
    client.push(&layout, &index, &tagged, &no_progress()).await.unwrap();
    let pulled_layout = Layout::create(scratch.path("back")).unwrap();
    assert_eq!(
        client.pull(&tagged, &pulled_layout, &Platforms::All, &no_progress()).await.unwrap().digest,
        index.digest
    );
    assert!(images.iter().all(|image| pulled_layout.has_blob(image)));
    let arm = Platform::parse("linux/arm/v7").unwrap();
    let found = client.files(&tagged, &arm, &["/"], ExtractLimits::default()).await.unwrap();
    assert_eq!(found.files.files["p"].data[..], *b"linux/arm/v7");
    assert_eq!(found.root.digest, index.digest);
    let none = client
        .files(&tagged, &Platform::parse("windows/amd64").unwrap(), &["/"], ExtractLimits::default())
        .await;
    assert!(none.unwrap_err().to_string().contains("linux/arm64"));

    // A referrer, such as a signature.
    let empty = layout.put_blob(MEDIA_TYPE_EMPTY, b"{}").unwrap();
    let signature = Manifest {
        subject: Some(images[0].clone()),
        artifact_type: Some("application/x-signature".to_owned()),
        ..Manifest::new(empty.clone(), vec![empty])
    };
    let signature = layout.put_blob(MEDIA_TYPE_MANIFEST, &signature.to_bytes()).unwrap();
    client.push(&layout, &signature, &tagged.with_digest(&signature.digest), &no_progress()).await.unwrap();
    let found = client.referrers(&tagged, &images[0].digest).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].artifact_type.as_deref(), Some("application/x-signature"));
    assert_eq!(client.referrers(&tagged, &images[1].digest).await.unwrap(), []);
    client.delete(&tagged.with_digest(&signature.digest)).await.unwrap();
    assert_eq!(client.referrers(&tagged, &images[0].digest).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn requires_htpasswd_credentials() {
    let scratch = TempDir::new();
    let store = Arc::new(Store::open(scratch.path("registry"), false).unwrap());
    // htpasswd -nbB -C 5 me 'pass:word'
    let users = Htpasswd::parse("me:$2y$05$7VXat5jtbqS.RRGmdB/u.OLgQlR9GikrMKGTqvoxIcAV5aLr4R93S").unwrap();
    let address = serve(Registry::new(store).with_htpasswd(users)).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 1000);
    let tagged = name(&address, "app:1");
    let rejected = client().push(&layout, &built, &tagged, &no_progress()).await.unwrap_err().to_string();
    assert!(
        rejected.contains("wants credentials") && rejected.contains("podium registry login 127.0.0.1"),
        "{rejected}"
    );
    let with = |password: &str| {
        let credential = Credential::Basic("me".to_owned(), password.to_owned());
        Client::new(Options {
            keyring: Keyring::default().with_credential(&address, credential),
            ..Options::default()
        })
    };
    let rejected =
        with("wrong").push(&layout, &built, &tagged, &no_progress()).await.unwrap_err().to_string();
    assert!(rejected.contains("does not accept"), "{rejected}");
    with("pass:word").push(&layout, &built, &tagged, &no_progress()).await.unwrap();
    client().check_login(&address, Credential::Basic("me".to_owned(), "pass:word".to_owned())).await.unwrap();
    assert!(
        client().check_login(&address, Credential::Basic("me".to_owned(), "x".to_owned())).await.is_err()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn collects_only_unreferenced_blobs() {
    let scratch = TempDir::new();
    let (address, store) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let (small, large) = (image(&layout, 1000), image(&layout, 2000));
    let client = client();
    client.push(&layout, &small, &name(&address, "a:1"), &no_progress()).await.unwrap();
    client.push(&layout, &large, &name(&address, "a:2"), &no_progress()).await.unwrap();
    client.push(&layout, &large, &name(&address, "b/c:2"), &no_progress()).await.unwrap();
    assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().0, 0);
    assert_eq!(store.repositories(), ["a", "b/c"]);
    client.delete(&name(&address, "a:2").with_digest(&large.digest)).await.unwrap();
    assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().0, 0, "another repository references it");
    client.delete(&name(&address, "b/c:2").with_digest(&large.digest)).await.unwrap();
    assert_eq!(
        store.collect_garbage(Duration::from_secs(3600)).unwrap().0,
        0,
        "it is newer than the minimum age"
    );
    // Config, manifest and large layer of the large image; the small layer is shared.
    assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().0, 3);
    let pulled_layout = Layout::create(scratch.path("back")).unwrap();
    client.pull(&name(&address, "a:1"), &pulled_layout, &Platforms::All, &no_progress()).await.unwrap();
    client.push(&layout, &large, &name(&address, "a:2"), &no_progress()).await.unwrap();
    client.pull(&name(&address, "a:2"), &pulled_layout, &Platforms::All, &no_progress()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_pushes_of_the_same_image() {
    let scratch = TempDir::new();
    let (address, store) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 2 << 20);
    let mut all = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (layout, built) = (layout.clone(), built.clone());
        let tagged = name(&address, &format!("app:{}", number % 3));
        all.spawn(async move { client().push(&layout, &built, &tagged, &no_progress()).await });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap().unwrap();
        store.collect_garbage(Duration::from_secs(600)).unwrap();
    }
    assert_eq!(client().tags(&name(&address, "app")).await.unwrap(), ["0", "1", "2"]);
    assert_eq!(std::fs::read_dir(scratch.path("registry/uploads")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_manifests_with_unknown_blobs() {
    let scratch = TempDir::new();
    let (address, _) = registry(&scratch.path("registry")).await;
    let tagged: Reference = name(&address, "app:1");
    let blob = Descriptor::for_content(podium_oci::model::MEDIA_TYPE_LAYER, b"nowhere");
    let data = Manifest::new(blob.clone(), vec![blob]).to_bytes();
    let rejected = client()
        .put_manifest(&tagged, MEDIA_TYPE_MANIFEST, data.clone().into())
        .await
        .unwrap_err()
        .to_string();
    assert!(rejected.contains("MANIFEST_BLOB_UNKNOWN"), "{rejected}");
    let invalid = tagged.with_digest(&Digest::sha256(b"other"));
    assert!(client().put_manifest(&invalid, MEDIA_TYPE_MANIFEST, data.into()).await.is_err());
    for text in ["{}", "[]", "x"] {
        let rejected =
            client().put_manifest(&tagged, MEDIA_TYPE_MANIFEST, text.into()).await.unwrap_err().to_string();
        assert!(rejected.contains("MANIFEST_INVALID"), "{rejected}");
    }
}

#[test]
fn store_is_exclusive_per_process() {
    let scratch = TempDir::new();
    let first = Store::open_exclusive(scratch.path("r"), false).unwrap();
    let error = Store::open_exclusive(scratch.path("r"), false).err().unwrap().to_string();
    assert!(error.contains("served by another process"), "{error}");
    drop(first);
    Store::open_exclusive(scratch.path("r"), false).unwrap();
}

#[test]
fn select_image_exact_rejects_other_platform() {
    let scratch = TempDir::new();
    let layout = Layout::create_transient(scratch.path("l")).unwrap();
    let image = image(&layout, 1000);
    let blobs: &dyn BlobSource = &layout;
    blobs.select_image_exact(&image, &Platform::host()).unwrap();
    let error =
        blobs.select_image_exact(&image, &Platform::parse("linux/s390x").unwrap()).unwrap_err().to_string();
    let here = Platform::host().to_string();
    assert!(error.contains("linux/s390x") && error.contains(&here), "{error}");
}

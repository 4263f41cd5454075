//! Our client with our registry.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Scratch, client, image, name, noise, registry, serve};
use podium_oci::files::Limits;
use podium_oci::model::{Annotations, EMPTY, MANIFEST, Manifest};
use podium_oci::registry::Registry;
use podium_oci::registry::store::Store;
use podium_oci::registry::users::Users;
use podium_oci::{
    Blobs, Client, Credential, Descriptor, Digest, How, Keyring, Layout, Listener, Options, Platform,
    Platforms, Progress, Reference, build, quiet,
};

fn listener() -> (Listener, Arc<Mutex<Vec<Progress>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let copy = log.clone();
    (Arc::new(move |progress| copy.lock().unwrap().push(progress)), log)
}

fn hows(log: &Mutex<Vec<Progress>>) -> Vec<How> {
    let log = log.lock().unwrap();
    log.iter()
        .filter_map(|entry| if let Progress::Done(_, how) = entry { Some(*how) } else { None })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_goes_there_and_back() {
    let scratch = Scratch::new();
    let (address, _) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 5 << 20);
    let client = client();
    let tagged = name(&address, "team/app:1.0");
    let (listen, log) = listener();
    client.push(&layout, &built, &tagged, &listen).await.unwrap();
    assert_eq!(hows(&log), [How::Moved; 3]);
    let (listen, log) = listener();
    client.push(&layout, &built, &tagged, &listen).await.unwrap();
    assert_eq!(hows(&log), [How::Existed; 3]);

    let back = Layout::create(scratch.path("back")).unwrap();
    let (listen, log) = listener();
    let one = Platforms::One(Platform::here());
    let pulled = client.pull(&tagged, &back, &one, &listen).await.unwrap();
    assert_eq!((pulled.digest.clone(), hows(&log)), (built.digest.clone(), vec![How::Moved; 3]));
    client.pull(&tagged, &back, &one, &quiet()).await.unwrap();
    assert!(!back.root().join("ingest").exists());
    let (_, manifest) = (&back as &dyn Blobs).image(&pulled, &Platform::here()).unwrap();
    podium_oci::unpack::unpack(&back, &manifest, &scratch.path("root"), Limits::default()).unwrap();
    assert_eq!(std::fs::read(scratch.path("root/bin/app")).unwrap(), noise(5 << 20));

    assert_eq!(client.resolve(&tagged).await.unwrap().unwrap().digest, built.digest);
    assert!(client.resolve(&name(&address, "team/app:none")).await.unwrap().is_none());
    let missing = client.pull(&name(&address, "team/app:none"), &back, &one, &quiet()).await.unwrap_err();
    assert!(
        missing.is_not_found() && missing.to_string().contains("team/app:none is not there"),
        "{missing}"
    );

    client.tag(&tagged, "2.0").await.unwrap();
    assert_eq!(client.tags(&tagged).await.unwrap(), ["1.0", "2.0"]);

    let (listen, log) = listener();
    client.copy(&tagged, &name(&address, "other/app:x"), &Platforms::All, &listen).await.unwrap();
    assert_eq!(hows(&log), [How::Mounted; 3]);
    let (second, _) = registry(&scratch.path("second")).await;
    let (listen, log) = listener();
    client.copy(&tagged, &name(&second, "app:x"), &Platforms::All, &listen).await.unwrap();
    assert_eq!(hows(&log), [How::Moved; 3]);
    assert_eq!(client.resolve(&name(&second, "app:x")).await.unwrap().unwrap().digest, built.digest);

    let found = client.files(&tagged, &Platform::here(), &["/configs"], Limits::default()).await.unwrap();
    assert_eq!(found.files.below("configs").map(|(path, _)| path).collect::<Vec<_>>(), ["catalog.yaml"]);
    assert_eq!((found.image.digest, found.config.label("l")), (built.digest.clone(), Some("v")));

    client.delete(&name(&address, "team/app:2.0")).await.unwrap();
    assert_eq!(client.tags(&tagged).await.unwrap(), ["1.0"]);
    client.delete(&tagged.with_digest(&built.digest)).await.unwrap();
    assert_eq!(client.tags(&tagged).await.unwrap(), [""; 0]);
    assert!(client.delete(&tagged).await.unwrap_err().is_not_found());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_platforms_and_what_is_about_an_image() {
    let scratch = Scratch::new();
    let (address, _) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let of = |platform: &str| {
        let mut layer = build::Layer::new();
        layer.file("/p", platform.as_bytes().to_vec(), build::Rights::default()).unwrap();
        let mut image = build::Image::new(Platform::parse(platform).unwrap());
        image.layers.push(layer);
        image.write(&layout).unwrap()
    };
    let images = [of("linux/amd64"), of("linux/arm64"), of("linux/arm/v7")];
    let index = build::index(&layout, &images, &Annotations::new()).unwrap();
    let client = client();
    let tagged = name(&address, "multi:1");
    client.push(&layout, &index, &tagged, &quiet()).await.unwrap();
    let back = Layout::create(scratch.path("back")).unwrap();
    assert_eq!(client.pull(&tagged, &back, &Platforms::All, &quiet()).await.unwrap().digest, index.digest);
    assert!(images.iter().all(|image| back.has(image)));
    let arm = Platform::parse("linux/arm/v7").unwrap();
    let found = client.files(&tagged, &arm, &["/"], Limits::default()).await.unwrap();
    assert_eq!(found.files.files["p"].data[..], *b"linux/arm/v7");
    assert_eq!(found.root.digest, index.digest);
    let none =
        client.files(&tagged, &Platform::parse("windows/amd64").unwrap(), &["/"], Limits::default()).await;
    assert!(none.unwrap_err().to_string().contains("linux/arm64"));

    // A signature, say.
    let empty = layout.put(EMPTY, b"{}").unwrap();
    let about = Manifest {
        subject: Some(images[0].clone()),
        artifact_type: Some("application/x-signature".to_owned()),
        ..Manifest::new(empty.clone(), vec![empty])
    };
    let about = layout.put(MANIFEST, &about.bytes()).unwrap();
    client.push(&layout, &about, &tagged.with_digest(&about.digest), &quiet()).await.unwrap();
    let found = client.referrers(&tagged, &images[0].digest).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].artifact_type.as_deref(), Some("application/x-signature"));
    assert_eq!(client.referrers(&tagged, &images[1].digest).await.unwrap(), []);
    client.delete(&tagged.with_digest(&about.digest)).await.unwrap();
    assert_eq!(client.referrers(&tagged, &images[0].digest).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_those_who_are_known_are_let_in() {
    let scratch = Scratch::new();
    let store = Arc::new(Store::open(scratch.path("registry"), false).unwrap());
    // htpasswd -nbB -C 5 me 'pass:word'
    let users = Users::parse("me:$2y$05$7VXat5jtbqS.RRGmdB/u.OLgQlR9GikrMKGTqvoxIcAV5aLr4R93S").unwrap();
    let address = serve(Registry::new(store).with_users(users)).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 1000);
    let tagged = name(&address, "app:1");
    let refused = client().push(&layout, &built, &tagged, &quiet()).await.unwrap_err().to_string();
    assert!(
        refused.contains("wants credentials") && refused.contains("podium registry login 127.0.0.1"),
        "{refused}"
    );
    let with = |password: &str| {
        let credential = Credential::Basic("me".to_owned(), password.to_owned());
        Client::new(Options { keyring: Keyring::default().with(&address, credential), ..Options::default() })
    };
    let refused = with("wrong").push(&layout, &built, &tagged, &quiet()).await.unwrap_err().to_string();
    assert!(refused.contains("does not accept"), "{refused}");
    with("pass:word").push(&layout, &built, &tagged, &quiet()).await.unwrap();
    client().check_login(&address, Credential::Basic("me".to_owned(), "pass:word".to_owned())).await.unwrap();
    assert!(
        client().check_login(&address, Credential::Basic("me".to_owned(), "x".to_owned())).await.is_err()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_collected_and_nothing_else() {
    let scratch = Scratch::new();
    let (address, store) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let (small, large) = (image(&layout, 1000), image(&layout, 2000));
    let client = client();
    client.push(&layout, &small, &name(&address, "a:1"), &quiet()).await.unwrap();
    client.push(&layout, &large, &name(&address, "a:2"), &quiet()).await.unwrap();
    client.push(&layout, &large, &name(&address, "b/c:2"), &quiet()).await.unwrap();
    assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().0, 0);
    assert_eq!(store.repositories(), ["a", "b/c"]);
    client.delete(&name(&address, "a:2").with_digest(&large.digest)).await.unwrap();
    assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().0, 0, "another repository has it");
    client.delete(&name(&address, "b/c:2").with_digest(&large.digest)).await.unwrap();
    assert_eq!(store.collect_garbage(Duration::from_secs(3600)).unwrap().0, 0, "it is too young");
    // The configuration and manifest of the large one, and its large layer; the small layer is shared.
    assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().0, 3);
    let back = Layout::create(scratch.path("back")).unwrap();
    client.pull(&name(&address, "a:1"), &back, &Platforms::All, &quiet()).await.unwrap();
    client.push(&layout, &large, &name(&address, "a:2"), &quiet()).await.unwrap();
    client.pull(&name(&address, "a:2"), &back, &Platforms::All, &quiet()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_push_the_same_at_once() {
    let scratch = Scratch::new();
    let (address, store) = registry(&scratch.path("registry")).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 2 << 20);
    let mut all = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (layout, built) = (layout.clone(), built.clone());
        let tagged = name(&address, &format!("app:{}", number % 3));
        all.spawn(async move { client().push(&layout, &built, &tagged, &quiet()).await });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap().unwrap();
        store.collect_garbage(Duration::from_secs(600)).unwrap();
    }
    assert_eq!(client().tags(&name(&address, "app")).await.unwrap(), ["0", "1", "2"]);
    assert_eq!(std::fs::read_dir(scratch.path("registry/uploads")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_of_what_is_not_there_are_refused() {
    let scratch = Scratch::new();
    let (address, _) = registry(&scratch.path("registry")).await;
    let tagged: Reference = name(&address, "app:1");
    let blob = Descriptor::of(podium_oci::model::LAYER, b"nowhere");
    let data = Manifest::new(blob.clone(), vec![blob]).bytes();
    let refused =
        client().put_manifest(&tagged, MANIFEST, data.clone().into()).await.unwrap_err().to_string();
    assert!(refused.contains("MANIFEST_BLOB_UNKNOWN"), "{refused}");
    let wrong = tagged.with_digest(&Digest::of(b"other"));
    assert!(client().put_manifest(&wrong, MANIFEST, data.into()).await.is_err());
    for text in ["{}", "[]", "x"] {
        let refused = client().put_manifest(&tagged, MANIFEST, text.into()).await.unwrap_err().to_string();
        assert!(refused.contains("MANIFEST_INVALID"), "{refused}");
    }
}

#[test]
fn a_folder_is_served_by_one_alone() {
    let scratch = Scratch::new();
    let first = Store::open_alone(scratch.path("r"), false).unwrap();
    let error = Store::open_alone(scratch.path("r"), false).err().unwrap().to_string();
    assert!(error.contains("served by another process"), "{error}");
    drop(first);
    Store::open_alone(scratch.path("r"), false).unwrap();
}

#[test]
fn a_single_image_for_another_platform_is_not_the_one_that_was_asked_for() {
    let scratch = Scratch::new();
    let layout = Layout::create_transient(scratch.path("l")).unwrap();
    let image = image(&layout, 1000);
    let blobs: &dyn Blobs = &layout;
    blobs.image_for(&image, &Platform::here()).unwrap();
    let error = blobs.image_for(&image, &Platform::parse("linux/s390x").unwrap()).unwrap_err().to_string();
    let here = Platform::here().to_string();
    assert!(error.contains("linux/s390x") && error.contains(&here), "{error}");
}

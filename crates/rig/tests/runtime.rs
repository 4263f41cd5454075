//! The controller runtime on an API server: watches, leases, Events.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ClientConfig};
use podium_controller::events::{EventRecorder, EventType, ObjectReference};
use podium_controller::leader_election;
use podium_controller::leader_election::{LeaderElection, LeadershipEnd};
use podium_controller::object_store::{Change, ObjectStore};
use podium_controller::peers::{PeerLease, peers};
use podium_meta::Resource;
use podium_rig::cluster::{Cluster, Options, Server, User, run};
use podium_rig::tools;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    cluster: &'static Cluster,
    namespace: &'static str,
}

impl World {
    fn new(namespace: &'static str) -> Self {
        let cluster = Cluster::shared().unwrap_or_else(|error| panic!("{error}"));
        cluster.namespace(namespace).unwrap();
        Self { cluster, namespace }
    }

    fn create(&self, name: &str) -> Value {
        create(self.cluster, self.namespace, name)
    }

    fn label(&self, name: &str, labels: Value) {
        let patch = json!({"metadata": {"labels": labels}});
        self.cluster.admin().merge("configmaps", self.namespace, name, &patch).unwrap();
    }

    fn delete(&self, name: &str) {
        self.cluster.admin().delete("configmaps", self.namespace, name).unwrap();
    }

    async fn client(&self) -> Client {
        client(self.cluster, None).await
    }

    fn maps(&self, form: Representation) -> ListWatch {
        own_maps(self.namespace, form)
    }

    fn lease(&self, name: &str) -> Value {
        self.cluster.admin().find("leases", self.namespace, name).unwrap().unwrap()
    }
}

async fn client(cluster: &Cluster, server: Option<String>) -> Client {
    let kubeconfig = Some(cluster.kubeconfig().to_owned());
    Client::new(&ClientConfig { kubeconfig, server, ..ClientConfig::default() }).await.unwrap()
}

/// Creates a ConfigMap.
fn create(cluster: &Cluster, namespace: &str, name: &str) -> Value {
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}});
    cluster.admin().create(namespace, &map).unwrap()
}

/// The ConfigMaps of a namespace but the one that a controller publishes in each.
fn own_maps(namespace: &str, form: Representation) -> ListWatch {
    ListWatch {
        namespace: Some(namespace.to_owned()),
        field_selector: "metadata.name!=kube-root-ca.crt".to_owned(),
        ..ListWatch::new(maps(), form)
    }
}

fn maps() -> Resource {
    Resource::core("ConfigMap", "configmaps", true)
}

/// A watch that runs, and what it told.
struct Story {
    told: mpsc::UnboundedReceiver<WatchEvent>,
    task: JoinHandle<()>,
}

impl Story {
    fn begin(client: Client, watch: ListWatch) -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let task =
            tokio::spawn(async move { match watch.run(&client, |event| drop(tell.send(event))).await {} });
        Self { told, task }
    }

    async fn next(&mut self) -> WatchEvent {
        timeout(PATIENCE, self.told.recv()).await.unwrap_or_else(|_| panic!("nothing was told")).unwrap()
    }

    /// The next event, in short.
    async fn short(&mut self) -> String {
        let name = |object: Value| {
            assert_eq!((&object["apiVersion"], &object["kind"]), (&"v1".into(), &"ConfigMap".into()));
            object["metadata"]["name"].as_str().unwrap().to_owned()
        };
        match self.next().await {
            WatchEvent::Applied(object) => format!("+{}", name(object)),
            WatchEvent::Deleted(object) => format!("-{}", name(object)),
            WatchEvent::Failing(trouble) => format!("{:?}", trouble.kind),
            WatchEvent::ListStarted => "begin".to_owned(),
            WatchEvent::ListDone => "end".to_owned(),
            WatchEvent::Recovered => "well".to_owned(),
            other => format!("{other:?}"),
        }
    }

    async fn tells(&mut self, expected: &[&str]) {
        for (at, expected) in expected.iter().enumerate() {
            assert_eq!(self.short().await, *expected, "event {at}");
        }
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn a_watch_sees_what_happens_in_both_forms() {
    let world = World::new("watched");
    world.create("a");
    for form in [Representation::Full, Representation::Metadata] {
        let mut story = Story::begin(world.client().await, world.maps(form));
        story.tells(&["begin"]).await;
        let WatchEvent::Applied(object) = story.next().await else { panic!("the list has an object") };
        assert_eq!(object.get("data").is_some(), form == Representation::Full, "{object}");
        assert_eq!((&object["kind"], &object["metadata"]["name"]), (&"ConfigMap".into(), &"a".into()));
        story.tells(&["end"]).await;
        world.create("b");
        world.label("a", json!({"form": format!("{form:?}")}));
        world.delete("b");
        story.tells(&["+b", "+a", "-b"]).await;
    }
}

#[tokio::test]
async fn what_a_selector_no_longer_chooses_is_gone() {
    let world = World::new("selected");
    for name in ["a", "b"] {
        world.create(name);
    }
    world.label("a", json!({"x": "y"}));
    let labelled = ListWatch { label_selector: "x=y".to_owned(), ..world.maps(Representation::Metadata) };
    let named =
        ListWatch { field_selector: "metadata.name=b".to_owned(), ..world.maps(Representation::Metadata) };
    let mut labelled = Story::begin(world.client().await, labelled);
    let mut named = Story::begin(world.client().await, named);
    labelled.tells(&["begin", "+a", "end"]).await;
    named.tells(&["begin", "+b", "end"]).await;
    world.label("a", json!({"x": null}));
    world.label("b", json!({"x": "y"}));
    labelled.tells(&["-a", "+b"]).await;
    named.tells(&["+b"]).await;
}

#[tokio::test]
async fn a_list_of_many_pages_is_whole() {
    let world = World::new("many");
    let admin = world.cluster.admin();
    let made = admin.run(async |client| {
        for n in 0..1100 {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{n}")}});
            client.create(&maps(), Some("many"), &map, "story").await?;
        }
        Ok(())
    });
    made.unwrap();
    let mut story = Story::begin(world.client().await, world.maps(Representation::Metadata));
    let mut store = ObjectStore::default();
    let mut new = 0;
    while !store.has_synced() {
        store.apply(&story.next().await, |_| 0, |change| new += usize::from(change.before.is_none()));
    }
    assert_eq!((store.len(), new), (1100, 1100));
}

/// Passes connections on to the API server, as long as it is open.
struct Relay {
    address: SocketAddr,
    open: Arc<AtomicBool>,
    /// How many connections there were.
    count: Arc<Mutex<usize>>,
}

impl Relay {
    async fn start(cluster: &Cluster) -> Self {
        let to: SocketAddr = cluster.url().trim_start_matches("https://").parse().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, count) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(0)));
        let (is_open, counted) = (open.clone(), count.clone());
        tokio::spawn(async move {
            loop {
                let (mut here, _) = listener.accept().await.unwrap();
                if !is_open.load(Ordering::SeqCst) {
                    continue;
                }
                *counted.lock().unwrap() += 1;
                let is_open = is_open.clone();
                tokio::spawn(async move {
                    let Ok(mut there) = tokio::net::TcpStream::connect(to).await else { return };
                    let closed = async {
                        while is_open.load(Ordering::SeqCst) {
                            sleep(Duration::from_millis(20)).await;
                        }
                    };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut here, &mut there) => {}
                        () = closed => {}
                    }
                });
            }
        });
        Self { address, open, count }
    }

    fn set(&self, open: bool) {
        self.open.store(open, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn what_happened_while_the_connection_was_cut_is_told_without_a_new_list() {
    let world = World::new("cut");
    let relay = Relay::start(world.cluster).await;
    world.create("a");
    world.create("b");
    let client = client(world.cluster, Some(format!("https://{}", relay.address))).await;
    let mut story = Story::begin(client, world.maps(Representation::Metadata));
    story.tells(&["begin", "+a", "+b", "end"]).await;
    relay.set(false);
    story.tells(&["Unreachable"]).await;
    world.delete("a");
    world.create("c");
    relay.set(true);
    story.tells(&["well", "-a", "+c"]).await;
    assert!(*relay.count.lock().unwrap() < 10, "tries are not counted while it was cut");
}

#[tokio::test]
async fn a_restart_of_the_server_with_a_forgotten_past_is_survived() {
    // A cluster of its own: others would not like the restart.
    let cluster = Cluster::start().unwrap();
    for name in ["a", "b"] {
        create(&cluster, "default", name);
    }
    let relay = Relay::start(&cluster).await;
    let client = client(&cluster, Some(format!("https://{}", relay.address))).await;
    let mut story = Story::begin(client, own_maps("default", Representation::Metadata));
    let mut store = ObjectStore::default();
    while !store.has_synced() {
        store.apply(&story.next().await, |_| 0, |_| ());
    }
    relay.set(false);
    story.tells(&["Unreachable"]).await;
    cluster.admin().delete("configmaps", "default", "a").unwrap();
    create(&cluster, "default", "c");
    cluster.kill_api().unwrap();
    cluster.start_api().unwrap();
    relay.set(true);
    // kube-apiserver remembers no event from before its start: a new list, and what it lacks is found to be gone. Our
    // store keeps its revisions: the watch goes on.
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut lists = 0;
    while seen.get("default/a") != Some(&"gone") || !seen.contains_key("default/c") {
        let event = story.next().await;
        lists += usize::from(event == WatchEvent::ListStarted);
        store.apply(
            &event,
            |_| 0,
            |Change { key, after, .. }| {
                seen.insert(key.to_string(), if after.is_none() { "gone" } else { "there" });
            },
        );
    }
    let expected = usize::from(cluster.server() == Server::Kubernetes);
    assert_eq!((lists, seen.get("default/b")), (expected, None), "{seen:?}");
}

#[tokio::test]
async fn permission_and_kind_may_come_later() {
    let cluster = Cluster::with(Options { users: vec![User::weak("weak")], ..Options::default() }).unwrap();
    let kubeconfig = Some(cluster.kubeconfig_of("weak"));
    let weak = Client::new(&ClientConfig { kubeconfig, ..ClientConfig::default() }).await.unwrap();
    let mut maps = Story::begin(weak, ListWatch::new(maps(), Representation::Metadata));
    let kind = podium_meta::GroupVersionKind::new("own.io/v1", "Own");
    let owns = Resource { kind, plural: "owns".to_owned(), namespaced: true };
    let mut owns = Story::begin(client(&cluster, None).await, ListWatch::new(owns, Representation::Metadata));
    maps.tells(&["Forbidden"]).await;
    owns.tells(&["NotFound"]).await;
    let text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: maps}\n\
                rules: [{apiGroups: [''], resources: [configmaps], verbs: [list, watch]}]\n---\n\
                apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: maps}\n\
                roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maps}\n\
                subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: weak}]\n---\n\
                apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: owns.own.io}\nspec:\n  \
                group: own.io\n  scope: Namespaced\n  names: {kind: Own, plural: owns}\n  versions:\n  - {name: v1, served: true, \
                storage: true, schema: {openAPIV3Schema: {type: object}}}\n";
    cluster.admin().apply("", text).unwrap();
    owns.tells(&["begin", "end", "well"]).await;
    maps.tells(&["begin"]).await;
    while maps.short().await != "well" {}
}

fn quick(namespace: &str, name: &str, identity: &str) -> LeaderElection {
    let mut election = LeaderElection::new(namespace, name, identity);
    election.duration = Duration::from_secs(4);
    election.deadline = Duration::from_secs(3);
    election.renew = Duration::from_secs(1);
    election.retry = Duration::from_millis(500);
    election
}

/// Leads until told to stop; says when it began.
fn candidate(
    client: Client,
    election: LeaderElection,
) -> (JoinHandle<LeadershipEnd<()>>, mpsc::UnboundedReceiver<Instant>, mpsc::UnboundedSender<()>) {
    let (began, begins) = mpsc::unbounded_channel();
    let (stop, mut stopped) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        let work = async {
            began.send(Instant::now()).unwrap();
            let _ = stopped.recv().await;
        };
        election.run(&client, |error| panic!("{error}"), work).await
    });
    (task, begins, stop)
}

#[tokio::test]
async fn a_lease_goes_over_at_once_when_released_and_in_time_when_not() {
    let world = World::new("led");
    let (one, two) = (quick("led", "lock", "one"), quick("led", "lock", "two"));
    let (first, mut first_begins, stop) = candidate(world.client().await, one.clone());
    first_begins.recv().await.unwrap();
    assert!(one.is_leader());
    let (second, mut second_begins, _stop) = candidate(world.client().await, two.clone());
    // As long as one renews, the other waits.
    assert!(timeout(Duration::from_secs(6), second_begins.recv()).await.is_err());
    let spec = world.lease("lock")["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseTransitions"]), (&"one".into(), &0.into()));
    assert_ne!(spec["acquireTime"], spec["renewTime"]);
    let released = Instant::now();
    stop.send(()).unwrap();
    assert_eq!(first.await.unwrap(), LeadershipEnd::Finished(()));
    let began = timeout(PATIENCE, second_begins.recv()).await.unwrap().unwrap();
    assert!(began - released < Duration::from_secs(1), "{:?}", began - released);
    assert!(!one.is_leader() && two.is_leader());
    assert_eq!(world.lease("lock")["spec"]["leaseTransitions"], 1);

    let (_third, mut third_begins, _stop) = candidate(world.client().await, quick("led", "lock", "three"));
    sleep(Duration::from_secs(2)).await;
    let died = Instant::now();
    second.abort();
    let began = timeout(PATIENCE, third_begins.recv()).await.unwrap().unwrap();
    let after = (began - died).as_secs_f64();
    assert!((2.5..6.0).contains(&after), "{after}");
}

/// kube-controller-manager as one more candidate: it elects with client-go.
struct Original(std::process::Child);

impl Original {
    fn start(cluster: &Cluster, namespace: &str, name: &str) -> Self {
        let mut command = tools::quiet_command(&tools::kubernetes("kube-controller-manager").unwrap());
        command.current_dir(cluster.folder()).stderr(std::process::Stdio::null());
        let child = command
            .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
            .args(["--leader-elect=true", "--secure-port=0", "--controllers=ttl-after-finished-controller"])
            .args(["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s"])
            .arg("--leader-elect-retry-period=1s")
            .args([format!("--leader-elect-resource-name={name}")])
            .args([format!("--leader-elect-resource-namespace={namespace}")])
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
#[ignore = "compares with upstream programs: make tools"]
async fn a_lease_is_shared_with_the_original() {
    let world = World::new("shared-lease");
    let (ours, mut begins, stop) = candidate(world.client().await, quick("shared-lease", "lock", "ours"));
    begins.recv().await.unwrap();
    let original = Original::start(world.cluster, "shared-lease", "lock");
    sleep(Duration::from_secs(8)).await;
    let holder = || world.lease("lock")["spec"]["holderIdentity"].as_str().unwrap().to_owned();
    assert_eq!(holder(), "ours", "it waits");
    let released = Instant::now();
    stop.send(()).unwrap();
    // It ends when the Lease is released.
    assert_eq!(ours.await.unwrap(), LeadershipEnd::Finished(()));
    while holder().is_empty() {
        assert!(released.elapsed() < Duration::from_secs(5));
        sleep(Duration::from_millis(100)).await;
    }
    assert_ne!(holder(), "ours");
    assert_eq!(world.lease("lock")["spec"]["leaseTransitions"], 1);
    let (_again, mut begins, _stop) =
        candidate(world.client().await, quick("shared-lease", "lock", "ours-again"));
    assert!(timeout(Duration::from_secs(6), begins.recv()).await.is_err(), "we wait");
    drop(original);
    let died = Instant::now();
    let began = timeout(PATIENCE, begins.recv()).await.unwrap().unwrap();
    assert!((began - died) < Duration::from_secs(6));
    assert_eq!(world.lease("lock")["spec"]["leaseTransitions"], 2);
}

#[tokio::test]
async fn who_cannot_renew_stops_before_others_may_begin() {
    let world = World::new("lost");
    let relay = Relay::start(world.cluster).await;
    let behind = client(world.cluster, Some(format!("https://{}", relay.address))).await;
    let (began, mut begins) = mpsc::unbounded_channel();
    let one = tokio::spawn(async move {
        let work = async {
            began.send(()).unwrap();
            std::future::pending::<()>().await;
        };
        let ended = quick("lost", "lock", "one").run(&behind, |_| (), work).await;
        (ended, Instant::now())
    });
    begins.recv().await.unwrap();
    let (_two, mut second_begins, _stop) = candidate(world.client().await, quick("lost", "lock", "two"));
    sleep(Duration::from_secs(2)).await;
    relay.set(false);
    let (ended, stopped) = timeout(PATIENCE, one).await.unwrap().unwrap();
    assert!(
        matches!(&ended, LeadershipEnd::Lost(reason) if reason.contains("not renewed in time")),
        "{ended:?}"
    );
    let began = timeout(PATIENCE, second_begins.recv()).await.unwrap().unwrap();
    assert!(stopped < began);
}

#[tokio::test]
async fn everybody_sees_who_is_there() {
    let world = World::new("roster");
    let client = world.client().await;
    let presence = |name: &str| PeerLease {
        namespace: "roster".to_owned(),
        name: name.to_owned(),
        identity: format!("{name}-1"),
        labels: BTreeMap::from([("team".to_owned(), "blue".to_owned())]),
        annotations: BTreeMap::from([("watches".to_owned(), "a,b".to_owned())]),
        duration: Duration::from_secs(1),
    };
    for name in ["y", "x"] {
        presence(name).publish(&client).await.unwrap();
        sleep(Duration::from_millis(1100)).await;
    }
    presence("x").publish(&client).await.unwrap();
    let found = peers(&client, Some("roster"), "team=blue").await.unwrap();
    let names: Vec<&str> = found.iter().map(|peer| peer.name.as_str()).collect();
    assert_eq!(names, ["y", "x"], "the oldest first");
    assert_eq!((found[0].identity.as_str(), found[0].annotations["watches"].as_str()), ("y-1", "a,b"));
    let later = found[0].until + Duration::from_millis(1);
    assert!(found[1].is_alive(later) && !found[0].is_alive(later));
    presence("x").withdraw(&client).await.unwrap();
    presence("x").withdraw(&client).await.unwrap();
    assert_eq!(peers(&client, Some("roster"), "team=blue").await.unwrap().len(), 1);
    assert!(peers(&client, None, "team=red").await.unwrap().is_empty());
    assert_eq!(leader_election::resource().plural, "leases");
}

#[tokio::test]
async fn events_are_shown_by_describe_and_counted() {
    let world = World::new("spoken");
    let map = world.create("a");
    let recorder = EventRecorder::new("demo-controller", "pod-1");
    let (client, writer) = (world.client().await, recorder.clone());
    let task = tokio::spawn(async move { match writer.run(&client, |error| panic!("{error}")).await {} });
    let written = async |count| {
        let begin = Instant::now();
        while recorder.stats().written < count {
            assert!(begin.elapsed() < PATIENCE, "{:?}", recorder.stats());
            sleep(Duration::from_millis(20)).await;
        }
    };
    let about = ObjectReference::from_object(&map);
    for count in 1..=4 {
        recorder.record(&about, EventType::Warning, "OverrideValuesInUse", "Chart value \"x\" overridden");
        written(count).await;
    }
    recorder.record(&about, EventType::Normal, "Other", "something else");
    written(5).await;
    let events = || {
        let all = world.cluster.admin().list("events", "spoken", "").unwrap();
        all.into_iter().filter(|event| event["involvedObject"]["name"] == "a").collect::<Vec<_>>()
    };
    let list = events();
    let mut counts: Vec<_> = list.iter().map(|e| (e["reason"].as_str(), e["count"].as_u64())).collect();
    counts.sort();
    assert_eq!(counts, [(Some("Other"), Some(1)), (Some("OverrideValuesInUse"), Some(4))]);
    if world.cluster.server() == Server::Kubernetes {
        let mut describe = world.cluster.kubectl();
        let described = run(describe.args(["describe", "configmap", "a", "-n", "spoken"])).unwrap();
        assert!(described.contains("OverrideValuesInUse") && described.contains("(x4 over"), "{described}");
    }
    // A deleted Event is created again.
    for event in &list {
        let name = event["metadata"]["name"].as_str().unwrap();
        world.cluster.admin().delete("events", "spoken", name).unwrap();
    }
    recorder.record(&about, EventType::Normal, "Other", "something else");
    written(6).await;
    assert!(events().iter().any(|event| event["message"] == "something else"));
    // About an object without a namespace.
    let node = ObjectReference {
        namespace: None,
        kind: "Node".to_owned(),
        name: "n".to_owned(),
        uid: "u".to_owned(),
        ..about
    };
    recorder.record(&node, EventType::Normal, "Seen", "a node");
    written(7).await;
    task.abort();
}

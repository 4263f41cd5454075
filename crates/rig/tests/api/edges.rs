//! Edges that the generated requests have found, one by one: both servers have to answer alike.

use podium_rig::api::wire::Request;
use serde_json::{Value, json};

use crate::apply::define;
use crate::case::{Case, deployment, map};

const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const META: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const META_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn revision(object: &Value) -> &Value {
    &object["metadata"]["resourceVersion"]
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn bookmarks_have_what_every_object_has() {
    let mut case = Case::new("edges-1");
    for (accept, spec) in [("application/json", true), (META, false), (TABLE, false)] {
        let request = Request::get(case.deployments("")).header("Accept", accept);
        let request = request.with("watch", "1").with("sendInitialEvents", "true");
        let request =
            request.with("resourceVersionMatch", "NotOlderThan").with("allowWatchBookmarks", "true");
        let streams = case.hear(&request);
        let heard = case.heard(&streams, 1);
        assert_eq!(heard[0]["object"]["spec"]["replicas"] == json!(0), spec, "{heard:#?}");
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_first_change_of_a_claim_is_one_even_if_it_changes_nothing() {
    let mut case = Case::new("edges-2");
    let place = case.place("/api/v1", "persistentvolumeclaims", "");
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let made = case.expect(201, &Request::post(&place, claim));
    let none = Request::patch(format!("{place}/c"), MERGE, json!({}));
    let first = case.expect(200, &none);
    let second = case.expect(200, &none);
    assert!(revision(&made) != revision(&first) && revision(&first) == revision(&second));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn empty_lists_are_none_and_metadata_alone_has_no_count_of_templates() {
    let mut case = Case::new("edges-3");
    let slices = case.place("/apis/discovery.k8s.io/v1", "endpointslices", "");
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "s"},
        "addressType": "IPv4", "endpoints": [], "ports": []});
    assert_eq!(case.expect(201, &Request::post(&slices, slice))["endpoints"], Value::Null);
    let sets = case.place("/apis/apps/v1", "daemonsets", "");
    let empty = case.expect(200, &Request::get(&sets).header("Accept", META_LIST));
    assert_eq!(empty["items"], Value::Null);
    let mut set = deployment("d", json!([{"name": "c", "image": "i"}]));
    set["kind"] = "DaemonSet".into();
    case.expect(201, &Request::post(&sets, set));
    let alone = case.expect(200, &Request::get(format!("{sets}/d")).header("Accept", META));
    assert_eq!(alone.pointer("/metadata/annotations"), None);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_is_put_back_as_it_came_changes_nothing() {
    let mut case = Case::new("edges-6");
    let status = json!({"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}});
    define(&mut case, "backs", "Back6", json!({"type": "object", "properties": {"status": status}}));
    let place = case.place("/apis/ex.io/v1", "backs", "");
    let one = format!("{place}/x");
    let object = |replicas: i64| {
        json!({"apiVersion": "ex.io/v1", "kind": "Back6", "metadata": {"name": "x", "labels": {"a": "b"}},
            "status": {"replicas": replicas}})
    };
    let made = case.expect(201, &Request::post(&place, object(5)).with("fieldManager", "m1"));
    let mut other = object(10);
    other["metadata"]["resourceVersion"] = revision(&made).clone();
    case.expect(200, &Request::put(&one, other));
    let phase = Request::patch(&one, MERGE, json!({"status": {"phase": "a"}}));
    case.expect(200, &phase.with("fieldManager", "kubectl"));
    let note = json!([{"op": "add", "path": "/metadata/annotations", "value": {"x": "y"}}]);
    let last = case.expect(200, &Request::patch(&one, JSON_PATCH, note));
    let back = case.expect(200, &Request::put(&one, last.clone()).with("fieldManager", "m2"));
    assert_eq!(revision(&back), revision(&last));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn before_the_first_apply_nobody_owned_what_every_object_has() {
    let mut case = Case::new("edges-4");
    let place = case.place("/api/v1", "resourcequotas", "q");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "1"}}});
    case.expect(201, &Request::post(case.place("/api/v1", "resourcequotas", ""), quota.clone()));
    case.expect(200, &Request::patch(&place, MERGE, json!({"metadata": {"managedFields": [{}]}})));
    case.expect(200, &Request::apply(&place, "m1", quota));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn refusals_have_the_same_words() {
    let mut case = Case::new("edges-5");
    case.expect(201, &Request::post(case.maps(""), map("c", json!({"a": "1"}))));
    case.refused(500, "invalid syntax", &Request::get(case.maps("c")).with("resourceVersion", "x"));
    case.refused(400, "invalid duration", &Request::get(case.maps("")).with("timeout", "x"));
    case.refused(400, "invalid continue token", &Request::get(case.maps("")).with("continue", "e30"));
    case.refused(
        406,
        "Available representations",
        &Request::get(case.maps("c")).header("Accept", "text/html"),
    );
    let wrong = json!([{"op": "replace", "path": "/metadata", "value": "x"}]);
    case.refused(422, "cannot unmarshal string", &Request::patch(case.maps("c"), JSON_PATCH, wrong));
    let inside = json!([{"op": "copy", "from": "/metadata", "path": "/metadata/annotations"}]);
    case.refused(422, "cannot unmarshal array", &Request::patch(case.maps("c"), JSON_PATCH, inside));
    let twice = json!([{"op": "add", "path": "/metadata/labels", "value": {"z": "1", "a": "2"}},
        {"op": "test", "path": "/metadata/labels/z", "value": "1"},
        {"op": "move", "from": "/metadata", "path": "/data"}]);
    case.refused(422, "cannot unmarshal", &Request::patch(case.maps("c"), JSON_PATCH, twice));
    let lost = json!([{"op": "replace", "path": "/apiVersion", "value": ""}]);
    case.refused(400, "undeterminable", &Request::patch(case.maps("c"), JSON_PATCH, lost));
    let late = json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}});
    case.refused(422, "field is immutable", &Request::patch(case.maps("c"), MERGE, late));
    let jobs = case.place("/apis/batch/v1", "cronjobs", "");
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i"}]}}}});
    let job = |zone: &str| {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "j"},
            "spec": {"schedule": "* * * * *", "timeZone": zone, "jobTemplate": template}})
    };
    case.refused(422, "unknown time zone", &Request::post(&jobs, job("Europe/Atlantis")));
    case.expect(201, &Request::post(&jobs, job("America/Argentina/Ushuaia")));
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_is_wrong_with_pods_is_said_as_a_whole() {
    let mut case = Case::new("edges-6");
    let place = case.place("/api/v1", "podtemplates", "");
    let mut refuse = |words: &str, more: Value| {
        let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let template = json!({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {"spec": spec}});
        case.refused(422, words, &Request::post(&place, template));
    };
    let windows = |options: Value| json!({"securityContext": {"windowsOptions": options}});
    refuse("hostNetwork must be true", windows(json!({"hostProcess": true})));
    let own = |flag: bool| json!({"name": "d", "image": "i", "securityContext": {"windowsOptions": {"hostProcess": flag}}});
    let both = json!([{"name": "c", "image": "i"}, own(true)]);
    refuse("all containers must be HostProcess", json!({"hostNetwork": true, "containers": both}));
    let mut other = windows(json!({"hostProcess": true}));
    other["containers"] = json!([own(false)]);
    other["serviceAccountName"] = "A".into();
    refuse("must be identical", other.clone());
    other["initContainers"] = json!([{"name": "i", "image": "i"}]);
    refuse("must be identical", other);
    let (long, domain) = ("x".repeat(105), "d".repeat(256));
    let users = [
        "",
        "a\n",
        "a\\b\\c",
        "\\u",
        "D\\",
        "...",
        "   ",
        "u:x",
        "a@b",
        ".x\\u",
        "a.-b.ccccccccccccccc\\u",
        &long,
    ];
    for user in
        users.into_iter().map(str::to_owned).chain([format!("{domain}\\u"), format!("{}\\u", &domain[..64])])
    {
        refuse("runAsUserName", windows(json!({"runAsUserName": user})));
    }
    refuse(
        "cannot be an empty string",
        windows(json!({"gmsaCredentialSpecName": "A_", "gmsaCredentialSpec": ""})),
    );
    for policy in ["MountOption", "X"] {
        refuse("seLinuxChangePolicy", json!({"securityContext": {"seLinuxChangePolicy": policy}}));
    }
    for later in [
        json!({"lifecycle": {}}),
        json!({"restartPolicyRules": []}),
        json!({"restartPolicy": "Always"}),
        json!({"resizePolicy": [], "ports": [], "livenessProbe": {}}),
        json!({"resources": {}}),
        json!({"resources": {"limits": {}}}),
    ] {
        let mut container = json!({"name": "e", "image": "i"});
        container.as_object_mut().unwrap().extend(later.as_object().unwrap().clone());
        refuse("ephemeral containers not allowed", json!({"ephemeralContainers": [container]}));
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn volumes_nodes_and_definitions_are_refused_in_the_same_words() {
    let mut case = Case::new("edges-7");
    let volumes = "/api/v1/persistentvolumes";
    let volume = |source: Value| {
        let mut spec = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}});
        spec.as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "edges-7-v"}, "spec": spec})
    };
    for (registry, tenant) in [("", 65), ("hello", 64), ("hello,a:1,b", 1), ("a:1,", 0), ("hello", 65)] {
        let quobyte = json!({"quobyte": {"registry": registry, "volume": "", "tenant": "x".repeat(tenant)}});
        case.refused(422, "spec.quobyte", &Request::post(volumes, volume(quobyte)));
    }
    for namespace in ["", "A.b"] {
        let gluster = json!({"glusterfs": {"endpoints": "", "path": "p", "endpointsNamespace": namespace}});
        case.refused(422, "endpointsNamespace", &Request::post(volumes, volume(gluster)));
    }
    for ranges in [
        json!(["10.2.0.0/24", "b"]),
        json!(["b"]),
        json!(["b", "c"]),
        json!(["10.2.0.0/24", "fd00::1"]),
        json!(["10.2.0.0/24", "010.3.0.0/24"]),
        json!(["10.2.0.0/24", ""]),
    ] {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "edges-7-n"},
            "spec": {"podCIDR": ranges[0], "podCIDRs": ranges}});
        case.refused(422, "podCIDRs", &Request::post("/api/v1/nodes", node));
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn numbers_of_strategic_patches_lose_the_bits_that_do_not_fit() {
    const STRATEGIC: &str = "application/strategic-merge-patch+json";
    let mut case = Case::new("edges-8");
    let place = case.place("/apis/coordination.k8s.io/v1", "leases", "");
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}});
    case.expect(201, &Request::post(&place, lease));
    let patch = |number: Value| json!({"spec": {"leaseTransitions": number}});
    let one = format!("{place}/l");
    case.refused(422, "-2147483648", &Request::patch(&one, STRATEGIC, patch(json!(2_147_483_648_i64))));
    case.refused(422, "cannot convert float64", &Request::patch(&one, STRATEGIC, patch(json!(1.5))));
    let fits = case.expect(200, &Request::patch(&one, STRATEGIC, patch(json!(4_294_967_301_i64))));
    assert_eq!(fits["spec"]["leaseTransitions"], 5);
}

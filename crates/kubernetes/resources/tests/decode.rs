//! Recorded answers of the original: bodies of all kinds and what is stored of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use podium_meta::GroupVersionKind;
use podium_resources::kinds;
use podium_resources::stored::{decode, settle};
use serde_json::{Value, json};

#[test]
fn bodies_are_stored_and_refused_as_recorded() {
    let mut count = 0;
    for line in include_str!("decode.txt").lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = answer["kind"].as_str().unwrap().split_once(' ').unwrap();
        match decode(text("body").as_bytes(), &GroupVersionKind::new(api_version, kind)) {
            Ok(read) => {
                assert_eq!(read.value, answer["stored"], "{line}");
                let complaint = match read.strict.as_slice() {
                    [] => String::new(),
                    strict => format!("strict decoding error: {}", strict.join(", ")),
                };
                assert_eq!(complaint, text("strict"), "{line}");
            }
            Err(error) => assert_eq!(error.to_string(), text("error"), "{line}"),
        }
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn what_is_stored_is_stored_again_as_it_is() {
    for line in include_str!("decode.txt").lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let (api_version, kind) = answer["kind"].as_str().unwrap().split_once(' ').unwrap();
        // The moment that stands for none is the one thing that the original does not read as it wrote it.
        if answer["stored"].is_object() && !line.contains("0001-01-01") {
            let kind = GroupVersionKind::new(api_version, kind);
            let body = answer["stored"].to_string();
            assert_eq!(decode(body.as_bytes(), &kind).unwrap().value, answer["stored"], "{line}");
        }
    }
}

#[test]
fn a_deployment_gets_all_its_defaults() {
    let body = br#"{"metadata": {"name": "web"}, "spec": {"template": {"spec": {"containers":
        [{"name": "c", "image": "nginx", "livenessProbe": {"httpGet": {"port": 80}}, "ports": [{"containerPort": 80}]}]}}}}"#;
    let read = decode(body, &GroupVersionKind::new("apps/v1", "Deployment")).unwrap();
    let spec = &read.value["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(
        spec["strategy"],
        json!({"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["imagePullPolicy"], "Always");
    assert_eq!(container["ports"], json!([{"containerPort": 80, "protocol": "TCP"}]));
    assert_eq!(
        container["livenessProbe"],
        json!({"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1,
            "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3})
    );
    assert_eq!(read.value["status"], json!({}));
}

#[test]
fn odd_bodies_are_refused_in_the_servers_words() {
    let refused = |body: &str| {
        decode(body.as_bytes(), &GroupVersionKind::new("v1", "ConfigMap")).unwrap_err().to_string()
    };
    assert_eq!(refused("{"), "couldn't get version/kind; json parse error: unexpected end of JSON input");
    assert_eq!(
        refused(r#"{"data": {"a": 1}}"#),
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    );
    assert_eq!(refused(r#"{"kind": "Foo"}"#), "no kind \"Foo\" is registered for version \"v1\"");
    assert_eq!(refused(r#"{"apiVersion": "a/b/c"}"#), "unexpected GroupVersion string: a/b/c");
    let deep = format!("{{\"metadata\": {}{}}}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    assert!(refused(&deep).contains("exceeded max depth"));
    let nested = format!("{}{{}}{}", "{\"not\":".repeat(3_000), "}".repeat(3_000));
    let schema = format!(r#"{{"spec": {{"versions": [{{"schema": {{"openAPIV3Schema": {nested}}}}}]}}}}"#);
    let kind = GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let error = decode(schema.as_bytes(), &kind).unwrap_err();
    assert_eq!(error.to_string(), "values are nested deeper than 200 levels");
}

#[test]
fn every_kind_of_the_table_can_be_settled_empty() {
    for kind in kinds().typed() {
        let mut value = json!({});
        settle(&kind, &mut value).unwrap();
        assert_eq!(value["kind"], kind.kind.as_str());
    }
}

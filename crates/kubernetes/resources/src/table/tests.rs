//! What the table says, and that all of it was read.

use podium_meta::GroupVersionKind;
use podium_schema::shape::{Merge, Object, Shape};

use super::{TEXT, discovery, kinds};

#[test]
fn every_line_of_the_text_is_in_the_table() {
    let table = kinds();
    let lines = |start: &str| TEXT.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(table.groups().len(), lines("group "));
    assert_eq!(table.rows().count(), lines("resource "));
    assert_eq!(table.rows().flat_map(|row| &row.subresources).count(), lines("sub "));
    assert_eq!(table.typed().count(), lines("kind "));
    assert_eq!(table.columns.values().map(Vec::len).sum::<usize>(), lines("column "));
    assert_eq!(table.types().structs.iter().map(|one| one.own.len()).sum::<usize>(), lines(" "));
    // What the reader has no word for would be taken for any JSON.
    for one in &table.types().structs {
        for field in &one.own {
            let unknown = table.types().go_name(field.ty) == "v1.JSON";
            assert!(
                !unknown || field.key == "default" || field.key == "example",
                "{} {}",
                one.name,
                field.key
            );
        }
    }
}

#[test]
fn rows_are_found_by_address_and_by_kind() {
    let table = kinds();
    let row = table.resource("apps", "v1", "deployments").unwrap();
    assert_eq!((row.kind, row.namespaced, row.short_names.as_slice()), ("Deployment", true, &["deploy"][..]));
    assert_eq!(table.row_of(&GroupVersionKind::new("apps/v1", "Deployment")), Some(row));
    let scale = row.subresource("scale").unwrap();
    assert_eq!(scale.full_kind(row), GroupVersionKind::new("autoscaling/v1", "Scale"));
    assert_eq!(table.group("autoscaling").unwrap().versions[0].name, "v2");
    for kind in ["apps/v1/DeleteOptions", "meta.k8s.io/v1/DeleteOptions", "v1/Status", "v1/PodList"] {
        let (api_version, kind) = kind.rsplit_once('/').unwrap();
        assert!(table.type_of(&GroupVersionKind::new(api_version, kind)).is_some(), "{kind}");
    }
    assert!(table.type_of(&GroupVersionKind::new("example.com/v1", "DeleteOptions")).is_none());
    let name =
        table.schema_name(&GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition"));
    let expected = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
    assert_eq!(name.as_deref(), Some(expected));
}

#[test]
fn shapes_know_how_lists_are_merged() {
    let table = kinds();
    let shapes = table.shapes();
    let step = |object: &Object, name: &str| {
        let field = object.field(name).unwrap().clone();
        (shapes.get(field.shape).clone(), field)
    };
    let mut object =
        match shapes.get(table.shape_of(&GroupVersionKind::new("apps/v1", "Deployment")).unwrap()) {
            Shape::Object(object) => object.clone(),
            other => panic!("{other:?}"),
        };
    for name in ["spec", "template", "spec"] {
        object = match step(&object, name).0 {
            Shape::Object(object) => object,
            other => panic!("{other:?}"),
        };
    }
    let (containers, field) = step(&object, "containers");
    assert!(field.required && field.patch.merge && field.patch.key.as_deref() == Some("name"));
    let Shape::List(list) = containers else { panic!("{containers:?}") };
    assert_eq!(list.merge, Merge::Keyed(vec!["name".to_owned()]));
    let Shape::Object(container) = shapes.get(list.items) else { panic!() };
    let (ports, field) = step(container, "ports");
    assert_eq!(field.patch.key.as_deref(), Some("containerPort"));
    let Shape::List(list) = ports else { panic!("{ports:?}") };
    assert_eq!(list.merge, Merge::Keyed(vec!["containerPort".to_owned(), "protocol".to_owned()]));
    let Shape::Object(port) = shapes.get(list.items) else { panic!() };
    assert_eq!(port.field("protocol").unwrap().default, Some("TCP".into()));
    let (volumes, field) = step(&object, "volumes");
    assert!(field.patch.retain_keys && matches!(volumes, Shape::List(_)));
    let (selector, _) = step(&object, "nodeSelector");
    assert!(matches!(selector, Shape::Object(Object { whole: true, .. })));
}

#[test]
fn discovery_has_both_forms() {
    let table = kinds();
    let version = table.version("apps", "v1").unwrap();
    let list = discovery::resource_list("apps", version);
    assert_eq!(list["resources"][3]["name"], "deployments");
    assert_eq!(list["resources"][4]["name"], "deployments/scale");
    assert_eq!(list["resources"][4]["group"], "autoscaling");
    let aggregated = discovery::aggregated(table.groups().iter());
    assert_eq!(aggregated["items"][0]["metadata"], serde_json::json!({}));
    let apps = &aggregated["items"][2]["versions"][0]["resources"][2];
    assert_eq!(apps["subresources"][0]["responseKind"]["kind"], "Scale");
}

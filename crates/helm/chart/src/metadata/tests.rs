use super::*;

fn finish(change: impl FnOnce(&mut Metadata)) -> Result<Metadata, String> {
    let mut draft = Draft::default();
    draft.metadata.api_version = API_V2.to_owned();
    draft.metadata.name = "demo".to_owned();
    draft.metadata.version = "1.0.0".to_owned();
    change(&mut draft.metadata);
    draft.finish().map_err(|error| error.to_string())
}

#[test]
fn texts_are_tidied_up() {
    let metadata = finish(|m| {
        m.description = "a\tb\u{7}c\u{a0}d\u{200b}".to_owned();
        m.keywords = vec!["x\ny".to_owned()];
        m.maintainers = vec![Maintainer { name: "n\u{0}".to_owned(), ..Maintainer::default() }];
        m.version = "1.0.0".to_owned();
    })
    .unwrap();
    assert_eq!(metadata.description, "a bc d");
    assert_eq!(metadata.keywords, ["x y"]);
    assert_eq!(metadata.maintainers[0].name, "n");
}

#[test]
fn the_first_fault_is_reported() {
    for (change, want) in [
        (
            Box::new(|m: &mut Metadata| m.api_version.clear()) as Box<dyn FnOnce(&mut Metadata)>,
            "chart.metadata.apiVersion is required",
        ),
        (Box::new(|m: &mut Metadata| m.name.clear()), "chart.metadata.name is required"),
        (Box::new(|m: &mut Metadata| m.name = "..".into()), "chart.metadata.name \"..\" is not allowed"),
        (Box::new(|m: &mut Metadata| m.name = "a/b".into()), "chart.metadata.name \"a/b\" is invalid"),
        (Box::new(|m: &mut Metadata| m.version.clear()), "chart.metadata.version is required"),
        (Box::new(|m: &mut Metadata| m.version = "x".into()), "chart.metadata.version \"x\" is invalid"),
        (
            Box::new(|m: &mut Metadata| m.kind = "x".into()),
            "chart.metadata.type must be application or library",
        ),
        (
            Box::new(|m: &mut Metadata| {
                let alias = |alias: &str| Dependency { alias: alias.into(), ..Dependency::default() };
                m.dependencies = Some(vec![alias("a.b")]);
            }),
            "dependency \"\" has disallowed characters in the alias",
        ),
        (
            Box::new(|m: &mut Metadata| {
                let named = |name: &str, alias: &str| Dependency {
                    name: name.into(),
                    alias: alias.into(),
                    ..Dependency::default()
                };
                m.dependencies = Some(vec![named("a", ""), named("b", "a")]);
            }),
            "more than one dependency with name or alias \"a\"",
        ),
    ] {
        assert_eq!(finish(change).unwrap_err(), format!("validation: {want}"));
    }
}

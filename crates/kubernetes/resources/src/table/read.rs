//! Reads the text of the table. It is our own and part of the binary: a line that cannot be read is left out, and a
//! test looks that there is none.

use std::collections::HashMap;

use super::types::{Field, Form, Struct, StructId, Type, TypeId, Types, WORDS};
use super::{Column, Group, Kinds, Row, Subresource, Version};

pub fn read(texts: &[&'static str]) -> Kinds {
    let mut reader = Reader::default();
    // Types refer to each other before they are described: names come first.
    let lines = || texts.iter().flat_map(|text| text.lines());
    for line in lines() {
        reader.announce(line);
    }
    for line in lines() {
        reader.line(line);
    }
    reader.kinds.types.schema = reader.kinds.types.named("apiextensions/v1.JSONSchemaProps");
    flatten(&mut reader.kinds.types);
    reader.kinds
}

/// Fields whose defaults are only for those who say nothing, not for those who say "nothing".
const EMPTY_COUNTS: [(&str, &str); 2] =
    [("core/v1.NodeStatus", "allocatable"), ("autoscaling/v2.HPAScalingRules", "policies")];

#[derive(Default)]
struct Reader {
    kinds: Kinds,
    /// Types without a name, by what is written.
    bare: HashMap<(&'static str, &'static str, &'static str), TypeId>,
    /// The package of the type at hand.
    here: &'static str,
    at: Option<usize>,
}

impl Reader {
    fn announce(&mut self, line: &'static str) {
        let mut words = line.split(' ');
        let (word, Some(name)) = (words.next().unwrap_or_default(), words.next()) else { return };
        let types = &mut self.kinds.types;
        let form = match word {
            "type" => {
                let id = StructId(number(types.structs.len()));
                types.structs.push(Struct {
                    name,
                    whole: words.next() == Some("atomic"),
                    ..Struct::default()
                });
                Form::Struct(id)
            }
            "named" => Form::Json,
            _ => return,
        };
        let id = self.add(Type { form, name, key: "", message: false });
        self.kinds.types.by_name.insert(name, id);
    }

    fn add(&mut self, ty: Type) -> TypeId {
        let types = &mut self.kinds.types.all;
        types.push(ty);
        TypeId(number(types.len() - 1))
    }

    fn line(&mut self, line: &'static str) {
        if let Some(field) = line.strip_prefix(' ') {
            self.field(field);
            return;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&'static str> = rest.split(' ').collect();
        match (word, words.as_slice()) {
            ("group", [name]) => {
                let name = if *name == "-" { "" } else { name };
                self.kinds.groups.push(Group { name, versions: Vec::new() });
            }
            ("version", [name]) => {
                if let Some(group) = self.kinds.groups.last_mut() {
                    group.versions.push(Version { name, rows: Vec::new() });
                }
            }
            ("resource", words) => self.resource(words),
            ("sub", words) => self.subresource(words),
            ("kind", [api_version, kind, name]) => {
                if let Some(Form::Struct(id)) =
                    self.kinds.types.named(name).map(|id| self.kinds.types.get(id).form)
                {
                    self.kinds.kinds.insert((api_version, kind), id);
                }
            }
            ("column", [api_version, kind, ty, format, priority, ..]) => {
                // The name comes last and may have spaces.
                let name = rest.splitn(6, ' ').last().unwrap_or_default();
                let format = if *format == "-" { "" } else { format };
                let column = Column { name, kind: ty, format, priority: priority.parse().unwrap_or(0) };
                if let Some(id) = self.kinds.kinds.get(&(*api_version, *kind)) {
                    let id = self.kinds.types.of_struct(*id);
                    self.kinds.columns.entry(id).or_default().push(column);
                }
            }
            ("type", [name, ..]) => {
                self.here = package(name);
                self.at = self
                    .kinds
                    .types
                    .named(name)
                    .and_then(|id| self.kinds.types.get(id).form.as_struct().map(|id| usize::from(id.0)));
            }
            ("named", [name, expression, rest @ ..]) => {
                self.here = package(name);
                let key = rest.first().copied().filter(|word| *word != "items").unwrap_or("");
                let inner = self.expression(expression, key);
                let form = self.kinds.types.get(inner).form;
                if let Some(id) = self.kinds.types.named(name)
                    && let Some(ty) = self.kinds.types.all.get_mut(usize::from(id.0))
                {
                    *ty = Type { form, name, key, message: rest.contains(&"items") };
                }
            }
            _ => {}
        }
    }

    fn resource(&mut self, words: &[&'static str]) {
        let [plural, singular, kind, scope, verbs, short, categories, hash] = words else { return };
        let Some(group) = self.kinds.groups.last_mut() else { return };
        let name = group.name;
        let Some(version) = group.versions.last_mut() else { return };
        version.rows.push(Row {
            group: name,
            version: version.name,
            plural,
            singular,
            kind,
            namespaced: *scope == "namespaced",
            verbs: list(verbs),
            short_names: list(short),
            categories: list(categories),
            storage_hash: if *hash == "-" { "" } else { hash },
            subresources: Vec::new(),
        });
    }

    fn subresource(&mut self, words: &[&'static str]) {
        let [name, kind, api, verbs] = words else { return };
        let row = self.kinds.groups.last_mut().and_then(|group| group.versions.last_mut());
        let Some(row) = row.and_then(|version| version.rows.last_mut()) else { return };
        row.subresources.push(Subresource { name, kind, api: api.split_once('/'), verbs: list(verbs) });
    }

    fn field(&mut self, line: &'static str) {
        let mut words = line.splitn(5, ' ');
        let (Some(key), Some(digits), Some(flags), Some(expression)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return;
        };
        let rest = words.next().unwrap_or("");
        let map_key = rest.strip_prefix("K:").and_then(|rest| rest.split(' ').next()).unwrap_or("");
        let field = Field {
            key,
            number: digits.parse().unwrap_or(0),
            ty: self.expression(expression, map_key),
            omit_empty: flags.contains('e'),
            omit_zero: flags.contains('z'),
            embedded: flags.contains('i'),
            required: flags.contains('r'),
            empty_counts: false,
            rest,
            via: Vec::new(),
        };
        if let Some(one) = self.at.and_then(|at| self.kinds.types.structs.get_mut(at)) {
            let empty_counts = EMPTY_COUNTS.contains(&(one.name, key));
            one.own.push(Field { empty_counts, ..field });
        }
    }

    /// The type that an expression stands for; each is kept once.
    fn expression(&mut self, text: &'static str, key: &'static str) -> TypeId {
        let here = if text.contains('.') { self.here } else { "" };
        if let Some(id) = self.bare.get(&(here, text, key)) {
            return *id;
        }
        let id = if let Some(inner) = text.strip_prefix('*') {
            let form = Form::Pointer(self.expression(inner, key));
            self.bare_type(form, "")
        } else if let Some(inner) = text.strip_prefix("[]") {
            let form = Form::List(self.expression(inner, ""));
            self.bare_type(form, "")
        } else if let Some(inner) = text.strip_prefix("{}") {
            let form = Form::Map(self.expression(inner, ""));
            self.bare_type(form, key)
        } else if let Some((_, form, _)) = WORDS.iter().find(|(word, ..)| *word == text) {
            self.bare_type(*form, "")
        } else {
            let named = match text.strip_prefix('.') {
                Some(_) => self.kinds.types.named(&format!("{}{text}", self.here)),
                None => self.kinds.types.named(text),
            };
            named.unwrap_or_else(|| self.bare_type(Form::Json, ""))
        };
        self.bare.insert((here, text, key), id);
        id
    }

    fn bare_type(&mut self, form: Form, key: &'static str) -> TypeId {
        self.add(Type { form, name: "", key, message: false })
    }
}

fn number(size: usize) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

fn package(name: &'static str) -> &'static str {
    name.rsplit_once('.').map_or("", |(package, _)| package)
}

fn list(words: &'static str) -> Vec<&'static str> {
    if words == "-" { Vec::new() } else { words.split(',').collect() }
}

/// Puts the fields of embedded types among those of the outer ones.
fn flatten(types: &mut Types) {
    for at in 0..types.structs.len() {
        let mut fields = Vec::new();
        collect(types, at, &mut Vec::new(), &mut fields);
        fields.sort_by_key(|field: &Field| field.key);
        let always = fields.iter().enumerate().filter(|(_, field)| {
            !field.omit_zero && (!field.omit_empty || !types.get(field.ty).form.can_be_empty())
        });
        let always = always.map(|(at, _)| number(at)).collect();
        if let Some(one) = types.structs.get_mut(at) {
            (one.fields, one.always) = (fields, always);
        }
    }
}

fn collect(types: &Types, at: usize, via: &mut Vec<&'static str>, into: &mut Vec<Field>) {
    let Some(one) = types.structs.get(at) else { return };
    for field in &one.own {
        match types.target(field.ty).1.form {
            Form::Struct(inner) if field.embedded => {
                let name = types.struct_(inner).short_name();
                via.push(name);
                collect(types, usize::from(inner.0), via, into);
                via.pop();
            }
            _ => into.push(Field { via: via.clone(), ..field.clone() }),
        }
    }
}

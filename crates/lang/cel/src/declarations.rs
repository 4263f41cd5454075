//! Every function that expressions can call: names, overloads, types.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::types::Type;

/// One way to call a function.
#[derive(Debug, Clone)]
pub struct Overload {
    /// Its name among all overloads.
    pub id: Arc<str>,
    /// It is called on a value.
    pub member: bool,
    /// The types of the arguments; of the value it is called on first.
    pub args: Vec<Type>,
    /// The type of the result.
    pub result: Type,
}

/// Lines of `function: overload (arguments) result`; `.` before the arguments marks a call on the first of them.
/// Capital letters stand for any type.
const TABLE: &[&str] = &[
    include_str!("declarations/standard.txt"),
    include_str!("declarations/operators.txt"),
    include_str!("declarations/libraries.txt"),
];

/// The types that a `%` in the table stands for, with the name that goes into the overload.
const COMPARABLE: [(&str, &str); 8] = [
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("bool", "bool"),
    ("duration", "google.protobuf.Duration"),
    ("timestamp", "google.protobuf.Timestamp"),
    ("string", "string"),
    ("bytes", "bytes"),
];

/// The overloads of a function.
pub fn function(name: &str) -> Option<&'static [Overload]> {
    static FUNCTIONS: OnceLock<HashMap<String, Vec<Overload>>> = OnceLock::new();
    FUNCTIONS.get_or_init(load).get(name).map(Vec::as_slice)
}

fn load() -> HashMap<String, Vec<Overload>> {
    let mut functions: HashMap<String, Vec<Overload>> = HashMap::new();
    for line in TABLE.iter().flat_map(|table| table.lines()) {
        let Some((name, rest)) = line.split_once(": ") else { continue };
        for overload in rest.split("; ").flat_map(expanded) {
            if let Some(overload) = parsed(&overload) {
                functions.entry(name.to_owned()).or_default().push(overload);
            }
        }
    }
    functions
}

/// A line with `%` becomes one for each comparable type; `%%` is the type's short name, `%+` leaves out what cannot
/// be added.
fn expanded(line: &str) -> Vec<String> {
    if !line.contains('%') {
        return vec![line.to_owned()];
    }
    let summed = line.contains("%+");
    COMPARABLE
        .iter()
        .filter(|(name, _)| !summed || ["int", "uint", "double", "duration"].contains(name))
        .map(|(name, long)| {
            line.replace("%+", name).replace("%%", name).replace("%l", long).replace('%', name)
        })
        .collect()
}

fn parsed(line: &str) -> Option<Overload> {
    let (id, rest) = line.trim().split_once(' ')?;
    let (args, result) = rest.rsplit_once(") ")?;
    let member = args.starts_with('.');
    let args = args.trim_start_matches(['.', '(']);
    let mut reader = Reader(args);
    let mut types = Vec::new();
    while !reader.0.is_empty() {
        types.push(reader.read()?);
        reader.0 = reader.0.trim_start_matches([',', ' ']);
    }
    Some(Overload { id: id.into(), member, args: types, result: Reader(result).read()? })
}

/// Reads the types of the table.
struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn read(&mut self) -> Option<Type> {
        let end = self.0.find(['(', ')', ',']).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        self.0 = rest;
        let mut params = Vec::new();
        if self.0.starts_with('(') {
            while self.0.starts_with(['(', ',']) {
                self.0 = self.0.trim_start_matches(['(', ',', ' ']);
                params.push(self.read()?);
            }
            self.0 = self.0.strip_prefix(')')?;
        }
        let mut params = params.into_iter();
        Some(match name {
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "list" => Type::list(params.next()?),
            "map" => Type::map(params.next()?, params.next()?),
            "optional" => Type::optional(params.next()?),
            "type" => Type::of(params.next()?),
            "net.IP" | "net.CIDR" => Type::Opaque(name.into(), Arc::new([])),
            _ if name.len() == 1 => Type::Param(name.into()),
            _ => Type::Object(format!("kubernetes.{name}").into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_function() {
        let functions = load();
        let lines = TABLE.iter().flat_map(|table| table.lines()).filter(|line| !line.is_empty());
        for line in lines {
            let (name, overloads) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            let wanted: usize = overloads.split("; ").map(|overload| expanded(overload).len()).sum();
            assert!(functions[name].len() >= wanted, "{line}");
        }
        assert_eq!(functions["sort"].len(), 8);
        assert_eq!(&*functions["sort"][4].id, "list_google.protobuf.Duration_sort");
        assert_eq!(functions["sum"].len(), 4);
    }
}

//! Addresses and ports of Services: which of them an object needs, in a cluster with short addresses only.

use podium_meta::{ErrorType, FieldError};
use serde_json::{Value, json};

use super::addresses;
use super::facts::Refused;
use super::place::{Flaws, Place, shown};
use super::services;
use crate::stored::view::{Object, part, text};

/// What a Service needs of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want<'w> {
    /// An address: this one, or any.
    Address(Option<&'w str>),
    /// A port of all nodes: this one, or any.
    Port(Option<i64>),
}

/// What a Service holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Its addresses.
    pub addresses: Vec<String>,
    /// Its ports of all nodes, also the one for questions about its health.
    pub ports: Vec<i64>,
}

/// Gives what is wanted, written as text; an error is the reason why not (`provided IP is already allocated`).
type Give<'g> = dyn FnMut(Want<'_>) -> Result<String, String> + 'g;

/// What a Service holds; when it changes or goes, what it held before and does not hold now is free.
pub fn held(object: &Value) -> Held {
    let spec = Place::root(object).at("spec");
    let all = spec.each("clusterIPs");
    let addresses = all.iter().map(Place::text).filter(|text| !matches!(*text, "" | "None"));
    let addresses = addresses.map(str::to_owned).collect();
    let mut ports: Vec<i64> = spec.each("ports").iter().map(|port| port.at("nodePort").number()).collect();
    ports.push(spec.at("healthCheckNodePort").number());
    ports.retain(|port| *port != 0);
    ports.sort_unstable();
    ports.dedup();
    Held { addresses, ports }
}

/// Gives a new Service what it needs; to be called before it is prepared and checked.
pub fn allocate_create(object: &mut Value, give: &mut Give<'_>) -> Result<(), Refused> {
    let Some(spec) = spec_of(object) else { return Ok(()) };
    if !text(spec, "clusterIP").is_empty() && list(spec, "clusterIPs").is_empty() {
        let first = spec.get("clusterIP").cloned().unwrap_or_default();
        spec.insert("clusterIPs".to_owned(), json!([first]));
    }
    families(object, None)?;
    give_addresses(object, give)?;
    let place = Place::root(object);
    let kind = place.at("spec.type").text().to_owned();
    let health = services::needs_health(&place);
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        new_ports(object, give)?;
    }
    if health { health_port(object, give) } else { Ok(()) }
}

/// Gives a changed Service what it needs and keeps what it has; to be called before it is prepared and checked.
pub fn allocate_update(new: &mut Value, old: &Value, give: &mut Give<'_>) -> Result<(), Refused> {
    keep_values(new, old);
    keep_addresses(new, old);
    families(new, Some(old))?;
    let (was, now) = (kind_of(old), kind_of(new));
    if was == "ExternalName" && now != "ExternalName" {
        give_addresses(new, give)?;
    }
    if matches!(now.as_str(), "NodePort" | "LoadBalancer") {
        more_ports(new, old, give)?;
    }
    let needs = |object: &Value| services::needs_health(&Place::root(object));
    if needs(new) && !needs(old) { health_port(new, give) } else { Ok(()) }
}

fn spec_of(object: &mut Value) -> Option<&mut Object> {
    object.as_object_mut().and_then(|map| part(map, "spec"))
}

fn list<'o>(spec: &'o Object, key: &str) -> &'o [Value] {
    spec.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn kind_of(object: &Value) -> String {
    Place::root(object).at("spec.type").text().to_owned()
}

/// Values that the cluster gave stay when nobody says anything else.
fn keep_values(new: &mut Value, old: &Value) {
    let before = Place::root(old).at("spec");
    let on_nodes = |spec: &Place<'_>| match spec.at("type").text() {
        "NodePort" => true,
        "LoadBalancer" => spec.at("allocateLoadBalancerNodePorts").value != &Value::Bool(false),
        _ => false,
    };
    let copy = new.clone();
    let own = Place::root(&copy).at("spec");
    let health = services::needs_health(&Place::root(&copy)) && services::needs_health(&Place::root(old));
    let inside = [&own, &before].iter().all(|spec| spec.at("type").text() != "ExternalName");
    let ports = on_nodes(&own) && on_nodes(&before);
    let Some(spec) = spec_of(new) else { return };
    let set = |spec: &mut Object, key: &str| {
        if before.has(key) {
            spec.insert(key.to_owned(), before.at(key).value.clone());
        }
    };
    if inside {
        if own.at("clusterIP").text().is_empty() {
            set(spec, "clusterIP");
        }
        if own.at("clusterIPs").count() == 0 {
            set(spec, "clusterIPs");
        }
    }
    if ports {
        let numbers = |spec: &Place<'_>| -> Vec<i64> {
            spec.each("ports")
                .iter()
                .map(|port| port.at("nodePort").number())
                .filter(|one| *one != 0)
                .collect()
        };
        let (ours, theirs) = (numbers(&own), numbers(&before));
        let used: Vec<i64> = theirs.into_iter().filter(|port| ours.contains(port)).collect();
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let place = Place::root(port);
            if place.at("nodePort").number() != 0 {
                continue;
            }
            let named = |one: &&Place<'_>| one.at("name").text() == place.at("name").text();
            let known = before.each("ports");
            let number = known.iter().rev().find(named).map_or(0, |one| one.at("nodePort").number());
            if number != 0
                && !used.contains(&number)
                && let Some(port) = port.as_object_mut()
            {
                port.insert("nodePort".to_owned(), number.into());
            }
        }
    }
    if health && own.at("healthCheckNodePort").number() == 0 {
        set(spec, "healthCheckNodePort");
    }
}

/// The one address and the list of all go together.
fn keep_addresses(new: &mut Value, old: &Value) {
    let before = Place::root(old).at("spec");
    let (one, all) = (before.at("clusterIP"), before.at("clusterIPs"));
    let Some(spec) = spec_of(new) else { return };
    let own = text(spec, "clusterIP").to_owned();
    if all.count() > 0 && list(spec, "clusterIPs").is_empty() && one.text() == own {
        spec.insert("clusterIPs".to_owned(), all.value.clone());
    }
    let same = spec.get("clusterIPs").unwrap_or(&Value::Null) == all.value;
    if one.text() != own && same && !all.value.is_null() {
        if own.is_empty() {
            spec.remove("clusterIPs");
        } else {
            spec.insert("clusterIPs".to_owned(), json!([own]));
        }
    }
}

/// Says which families of addresses a Service has.
fn families(object: &mut Value, old: Option<&Value>) -> Result<(), Refused> {
    let kind = kind_of(object);
    if kind == "ExternalName" {
        return Ok(());
    }
    let before = old.map(|old| Place::root(old).at("spec"));
    let copy = object.clone();
    let own = Place::root(&copy).at("spec");
    let loose = own.at("clusterIP").text() == "None" && own.at("selector").count() == 0;
    let policy = match own.at("ipFamilyPolicy").text() {
        "" => before
            .as_ref()
            .map(|before| before.at("ipFamilyPolicy").text())
            .filter(|policy| !policy.is_empty())
            .unwrap_or(if loose { "RequireDualStack" } else { "SingleStack" })
            .to_owned(),
        policy => policy.to_owned(),
    };
    let Some(spec) = spec_of(object) else { return Ok(()) };
    spec.insert("ipFamilyPolicy".to_owned(), policy.as_str().into());
    let mut flaws = Flaws::default();
    let whole = old.map(Place::root);
    let now = object.clone();
    services::cluster_addresses(&Place::root(&now), whole.as_ref(), &mut flaws);
    if !flaws.is_empty() {
        return Err(Refused::invalid(flaws.list));
    }
    let Some(spec) = spec_of(object) else { return Ok(()) };
    if let Some(before) = before.as_ref().filter(|_| policy == "SingleStack") {
        for key in ["clusterIPs", "ipFamilies"] {
            let same = spec.get(key) == Some(before.at(key).value);
            if let Some(list) = spec.get_mut(key).and_then(Value::as_array_mut).filter(|_| same) {
                list.truncate(1);
            }
        }
    }
    let mut found: Vec<Value> = list(spec, "ipFamilies").to_vec();
    let given: Vec<Value> = list(spec, "clusterIPs").to_vec();
    let field = |key: &str| format!("spec.{key}");
    let mut wrong: Vec<FieldError> = Vec::new();
    let quoted = format!("\"{policy}\"");
    if policy == "SingleStack" {
        for (count, what) in [(given.len(), "cluster IPs"), (found.len(), "IP families")] {
            if count == 2 {
                let detail = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                wrong.push(FieldError::new(ErrorType::Invalid, field("ipFamilyPolicy"), &quoted, &detail));
            }
        }
    }
    for (at, address) in given.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if address == "None" {
            break;
        }
        if at >= found.len() {
            if addresses::is_long(address) {
                let all = shown(&Value::Array(given.clone()));
                let path = format!("spec.clusterIPs[{at}]");
                wrong.push(FieldError::new(
                    ErrorType::Invalid,
                    path,
                    &all,
                    "IPv6 is not configured on this cluster",
                ));
            } else {
                found.push("IPv4".into());
            }
        }
    }
    if !wrong.is_empty() {
        return Err(Refused::invalid(wrong));
    }
    if loose {
        if found.is_empty() {
            found.push("IPv4".into());
        }
        if found.len() < 2 && policy != "SingleStack" {
            let other = if found.first().and_then(Value::as_str) == Some("IPv4") { "IPv6" } else { "IPv4" };
            found.push(other.into());
        }
        spec.insert("ipFamilies".to_owned(), Value::Array(found));
        return Ok(());
    }
    if policy == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        wrong.push(FieldError::new(ErrorType::Invalid, field("ipFamilyPolicy"), &quoted, detail));
    }
    for (at, family) in found.iter().enumerate() {
        if family.as_str() != Some("IPv4") {
            let path = format!("spec.ipFamilies[{at}]");
            wrong.push(FieldError::new(
                ErrorType::Invalid,
                path,
                &shown(family),
                "not configured on this cluster",
            ));
        }
    }
    if !wrong.is_empty() {
        return Err(Refused::invalid(wrong));
    }
    if found.is_empty() {
        found.push("IPv4".into());
    }
    spec.insert("ipFamilies".to_owned(), Value::Array(found));
    Ok(())
}

fn give_addresses(object: &mut Value, give: &mut Give<'_>) -> Result<(), Refused> {
    if kind_of(object) == "ExternalName" {
        return Ok(());
    }
    let Some(spec) = spec_of(object) else { return Ok(()) };
    let mut all: Vec<Value> = list(spec, "clusterIPs").to_vec();
    if all.first().and_then(Value::as_str) == Some("None") {
        return Ok(());
    }
    let count = list(spec, "ipFamilies").len();
    while all.len() < count {
        all.push("".into());
    }
    for at in 0..count {
        let wanted = all.get(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let asked = (!wanted.is_empty()).then_some(wanted.as_str());
        let given = give(Want::Address(asked)).map_err(|why| {
            let detail = match asked {
                Some(asked) => format!("failed to allocate IP {asked}: {why}"),
                None => format!("failed to allocate IP: {why}"),
            };
            let value = shown(&Value::Array(all.clone()));
            Refused::invalid(vec![FieldError::new(ErrorType::Invalid, "spec.clusterIPs", &value, &detail)])
        })?;
        if let Some(place) = all.get_mut(at) {
            *place = given.as_str().into();
        }
        if at == 0 {
            spec.insert("clusterIP".to_owned(), given.into());
        }
    }
    spec.insert("clusterIPs".to_owned(), Value::Array(all));
    Ok(())
}

fn allocates(object: &Value) -> bool {
    let spec = Place::root(object).at("spec");
    match spec.at("type").text() {
        "NodePort" => true,
        "LoadBalancer" => spec.at("allocateLoadBalancerNodePorts").truth(),
        _ => false,
    }
}

fn one_port(at: usize, number: i64, give: &mut Give<'_>) -> Result<i64, Refused> {
    let wanted = (number != 0).then_some(number);
    match (give(Want::Port(wanted)), wanted) {
        (Ok(given), _) => Ok(given.parse().unwrap_or(number)),
        (Err(why), Some(wanted)) => {
            let path = format!("spec.ports[{at}].nodePort");
            Err(Refused::invalid(vec![FieldError::new(ErrorType::Invalid, path, &wanted.to_string(), &why)]))
        }
        (Err(why), None) => Err(Refused::internal(&format!("failed to allocate a nodePort: {why}"))),
    }
}

/// The ports of a new Service: those of the same number share one.
fn new_ports(object: &mut Value, give: &mut Give<'_>) -> Result<(), Refused> {
    let any = allocates(object);
    let copy = object.clone();
    let ports = Place::root(&copy).each("spec.ports");
    let mut known: Vec<(i64, i64)> = Vec::new();
    let mut numbers = Vec::new();
    for (at, port) in ports.iter().enumerate() {
        let (own, mut number) = (port.at("port").number(), port.at("nodePort").number());
        if number == 0 && !any {
            numbers.push(0);
            continue;
        }
        match known.iter().find(|(port, _)| *port == own).map(|(_, given)| *given) {
            None => {
                let asked = ports.iter().filter(|one| one.at("port").number() == own);
                let asked =
                    asked.map(|one| one.at("nodePort").number()).find(|number| *number != 0).unwrap_or(0);
                number = one_port(at, asked, give)?;
                known.push((own, number));
            }
            Some(given) if number == 0 => number = given,
            Some(given) if number != given => number = one_port(at, number, give)?,
            Some(_) => {}
        }
        numbers.push(number);
    }
    set_ports(object, &numbers);
    Ok(())
}

fn more_ports(object: &mut Value, old: &Value, give: &mut Give<'_>) -> Result<(), Refused> {
    let any = allocates(object);
    let mut known = held(old).ports;
    let copy = object.clone();
    let mut numbers = Vec::new();
    for (at, port) in Place::root(&copy).each("spec.ports").iter().enumerate() {
        let mut number = port.at("nodePort").number();
        if number == 0 && any || number != 0 && !known.contains(&number) {
            number = one_port(at, number, give)?;
            known.push(number);
        }
        numbers.push(number);
    }
    set_ports(object, &numbers);
    Ok(())
}

fn set_ports(object: &mut Value, numbers: &[i64]) {
    let ports = spec_of(object).and_then(|spec| spec.get_mut("ports")).and_then(Value::as_array_mut);
    for (port, number) in ports.into_iter().flatten().zip(numbers) {
        if let Some(port) = port.as_object_mut().filter(|_| *number != 0) {
            port.insert("nodePort".to_owned(), (*number).into());
        }
    }
}

fn health_port(object: &mut Value, give: &mut Give<'_>) -> Result<(), Refused> {
    let number = Place::root(object).at("spec.healthCheckNodePort").number();
    let given = give(Want::Port((number != 0).then_some(number))).map_err(|why| {
        Refused::internal(&match number {
            0 => format!("failed to allocate a HealthCheck NodePort 0: {why}"),
            number => format!("failed to allocate requested HealthCheck NodePort {number}: {why}"),
        })
    })?;
    if let Some(spec) = spec_of(object) {
        spec.insert("healthCheckNodePort".to_owned(), given.parse::<i64>().unwrap_or(number).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(mut object: Value) -> Result<Value, Refused> {
        let mut next = 30_000;
        allocate_create(&mut object, &mut |want| match want {
            Want::Address(Some(address)) => Ok(address.to_owned()),
            Want::Address(None) => Ok("10.96.0.9".to_owned()),
            Want::Port(Some(port)) => Ok(port.to_string()),
            Want::Port(None) => {
                next += 1;
                Ok(next.to_string())
            }
        })?;
        Ok(object["spec"].clone())
    }

    #[test]
    fn services_get_what_their_type_needs() {
        let plain = given(json!({"spec": {"type": "ClusterIP", "ports": [{"port": 80}]}})).unwrap();
        assert_eq!(
            plain,
            json!({"type": "ClusterIP", "ports": [{"port": 80}], "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"],
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"})
        );
        let open =
            given(json!({"spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 80}, {"port": 81}]}}));
        let ports: Vec<i64> = open.unwrap()["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["nodePort"].as_i64().unwrap())
            .collect();
        assert_eq!(ports, [30_001, 30_001, 30_002]);
        let headless = given(json!({"spec": {"type": "ClusterIP", "clusterIP": "None"}})).unwrap();
        assert_eq!(headless["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert_eq!(headless["ipFamilyPolicy"], "RequireDualStack");
        assert_eq!(headless["clusterIPs"], json!(["None"]));
        let both =
            given(json!({"spec": {"type": "ClusterIP", "ipFamilyPolicy": "RequireDualStack"}})).unwrap_err();
        assert_eq!(
            both.flaws[0].to_string(),
            "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack \
             services"
        );
    }

    #[test]
    fn a_change_keeps_what_was_given() {
        let old = json!({"spec": {"type": "NodePort", "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "ports": [{"name": "a", "port": 80, "nodePort": 30000}]}});
        let mut new = json!({"spec": {"type": "NodePort", "ports": [{"name": "a", "port": 81}, {"name": "b", "port": 82}]}});
        allocate_update(&mut new, &old, &mut |want| {
            assert_eq!(want, Want::Port(None));
            Ok("30007".to_owned())
        })
        .unwrap();
        assert_eq!(new["spec"]["clusterIP"], "10.96.0.9");
        assert_eq!(new["spec"]["ports"][0]["nodePort"], 30_000);
        assert_eq!(new["spec"]["ports"][1]["nodePort"], 30_007);
        assert_eq!(held(&new).ports, [30_000, 30_007]);
    }
}

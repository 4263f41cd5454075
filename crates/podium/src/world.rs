//! The clock, chance and names of this machine.

use std::net::ToSocketAddrs;
use std::rc::Rc;
use std::time::Duration;

use podium_deploy::object::json_to_node;
use podium_gotmpl::{Heap, Value, World};
use podium_meta::GroupVersionKind;
use podium_release::environment::{self, Deadline};
use podium_sprig::convert::from_tree;

use crate::cluster::Cluster;

/// This machine, as templates may see it.
pub struct Machine {
    /// Whether `getHostByName` may ask for names.
    pub dns: bool,
    deadline: Deadline,
    zone: String,
    /// The cluster that templates may look things up in.
    pub cluster: Option<Rc<Cluster>>,
}

impl Machine {
    /// A world whose renders have to be done within a time.
    pub fn new(dns: bool, time: Option<Duration>) -> Self {
        Self { dns, deadline: Deadline::after(time), zone: local_zone(), cluster: None }
    }
}

/// The name of the local zone, from `TZ` or from where `/etc/localtime` points.
pub fn local_zone() -> String {
    if let Ok(zone) = std::env::var("TZ") {
        return if zone.is_empty() { "UTC".to_owned() } else { zone.trim_start_matches(':').to_owned() };
    }
    let link = std::fs::read_link("/etc/localtime").unwrap_or_default();
    let path = link.to_string_lossy().into_owned();
    match path.split_once("zoneinfo/") {
        Some((_, zone)) => zone.to_owned(),
        None => "UTC".to_owned(),
    }
}

impl World for Machine {
    fn now(&self) -> (i64, u32) {
        environment::now()
    }

    fn random(&self, buffer: &mut [u8]) {
        environment::random(buffer);
    }

    fn local_zone(&self) -> &str {
        &self.zone
    }

    fn resolve_host(&self, name: &str) -> Result<String, String> {
        if !self.dns {
            return Ok(String::new());
        }
        match (name, 0).to_socket_addrs() {
            Ok(mut addresses) => Ok(addresses.next().map(|a| a.ip().to_string()).unwrap_or_default()),
            Err(_) => Ok(String::new()),
        }
    }

    fn lookup<'h>(
        &self,
        heap: &'h Heap<'h>,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value<'h>, String> {
        let nothing = || Value::Map(heap.map(Default::default()));
        let Some(cluster) = &self.cluster else { return Ok(nothing()) };
        let found = cluster.lookup(&GroupVersionKind::new(api_version, kind), namespace, name)?;
        Ok(found.map_or_else(nothing, |object| from_tree(heap, &json_to_node(object))))
    }

    fn out_of_time(&self) -> bool {
        self.deadline.is_expired()
    }
}

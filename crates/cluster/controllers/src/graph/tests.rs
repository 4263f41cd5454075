use super::*;
use crate::meta::Reference;

/// A graph with a namespaced kind 0 and a kind 1 of the whole cluster, both listed.
struct World {
    graph: Graph,
}

fn uid(number: u64) -> Uid {
    Uid::read(&format!("00000000-0000-4000-8000-{number:012}"))
}

fn kind(number: Number) -> GroupVersionKind {
    GroupVersionKind::new("x/v1", ["Map", "Zone"].get(number as usize).copied().unwrap_or("Other"))
}

/// An object `n/<number>`, or `<number>` of the cluster.
fn object(kind: Number, number: u64, owners: &[u64]) -> Meta<'static> {
    let name = number.to_string();
    Meta {
        uid: uid(number),
        key: ObjectKey::new((kind == 0).then_some("n"), &name),
        version: 1,
        deleting: false,
        foreground: false,
        orphan: false,
        owners: owners.iter().map(|owner| reference(0, *owner)).collect(),
    }
}

fn reference(kind_number: Number, owner: u64) -> Reference<'static> {
    let name = owner.to_string().leak();
    Reference { uid: uid(owner), kind: kind(kind_number), name, block: true }
}

impl World {
    fn new() -> Self {
        let mut graph = Graph::default();
        for (number, namespaced) in [(0, true), (1, false)] {
            assert_eq!(graph.add_kind(&kind(number), namespaced), number);
            graph.begin(number);
            graph.end(number);
        }
        Self { graph }
    }

    /// Objects of kind 0, each with its owners.
    fn with(objects: &[(u64, &[u64])]) -> Self {
        let mut world = Self::new();
        for (number, owners) in objects {
            world.graph.apply(0, &object(0, *number, owners));
        }
        world
    }

    fn mark(&mut self, number: u64, owners: &[u64], change: impl Fn(&mut Meta<'static>)) -> Todo {
        let mut meta = object(0, number, owners);
        (meta.deleting, meta.version) = (true, 2);
        change(&mut meta);
        self.graph.apply(0, &meta)
    }

    fn delete(&mut self, number: u64) -> Todo {
        self.graph.delete(0, uid(number))
    }

    fn decide(&self, number: u64) -> Step {
        self.graph.decide(uid(number))
    }
}

const BACKGROUND: Step = Step::Delete(PropagationPolicy::Background, false);

#[test]
fn what_has_lost_its_only_owner_goes_and_what_has_another_is_detached() {
    let mut world = World::with(&[(1, &[]), (2, &[]), (3, &[1]), (4, &[1, 2])]);
    assert_eq!((world.decide(3), world.decide(4)), (Step::Rest, Step::Rest));
    let mut todo = world.delete(1);
    todo.now.sort();
    assert_eq!(todo.now, [uid(3), uid(4)]);
    assert_eq!((world.decide(3), world.decide(4)), (BACKGROUND, Step::Detach(vec![uid(1)])));
    world.delete(3);
    world.graph.apply(0, &object(0, 4, &[2]));
    assert_eq!(world.decide(4), Step::Rest);
    assert_eq!(world.graph.size(), (2, 1, 1));
}

#[test]
fn an_owner_that_was_never_seen_is_looked_for_once() {
    let mut world = World::new();
    let todo = world.graph.apply(0, &object(0, 2, &[1]));
    assert_eq!((todo.now.len(), todo.later), (0, vec![uid(2)]));
    world.graph.apply(0, &object(0, 3, &[1]));
    let Step::Look(suspects) = world.decide(2) else { panic!("it is looked for") };
    assert_eq!((suspects.len(), suspects[0].key.to_string()), (1, "n/1".to_owned()));
    world.graph.set_absent(&suspects[0]);
    assert_eq!((world.decide(2), world.decide(3)), (BACKGROUND, BACKGROUND));
}

#[test]
fn an_owner_that_is_heard_of_late_is_an_owner() {
    let mut world = World::with(&[(2, &[1])]);
    let todo = world.graph.apply(0, &object(0, 1, &[]));
    assert_eq!((todo, world.decide(2)), (Todo::default(), Step::Rest));
}

#[test]
fn nothing_is_said_of_owners_whose_kind_is_unknown_or_not_listed() {
    let mut world = World::new();
    let mut meta = object(0, 2, &[]);
    meta.owners.push(reference(2, 1));
    world.graph.apply(0, &meta);
    assert_eq!(world.decide(2), Step::Rest);
    assert_eq!(world.graph.add_kind(&kind(2), true), 2);
    world.graph.begin(2);
    assert_eq!(world.decide(2), Step::Rest);
    assert_eq!(world.graph.end(2).now, [uid(2)]);
    assert!(matches!(world.decide(2), Step::Look(_)));
    world.graph.drop_kind(2);
    assert_eq!(world.decide(2), Step::Rest);
    assert!(world.graph.has_dependents_of("x", "Other") && !world.graph.has_dependents_of("x", "Map"));
}

#[test]
fn an_owner_elsewhere_is_none_and_a_namespaced_owner_of_the_cluster_is_let_be() {
    let mut world = World::with(&[(1, &[])]);
    let mut stray = object(0, 2, &[1]);
    stray.key = ObjectKey::new(Some("m"), "2");
    let todo = world.graph.apply(0, &stray);
    assert_eq!((todo.now, todo.astray), (vec![uid(2)], vec![(uid(2), uid(1))]));
    let Step::Look(suspects) = world.decide(2) else { panic!("it is looked for") };
    assert_eq!(suspects[0].key.to_string(), "m/1");

    let todo = world.graph.apply(1, &object(1, 3, &[1]));
    assert_eq!((todo.now.len(), todo.astray), (0, vec![(uid(3), uid(1))]));
    assert_eq!(world.decide(3), Step::Rest);
    world.delete(1);
    assert_eq!((world.decide(2), world.decide(3)), (BACKGROUND, Step::Rest));
}

#[test]
fn dependents_that_came_first_are_looked_at_when_their_owner_shows_up_elsewhere() {
    let mut world = World::new();
    let mut stray = object(0, 2, &[1]);
    stray.key = ObjectKey::new(Some("m"), "2");
    world.graph.apply(0, &stray);
    let todo = world.graph.apply(0, &object(0, 1, &[]));
    assert_eq!((todo.now, todo.astray), (vec![uid(2)], vec![(uid(2), uid(1))]));
}

#[test]
fn an_owner_of_the_cluster_may_have_dependents_everywhere() {
    let mut world = World::new();
    world.graph.apply(1, &object(1, 1, &[]));
    let mut meta = object(0, 2, &[]);
    meta.owners.push(reference(1, 1));
    let todo = world.graph.apply(0, &meta);
    assert_eq!((todo, world.decide(2)), (Todo::default(), Step::Rest));
    world.graph.delete(1, uid(1));
    assert_eq!(world.decide(2), BACKGROUND);
}

#[test]
fn a_list_that_does_not_name_an_owner_makes_it_suspect() {
    let mut world = World::with(&[(1, &[]), (2, &[1]), (3, &[2])]);
    world.graph.begin(0);
    assert_eq!(world.decide(2), Step::Rest);
    world.graph.apply(0, &object(0, 2, &[1]));
    let todo = world.graph.end(0);
    assert_eq!(todo.now, [uid(2)]);
    assert!(matches!(world.decide(2), Step::Look(_)));
    assert!(world.graph.node(uid(3)).is_none());
}

#[test]
fn foreground_goes_from_the_leaves_to_the_root() {
    let mut world = World::with(&[(1, &[]), (2, &[1]), (3, &[2])]);
    let mut todo = world.mark(1, &[], |meta| meta.foreground = true);
    todo.now.sort();
    assert_eq!(todo.now, [uid(1), uid(2)]);
    assert_eq!(world.decide(1), Step::Rest);
    assert_eq!(world.decide(2), Step::Delete(PropagationPolicy::Foreground, false));
    world.mark(2, &[1], |meta| meta.foreground = true);
    assert_eq!((world.decide(2), world.decide(3)), (Step::Rest, BACKGROUND));
    assert_eq!(world.delete(3).now, [uid(2)]);
    assert_eq!(world.decide(2), Step::Release(FOREGROUND));
    assert_eq!(world.delete(2).now, [uid(1)]);
    assert_eq!(world.decide(1), Step::Release(FOREGROUND));
}

#[test]
fn foreground_does_not_wait_for_whoever_does_not_block_or_has_another_owner() {
    let mut world = World::with(&[(1, &[]), (4, &[]), (2, &[1, 4])]);
    let mut free = object(0, 3, &[1]);
    free.owners[0].block = false;
    world.graph.apply(0, &free);
    world.mark(1, &[], |meta| meta.foreground = true);
    assert_eq!((world.decide(2), world.decide(3)), (Step::Detach(vec![uid(1)]), BACKGROUND));
    assert_eq!(world.graph.apply(0, &object(0, 2, &[4])).now, [uid(1)]);
    assert_eq!(world.decide(1), Step::Release(FOREGROUND));
}

#[test]
fn two_that_own_each_other_do_not_wait_for_ever() {
    let mut world = World::with(&[(1, &[2]), (2, &[1])]);
    world.mark(1, &[2], |meta| meta.foreground = true);
    assert_eq!(world.decide(2), Step::Delete(PropagationPolicy::Foreground, true));
    let todo = world.mark(2, &[1], |meta| {
        meta.foreground = true;
        meta.owners[0].block = false;
    });
    assert!(todo.now.contains(&uid(1)));
    assert_eq!((world.decide(1), world.decide(2)), (Step::Release(FOREGROUND), Step::Rest));
    assert!(world.delete(1).now.contains(&uid(2)));
    assert_eq!(world.decide(2), Step::Release(FOREGROUND));
}

#[test]
fn one_that_owns_itself_does_not_wait_for_itself() {
    let mut world = World::with(&[(1, &[1])]);
    assert_eq!(world.decide(1), Step::Rest);
    world.mark(1, &[1], |meta| meta.foreground = true);
    assert_eq!(world.decide(1), Step::Release(FOREGROUND));
    world.delete(1);
    assert_eq!(world.graph.size(), (0, 0, 0));
}

#[test]
fn orphans_lose_their_reference_before_their_owner_goes() {
    let mut world = World::with(&[(1, &[]), (2, &[1])]);
    let todo = world.mark(1, &[], |meta| (meta.orphan, meta.foreground) = (true, true));
    assert_eq!((todo.now.len(), todo.later), (0, vec![uid(1)]));
    assert_eq!((world.decide(1), world.decide(2)), (Step::Orphan(vec![uid(2)]), Step::Rest));
    world.graph.apply(0, &object(0, 2, &[]));
    assert_eq!(world.decide(1), Step::Orphan(Vec::new()));
    let todo = world.mark(1, &[], |meta| meta.foreground = true);
    assert_eq!((todo.now, world.decide(1)), (vec![uid(1)], Step::Release(FOREGROUND)));
}

#[test]
fn finalizers_that_are_there_already_are_honoured() {
    for (orphan, foreground, how) in [
        (true, true, PropagationPolicy::Orphan),
        (false, true, PropagationPolicy::Foreground),
        (false, false, PropagationPolicy::Background),
    ] {
        let mut world = World::with(&[(1, &[])]);
        let mut meta = object(0, 2, &[1]);
        (meta.orphan, meta.foreground) = (orphan, foreground);
        world.graph.apply(0, &meta);
        world.delete(1);
        assert_eq!(world.decide(2), Step::Delete(how, false));
    }
}

#[test]
fn what_is_on_its_way_is_left_alone() {
    let mut world = World::with(&[(1, &[]), (2, &[1])]);
    world.mark(2, &[1], |_| ());
    world.delete(1);
    assert_eq!(world.decide(2), Step::Rest);
}

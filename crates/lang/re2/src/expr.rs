//! The tree of a parsed pattern, with what the limits need to know of every branch.

use crate::set::RuneSet;

/// A position that must be of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordBoundary,
    NotWordBoundary,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Empty,
    /// Code points in a row; `fold` ignores their case.
    Literal {
        runes: Vec<u32>,
        fold: bool,
    },
    Class(RuneSet),
    Place(Place),
    Group {
        index: u32,
        sub: Box<Expr>,
    },
    Repeat {
        min: u32,
        max: Option<u32>,
        greedy: bool,
        sub: Box<Expr>,
    },
    Concat(Vec<Expr>),
    Alternate(Vec<Expr>),
}

/// A branch of the tree.
#[derive(Debug)]
pub(crate) struct Expr {
    pub kind: Kind,
    /// Levels, counting this one.
    pub height: u32,
    /// How often counted repetitions copy the innermost part.
    pub copies: u32,
    /// The instructions that Go would need, by its own estimate.
    pub size: u64,
    /// About how many states our automaton will need.
    pub cost: u64,
}

fn class_cost(set: &RuneSet) -> u64 {
    // One state holds all ASCII ranges. Beyond that a few states lead to all lengths of UTF-8, and no range needs
    // more than one further state on average, because ranges share their ends.
    match set.ranges().iter().filter(|(_, hi)| *hi > 0x7F).count() as u64 {
        0 => 1,
        wide => 8 + wide,
    }
}

impl Expr {
    pub fn leaf(kind: Kind) -> Self {
        let cost = match &kind {
            Kind::Literal { runes, .. } => runes.len() as u64 * 2,
            Kind::Class(set) => class_cost(set),
            _ => 1,
        };
        let size = if let Kind::Literal { runes, .. } = &kind { runes.len() as u64 } else { 1 };
        Self { kind, height: 1, copies: 1, size, cost }
    }

    pub fn class(set: RuneSet) -> Self {
        match set.single() {
            Some(rune) => Self::literal(rune, false),
            None => Self::leaf(Kind::Class(set)),
        }
    }

    pub fn literal(rune: u32, fold: bool) -> Self {
        Self::leaf(Kind::Literal { runes: vec![rune], fold })
    }

    pub fn group(index: u32, sub: Expr) -> Self {
        Self {
            height: sub.height.saturating_add(1),
            copies: sub.copies,
            size: sub.size.saturating_add(2),
            cost: sub.cost.saturating_add(2),
            kind: Kind::Group { index, sub: Box::new(sub) },
        }
    }

    /// Repeats; `counted` says that it was written with numbers.
    pub fn repeat(min: u32, max: Option<u32>, greedy: bool, counted: bool, sub: Expr) -> Self {
        // What is repeated no time at all is not there, whatever is in it.
        let factor = match max {
            Some(0) => 0,
            _ if counted => max.unwrap_or(min).max(1),
            _ => 1,
        };
        let times = u64::from(factor);
        let joints = match max {
            None if min == 0 => 2,
            Some(max) if counted => u64::from(max.saturating_sub(min)),
            _ => 1,
        };
        Self {
            height: sub.height.saturating_add(1),
            copies: sub.copies.saturating_mul(factor).max(1),
            size: sub.size.saturating_mul(times).saturating_add(joints).max(1),
            cost: sub.cost.saturating_add(1).saturating_mul(times).saturating_add(2),
            kind: Kind::Repeat { min, max, greedy, sub: Box::new(sub) },
        }
    }

    fn of_parts(parts: Vec<Expr>, kind: fn(Vec<Expr>) -> Kind) -> Self {
        let sum = |of: fn(&Expr) -> u64| parts.iter().fold(0, |sum: u64, part| sum.saturating_add(of(part)));
        Self {
            height: parts.iter().map(|p| p.height).max().unwrap_or(0).saturating_add(1),
            copies: parts.iter().map(|p| p.copies).max().unwrap_or(1),
            size: sum(|p| p.size),
            cost: sum(|p| p.cost + 1),
            kind: kind(parts),
        }
    }

    /// The parts one after the other.
    pub fn concat(mut parts: Vec<Expr>) -> Self {
        match parts.len() {
            0 => Self::leaf(Kind::Empty),
            1 => parts.remove(0),
            _ => {
                let mut flat = Vec::with_capacity(parts.len());
                for part in parts {
                    match part.kind {
                        Kind::Concat(inner) => flat.extend(inner),
                        _ => flat.push(part),
                    }
                }
                Self::of_parts(flat, Kind::Concat)
            }
        }
    }

    /// The first of the parts that matches. Neighbours that are one character each become one class.
    pub fn alternate(parts: Vec<Expr>) -> Self {
        let mut flat: Vec<Expr> = Vec::with_capacity(parts.len());
        let mut merging: Option<RuneSet> = None;
        let flush = |flat: &mut Vec<Expr>, merging: &mut Option<RuneSet>| {
            if let Some(mut set) = merging.take() {
                set.tidy();
                flat.pop();
                flat.push(Self::class(set));
            }
        };
        let nested = parts.into_iter().flat_map(|part| match part.kind {
            Kind::Alternate(inner) => inner,
            _ => vec![part],
        });
        for part in nested {
            match (part.as_set(), flat.last().and_then(Expr::as_set)) {
                (Some(set), Some(before)) => merging.get_or_insert(before).add_all(&set),
                _ => {
                    flush(&mut flat, &mut merging);
                    flat.push(part);
                }
            }
        }
        flush(&mut flat, &mut merging);
        match flat.len() {
            1 => flat.remove(0),
            _ => Self::of_parts(flat, Kind::Alternate),
        }
    }

    /// The characters, if it matches exactly one character.
    fn as_set(&self) -> Option<RuneSet> {
        match &self.kind {
            Kind::Class(set) => Some(set.clone()),
            Kind::Literal { runes, fold } => match runes[..] {
                [rune] => {
                    let set = RuneSet::from_ranges([(rune, rune)]);
                    Some(if *fold { set.folded() } else { set })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

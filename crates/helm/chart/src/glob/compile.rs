//! From the tree of a pattern to its matcher.

use super::SEPARATOR;
use super::ast::Ast;
use super::matcher::{Matcher, Tree};

/// Compiles a sequence.
pub(super) fn compile(sequence: &[Ast]) -> Matcher {
    let mut compiler = Compiler { trees: 0 };
    compiler.sequence(sequence)
}

struct Compiler {
    trees: u32,
}

impl Compiler {
    fn part(&mut self, ast: &Ast) -> Matcher {
        match ast {
            Ast::Text(text) => Matcher::text(text),
            Ast::Any => Matcher::Any,
            Ast::Super => Matcher::Super,
            Ast::Single => Matcher::Single,
            Ast::List { not: false, chars } if chars.len() == 1 => Matcher::text(&String::from_iter(chars)),
            Ast::List { not, chars } => Matcher::List { not: *not, chars: chars.clone() },
            Ast::Range { not, lo, hi } => Matcher::Range { not: *not, lo: *lo, hi: *hi },
            Ast::Sequence(parts) => self.sequence(parts),
            Ast::AnyOf(alternatives) => match factored(alternatives) {
                Some(parts) => self.sequence(&parts),
                None => {
                    let mut all: Vec<_> = alternatives.iter().map(|a| self.sequence(a)).collect();
                    if all.len() == 1 { all.remove(0) } else { Matcher::AnyOf(all) }
                }
            },
        }
    }

    fn sequence(&mut self, parts: &[Ast]) -> Matcher {
        if parts.is_empty() {
            return Matcher::Nothing;
        }
        let matchers = parts.iter().map(|part| self.part(part)).collect();
        let matcher = self.join(glue_longest(matchers));
        specialise(matcher)
    }

    /// Makes one matcher of several: the longest one of fixed length is searched for, and what stands on its two
    /// sides is compared with what is left of and right of it.
    fn join(&mut self, mut matchers: Vec<Matcher>) -> Matcher {
        if matchers.len() == 1 {
            return matchers.remove(0);
        }
        if let Some(one) = glue(&matchers) {
            return one;
        }
        let fixed = matchers.iter().enumerate().filter_map(|(at, m)| m.runes().map(|runes| (runes, at)));
        let at = fixed.max().map_or(0, |(_, at)| at);
        let right = matchers.split_off(at + 1);
        let value = matchers.pop().unwrap_or(Matcher::Nothing);
        let left = (!matchers.is_empty()).then(|| self.join(matchers));
        let right = (!right.is_empty()).then(|| self.join(right));
        self.trees += 1;
        Matcher::Tree(Box::new(Tree::new(self.trees, value, left, right)))
    }
}

/// Replaces runs of matchers that can be one matcher, the longest run first, until there is none.
fn glue_longest(mut matchers: Vec<Matcher>) -> Vec<Matcher> {
    loop {
        let count = matchers.len();
        let mut best: Option<(Matcher, usize, usize)> = None;
        for left in 0..count {
            for right in (left + 2..=count).rev() {
                let Some(glued) = matchers.get(left..right).and_then(glue) else { continue };
                let better = match &best {
                    None => true,
                    Some((done, from, to)) => {
                        let longer = matches!((done.runes(), glued.runes()), (Some(a), Some(b)) if b > a);
                        longer || to - from < right - left
                    }
                };
                if better {
                    best = Some((glued, left, right));
                }
            }
        }
        match best {
            Some((glued, left, right)) => drop(matchers.splice(left..right, [glued])),
            None => return matchers,
        }
    }
}

fn glue(matchers: &[Matcher]) -> Option<Matcher> {
    if matchers.len() < 2 { None } else { glue_by_count(matchers).or_else(|| glue_row(matchers)) }
}

/// Matchers of fixed length become one row.
fn glue_row(matchers: &[Matcher]) -> Option<Matcher> {
    let runes = matchers.iter().map(Matcher::runes).sum::<Option<usize>>()?;
    Some(Matcher::Row { runes, matchers: matchers.to_vec() })
}

/// Wildcards that exclude the same characters become limits on the number of characters.
fn glue_by_count(matchers: &[Matcher]) -> Option<Matcher> {
    let separator = [SEPARATOR];
    let (mut any, mut all, mut min) = (false, false, 0usize);
    let mut excluded: Option<&[char]> = None;
    for matcher in matchers {
        let excludes: &[char] = match matcher {
            Matcher::Super => {
                all = true;
                &[]
            }
            Matcher::Any => {
                any = true;
                &separator
            }
            Matcher::Single => {
                min += 1;
                &separator
            }
            Matcher::List { not: true, chars } => {
                min += 1;
                chars
            }
            _ => return None,
        };
        if **excluded.get_or_insert(excludes) != *excludes {
            return None;
        }
    }
    let excluded = excluded.unwrap_or_default();
    if min == 0 && any != all {
        return Some(if all { Matcher::Super } else { Matcher::Any });
    }
    if (any || all) && min > 0 && excluded.is_empty() {
        return Some(Matcher::Min(min));
    }
    let mut every = Vec::new();
    if min > 0 {
        every.push(Matcher::Min(min));
        if !any && !all {
            every.push(Matcher::Max(min));
        }
    }
    if !excluded.is_empty() {
        // As one text: a run of negated lists excludes the characters only when they stand together.
        every.push(Matcher::Contains { not: true, needle: String::from_iter(excluded).into_bytes() });
    }
    Some(Matcher::EveryOf(every))
}

/// Gives the frequent shapes of a tree a matcher of their own.
fn specialise(matcher: Matcher) -> Matcher {
    let Matcher::Tree(mut tree) = matcher else { return matcher };
    tree.left = tree.left.take().map(specialise);
    tree.right = tree.right.take().map(specialise);
    let Matcher::Text { bytes, .. } = &tree.value else { return Matcher::Tree(tree) };
    let text = bytes.clone();
    match (&tree.left, &tree.right) {
        (Some(Matcher::Super), Some(Matcher::Super)) => Matcher::Contains { not: false, needle: text },
        (Some(Matcher::Super), None) => Matcher::Suffix(text),
        (None, Some(Matcher::Super)) => Matcher::Prefix(text),
        (None, Some(Matcher::Suffix(suffix))) => {
            Matcher::PrefixSuffix { prefix: text, suffix: suffix.clone() }
        }
        (Some(Matcher::Prefix(prefix)), None) => {
            Matcher::PrefixSuffix { prefix: prefix.clone(), suffix: text }
        }
        (Some(Matcher::Any), None) => Matcher::SuffixAny(text),
        (None, Some(Matcher::Any)) => Matcher::PrefixAny(text),
        _ => Matcher::Tree(tree),
    }
}

/// Alternatives that begin or end alike become `common {rest,…} common`.
fn factored(alternatives: &[Vec<Ast>]) -> Option<Vec<Ast>> {
    let (left, right) = common_ends(alternatives);
    if left == 0 && right == 0 {
        return None;
    }
    let mut rests: Vec<Vec<Ast>> = Vec::new();
    for alternative in alternatives {
        let rest = alternative.get(left..alternative.len() - right).unwrap_or_default();
        if !rests.iter().any(|known| known == rest) {
            rests.push(rest.to_vec());
        }
    }
    let first = alternatives.first()?;
    let mut parts = Vec::new();
    if left > 0 {
        parts.push(Ast::Sequence(first.get(..left)?.to_vec()));
    }
    if rests.len() > 1 {
        parts.push(Ast::AnyOf(rests));
    } else if let Some(rest) = rests.pop().filter(|rest| !rest.is_empty()) {
        parts.push(Ast::Sequence(rest));
    }
    if right > 0 {
        parts.push(Ast::Sequence(first.get(first.len() - right..)?.to_vec()));
    }
    Some(parts)
}

/// How many parts all alternatives share at their start and at their end. Both ends are walked at the same time,
/// and where the walks meet the start wins.
fn common_ends(alternatives: &[Vec<Ast>]) -> (usize, usize) {
    let Some(shortest) = alternatives.iter().min_by_key(|a| a.len()) else { return (0, 0) };
    let others: Vec<_> = alternatives.iter().filter(|a| !std::ptr::eq(*a, shortest)).collect();
    let Some(first) = others.first() else { return (0, 0) };
    let count = shortest.len();
    let same_end = |other: &[Ast], back: usize| {
        let of = |a: &[Ast]| a.len().checked_sub(back + 1);
        of(other).and_then(|at| other.get(at)) == of(shortest).and_then(|at| shortest.get(at))
    };
    let (mut left, mut right) = (0, 0);
    let (mut left_open, mut right_open) = (true, true);
    for step in 0..count {
        if left + right >= count || !(left_open || right_open) {
            break;
        }
        // The first comparison alone decides whether the walks have met.
        let met = left_open && first.get(step) == shortest.get(step) && count - 1 - step <= step;
        left_open = left_open && others.iter().all(|other| other.get(step) == shortest.get(step));
        right_open = right_open && !met && others.iter().all(|other| same_end(other, step));
        left += usize::from(left_open);
        right += usize::from(right_open);
    }
    (left, right)
}

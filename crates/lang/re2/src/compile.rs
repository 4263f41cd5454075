//! From the tree to an automaton.

use regex_automata::meta;
use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use crate::error::{Error, ErrorKind};
use crate::expr::{Expr, Kind, Place};
use crate::parse::Parsed;
use crate::set::RuneSet;

/// Memory of one automaton; a pattern has up to three.
const AUTOMATON_LIMIT: usize = 64 << 20;
/// Places that a search remembers: one per group end and state.
const SLOT_LIMIT: u64 = 16 << 20;

/// Builds the searcher of a parsed pattern.
pub(crate) fn compile(pattern: &[u8], parsed: &Parsed) -> Result<meta::Regex, Error> {
    let too_large = || Error::new(ErrorKind::Large, pattern);
    if parsed.expr.cost.saturating_mul(parsed.names.len() as u64 * 2) > SLOT_LIMIT {
        return Err(too_large());
    }
    let config = meta::Config::new().utf8_empty(true).nfa_size_limit(Some(AUTOMATON_LIMIT));
    meta::Builder::new().configure(config).build_from_hir(&hir(&parsed.expr)).map_err(|_| too_large())
}

/// The tree in the form that the automaton is built from. The parser has limited the depth.
fn hir(expr: &Expr) -> Hir {
    match &expr.kind {
        Kind::Empty => Hir::empty(),
        Kind::Literal { runes, fold: true } => {
            Hir::concat(runes.iter().map(|r| class(&RuneSet::from_ranges([(*r, *r)]).folded())).collect())
        }
        Kind::Literal { runes, fold: false } => {
            // A surrogate is in no text.
            let text: Option<String> = runes.iter().map(|r| char::from_u32(*r)).collect();
            text.map_or_else(Hir::fail, |text| Hir::literal(text.into_bytes()))
        }
        Kind::Class(set) => class(set),
        Kind::Place(place) => Hir::look(match place {
            Place::TextStart => Look::Start,
            Place::TextEnd => Look::End,
            Place::LineStart => Look::StartLF,
            Place::LineEnd => Look::EndLF,
            Place::WordBoundary => Look::WordAscii,
            Place::NotWordBoundary => Look::WordAsciiNegate,
        }),
        Kind::Group { index, sub } => {
            Hir::capture(Capture { index: *index, name: None, sub: Box::new(hir(sub)) })
        }
        Kind::Repeat { min, max, greedy, sub } => {
            Hir::repetition(Repetition { min: *min, max: *max, greedy: *greedy, sub: Box::new(hir(sub)) })
        }
        Kind::Concat(parts) => Hir::concat(parts.iter().map(hir).collect()),
        Kind::Alternate(parts) => alternation(parts.iter().map(hir).collect()),
    }
}

/// The first of the alternatives that matches.
///
/// `Hir` takes out a prefix that all alternatives share, even one that can match in several ways, and so changes which
/// way is tried first: `a?b|a?c` becomes `a?(b|c)`. An alternative that never matches keeps it from doing so.
fn alternation(mut parts: Vec<Hir>) -> Hir {
    if shares_choice(&parts) {
        parts.push(Hir::fail());
    }
    Hir::alternation(parts)
}

/// Whether all alternatives start with the same parts and one of those can match in several ways.
fn shares_choice(alternatives: &[Hir]) -> bool {
    let mut shared: Option<&[Hir]> = None;
    for alternative in alternatives {
        let HirKind::Concat(parts) = alternative.kind() else { return false };
        let before = shared.unwrap_or(parts);
        let same = before.iter().zip(parts).take_while(|(a, b)| a == b).count();
        shared = before.get(..same);
    }
    let fixed =
        |part: &Hir| matches!(part.kind(), HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_));
    !shared.unwrap_or_default().iter().all(fixed)
}

fn class(set: &RuneSet) -> Hir {
    const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
    let halves = set
        .ranges()
        .iter()
        .flat_map(|&(lo, hi)| [(lo, hi.min(SURROGATES.0 - 1)), (lo.max(SURROGATES.1 + 1), hi)]);
    let ranges = halves
        .filter(|(lo, hi)| lo <= hi)
        .filter_map(|(lo, hi)| Some(ClassUnicodeRange::new(char::from_u32(lo)?, char::from_u32(hi)?)));
    Hir::class(Class::Unicode(ClassUnicode::new(ranges)))
}

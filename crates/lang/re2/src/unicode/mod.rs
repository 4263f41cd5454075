//! What patterns and templates need to know of Unicode, in the version that Go has.

mod categories;
mod folds;
mod scripts;

use crate::set::{MAX_RUNE, RuneSet};
use categories::{CATEGORY_NAMES, CATEGORY_RUNS};
use folds::FOLDS;
use scripts::{SCRIPT_NAMES, SCRIPT_RUNS};

/// Long names of categories (canonical) and the prefix of the short names that each stands for.
static ALIASES: [(&str, &str); 42] = [
    ("Casedletter", "LC"),
    ("Closepunctuation", "Pe"),
    ("Cntrl", "Cc"),
    ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"),
    ("Currencysymbol", "Sc"),
    ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"),
    ("Digit", "Nd"),
    ("Enclosingmark", "Me"),
    ("Finalpunctuation", "Pf"),
    ("Format", "Cf"),
    ("Initialpunctuation", "Pi"),
    ("Letter", "L"),
    ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"),
    ("Lowercaseletter", "Ll"),
    ("Mark", "M"),
    ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"),
    ("Modifiersymbol", "Sk"),
    ("Nonspacingmark", "Mn"),
    ("Number", "N"),
    ("Openpunctuation", "Ps"),
    ("Other", "C"),
    ("Otherletter", "Lo"),
    ("Othernumber", "No"),
    ("Otherpunctuation", "Po"),
    ("Othersymbol", "So"),
    ("Paragraphseparator", "Zp"),
    ("Privateuse", "Co"),
    ("Punct", "P"),
    ("Punctuation", "P"),
    ("Separator", "Z"),
    ("Spaceseparator", "Zs"),
    ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"),
    ("Symbol", "S"),
    ("Titlecaseletter", "Lt"),
    ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
];

/// The name as the tables spell it: first letter large, the others small, no separators.
fn canonical(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')) {
        out.push(if out.is_empty() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
    }
    out
}

/// The code points of a run table whose kind passes.
fn select(runs: &[u32], pick: impl Fn(usize) -> bool) -> RuneSet {
    let ends = runs.iter().skip(1).map(|next| (next >> 8) - 1).chain([MAX_RUNE]);
    let ranges = runs.iter().zip(ends).filter(|(run, _)| pick((**run & 0xFF) as usize));
    RuneSet::from_ranges(ranges.map(|(run, end)| (run >> 8, end)))
}

fn category(short: &str) -> Option<RuneSet> {
    let fits = |name: &str| match short {
        "LC" => matches!(name, "Ll" | "Lt" | "Lu"),
        _ => name.starts_with(short),
    };
    let mut picked = [false; CATEGORY_NAMES.len()];
    for (slot, name) in picked.iter_mut().zip(CATEGORY_NAMES) {
        *slot = !short.is_empty() && fits(name);
    }
    picked.contains(&true).then(|| select(&CATEGORY_RUNS, |kind| picked.get(kind).is_some_and(|p| *p)))
}

/// The class of `\p{name}`, with both cases of its members if `fold` is set.
pub(crate) fn class(name: &str, fold: bool) -> Option<RuneSet> {
    let name = canonical(name);
    // Go has no table for the other cases of LC.
    let fold = fold && !matches!(name.as_str(), "Lc" | "Casedletter");
    let set = match name.as_str() {
        "" => None,
        "Any" => Some(RuneSet::any()),
        "Assigned" => category("Cn").map(|set| set.negated()),
        "Ascii" => Some(RuneSet::from_ranges([(0, 0x7F)])),
        "Lc" => category("LC"),
        name => category(name).or_else(|| script(name)).or_else(|| alias(name)),
    };
    set.map(|set| if fold { set.folded() } else { set })
}

fn script(name: &str) -> Option<RuneSet> {
    let script = SCRIPT_NAMES.iter().position(|known| *known == name)?;
    Some(select(&SCRIPT_RUNS, |kind| kind == script))
}

fn alias(name: &str) -> Option<RuneSet> {
    let at = ALIASES.binary_search_by(|(long, _)| (*long).cmp(name)).ok()?;
    ALIASES.get(at).and_then(|(_, short)| category(short))
}

/// The next code point that is equal but for case; the last one leads back to the first.
fn next_fold(c: u32) -> u32 {
    // Two runs can interleave (capitals and small letters that alternate), never more.
    let after = FOLDS.partition_point(|(lo, ..)| *lo <= c);
    let near = FOLDS.get(after.saturating_sub(2)..after).unwrap_or_default();
    let hit = near.iter().find(|(lo, hi, step, _)| c <= *hi && (c - lo).is_multiple_of(u32::from(*step)));
    hit.map_or(c, |(.., delta)| c.wrapping_add_signed(*delta))
}

/// Hands over every code point that differs only by case from one of `lo..=hi`.
pub(crate) fn fold_range(lo: u32, hi: u32, mut found: impl FnMut(u32)) {
    let first = FOLDS.partition_point(|(start, ..)| *start <= lo).saturating_sub(2);
    for &(start, end, step, _) in FOLDS.get(first..).unwrap_or_default() {
        if start > hi {
            break;
        }
        let step = u32::from(step);
        let skip = lo.saturating_sub(start).div_ceil(step);
        for c in (start + skip * step..=end.min(hi)).step_by(step as usize) {
            let mut equal = next_fold(c);
            while equal != c {
                found(equal);
                equal = next_fold(equal);
            }
        }
    }
}

fn category_of(c: char) -> &'static str {
    let after = CATEGORY_RUNS.partition_point(|run| run >> 8 <= u32::from(c));
    let run = CATEGORY_RUNS.get(after.saturating_sub(1)).copied().unwrap_or_default();
    CATEGORY_NAMES.get((run & 0xFF) as usize).copied().unwrap_or_default()
}

/// Whether Go's `unicode.IsLetter` or `unicode.IsDigit` says yes.
pub(crate) fn is_letter_or_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let category = category_of(c);
    category.starts_with('L') || category == "Nd"
}

/// Whether Go's `strconv.IsPrint` says yes: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    matches!(category_of(c).as_bytes().first(), Some(b'L' | b'M' | b'N' | b'P' | b'S'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_sorted_and_lead_somewhere() {
        assert!(ALIASES.is_sorted());
        for (long, short) in ALIASES {
            assert!(category(short).is_some(), "{long}");
        }
    }

    #[test]
    fn what_has_no_shape_of_its_own_is_not_printed() {
        let printed: String = "a é\u{a0}\u{ad}\u{2028}\u{e000}\u{378}\u{1F600}\u{7f}\u{301}"
            .chars()
            .filter(|c| is_print(*c))
            .collect();
        assert_eq!(printed, "a é\u{1F600}\u{301}");
    }

    #[test]
    fn every_fold_chain_comes_back() {
        for (lo, hi, step, _) in FOLDS {
            for c in (lo..=hi).step_by(step as usize) {
                let mut equal = next_fold(c);
                assert_ne!(equal, c, "{c:x}");
                let mut steps = 0;
                while equal != c {
                    equal = next_fold(equal);
                    steps += 1;
                    assert!(steps < 4, "{c:x}");
                }
            }
        }
    }
}

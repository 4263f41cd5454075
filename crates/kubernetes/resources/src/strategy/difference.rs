//! The lines in which two texts differ, with three lines around them: the form that `diff -u` has, without names of files.
//!
//! Which lines are the same is found as Python's difflib finds them, because the server's answers have that form.

use std::collections::HashMap;

const AROUND: usize = 3;
/// From so many lines on, lines that are everywhere are not looked for.
const LONG: usize = 200;

/// What becomes of lines `a` to `b` of the old text: lines `c` to `d` of the new one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Step {
    same: bool,
    old: (usize, usize),
    new: (usize, usize),
}

/// The difference of two texts; empty if there is none.
pub fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for group in groups(steps(&old, &new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |start: usize, end: usize| match end - start {
            1 => format!("{}", start + 1),
            0 => format!("{start},0"),
            count => format!("{},{count}", start + 1),
        };
        out.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(first.old.0, last.old.1),
            range(first.new.0, last.new.1)
        ));
        let mut lines = |mark: char, list: &[&str], (start, end): (usize, usize)| {
            for line in list.get(start..end).unwrap_or_default() {
                out.push(mark);
                out.push_str(line);
                out.push('\n');
            }
        };
        for step in group {
            if step.same {
                lines(' ', &old, step.old);
            } else {
                lines('-', &old, step.old);
                lines('+', &new, step.new);
            }
        }
    }
    out
}

fn groups(mut steps: Vec<Step>) -> Vec<Vec<Step>> {
    if let Some(first) = steps.first_mut().filter(|step| step.same) {
        first.old.0 = first.old.0.max(first.old.1.saturating_sub(AROUND));
        first.new.0 = first.new.0.max(first.new.1.saturating_sub(AROUND));
    }
    if let Some(last) = steps.last_mut().filter(|step| step.same) {
        last.old.1 = last.old.1.min(last.old.0 + AROUND);
        last.new.1 = last.new.1.min(last.new.0 + AROUND);
    }
    let (mut out, mut group) = (Vec::new(), Vec::new());
    for mut step in steps {
        if step.same && step.old.1 - step.old.0 > 2 * AROUND {
            let mut end = step;
            end.old.1 = end.old.0 + AROUND;
            end.new.1 = end.new.0 + AROUND;
            group.push(end);
            out.push(std::mem::take(&mut group));
            step.old.0 = step.old.1 - AROUND;
            step.new.0 = step.new.1 - AROUND;
        }
        group.push(step);
    }
    if group.iter().any(|step| !step.same) {
        out.push(group);
    }
    out
}

fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    for (a, b, size) in blocks(old, new) {
        if i < a || j < b {
            out.push(Step { same: false, old: (i, a), new: (j, b) });
        }
        (i, j) = (a + size, b + size);
        if size > 0 {
            out.push(Step { same: true, old: (a, i), new: (b, j) });
        }
    }
    out
}

/// The stretches that are the same, from the first to the last, and an empty one at the end.
fn blocks(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= LONG {
        let most = new.len() / 100 + 1;
        places.retain(|_, list| list.len() <= most);
    }
    let mut found = Vec::new();
    let mut open = vec![(0, old.len(), 0, new.len())];
    while let Some((low, high, from, to)) = open.pop() {
        let (a, b, size) = longest(old, new, &places, (low, high, from, to));
        if size > 0 {
            found.push((a, b, size));
            open.push((low, a, from, b));
            open.push((a + size, high, b + size, to));
        }
    }
    found.sort_unstable();
    let mut out: Vec<(usize, usize, usize)> = Vec::new();
    for (a, b, size) in found {
        match out.last_mut() {
            Some(last) if last.0 + last.2 == a && last.1 + last.2 == b => last.2 += size,
            _ => out.push((a, b, size)),
        }
    }
    out.push((old.len(), new.len(), 0));
    out
}

fn longest(
    old: &[&str],
    new: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (low, high, from, to): (usize, usize, usize, usize),
) -> (usize, usize, usize) {
    let (mut a, mut b, mut size) = (low, from, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (at, line) in old.iter().enumerate().take(high).skip(low) {
        let mut next: HashMap<usize, usize> = HashMap::new();
        for place in places.get(line).into_iter().flatten().filter(|place| (from..to).contains(*place)) {
            let before = place.checked_sub(1).and_then(|place| lengths.get(&place)).copied().unwrap_or(0);
            next.insert(*place, before + 1);
            if before + 1 > size {
                (a, b, size) = (at - before, place - before, before + 1);
            }
        }
        lengths = next;
    }
    while a > low && b > from && old.get(a - 1) == new.get(b - 1) {
        (a, b, size) = (a - 1, b - 1, size + 1);
    }
    while a + size < high && b + size < to && old.get(a + size) == new.get(b + size) {
        size += 1;
    }
    (a, b, size)
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn lines_that_differ_are_shown_with_those_around_them() {
        assert_eq!(unified("a\nb", "a\nb"), "");
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        let new = "1\n2\n3\n4\nx\n6\n7\n8\n9";
        let expected = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n";
        assert_eq!(unified(old, new), expected);
    }
}

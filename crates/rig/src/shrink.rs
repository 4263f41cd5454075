//! Makes a differing case small: whatever can go without the difference going, goes.

use crate::compare::{Difference, PATIENT, Verdict, judge};
use crate::request::RenderRequest;
use crate::subject::Subject;

/// How many renders a difference is worth.
const BUDGET: usize = 600;

/// A smaller case that still differs.
pub fn shrink(difference: &Difference, original: &dyn Subject, subject: &dyn Subject) -> Difference {
    let mut best = difference.clone();
    let mut budget = BUDGET;
    let mut still = |request: RenderRequest, best: &mut Difference| -> bool {
        if budget == 0 {
            return false;
        }
        budget -= 1;
        let theirs = original.render(&request);
        let ours = subject.render(&request);
        // Trading one difference for a crash of the original would lose the finding.
        if matches!(theirs, crate::request::Outcome::Crash(_)) {
            return false;
        }
        // A text that turned into a syntax error for both with different words is another finding.
        if theirs.is_error() != best.original.is_error() || ours.is_error() != best.subject.is_error() {
            return false;
        }
        match judge(best.case.check, &request, original, theirs, &ours, PATIENT) {
            Verdict::Differs(original) => {
                best.case.request = request;
                best.original = original;
                best.subject = ours;
                true
            }
            _ => false,
        }
    };

    drop_fields(&mut best, &mut still);
    loop {
        let before = best.case.request.clone();
        for index in 0..best.case.request.files.len() {
            shrink_text(&mut best, &mut still, &|request| request.files.get_mut(index).map(|f| &mut f.data));
        }
        for index in 0..best.case.request.side.len() {
            shrink_text(&mut best, &mut still, &|request| request.side.get_mut(index).map(|f| &mut f.data));
        }
        if best.case.request == before {
            return best;
        }
    }
}

type Still<'a> = dyn FnMut(RenderRequest, &mut Difference) -> bool + 'a;

/// Tries without each file and each list of flags.
fn drop_fields(best: &mut Difference, still: &mut Still<'_>) {
    let mut index = 0;
    while index < best.case.request.files.len() {
        let mut request = best.case.request.clone();
        request.files.remove(index);
        if !still(request, best) {
            index += 1;
        }
    }
    let clear: [fn(&mut RenderRequest); 6] = [
        |r| r.set.clear(),
        |r| r.set_string.clear(),
        |r| r.set_json.clear(),
        |r| r.values.clear(),
        |r| r.api_versions.clear(),
        |r| r.upgrade = false,
    ];
    for change in clear {
        let mut request = best.case.request.clone();
        change(&mut request);
        if request != best.case.request {
            still(request, best);
        }
    }
}

/// Removes halves, quarters and so on of a text, down to single letters.
fn shrink_text(
    best: &mut Difference,
    still: &mut Still<'_>,
    select: &dyn Fn(&mut RenderRequest) -> Option<&mut Vec<u8>>,
) {
    let length = |best: &mut Difference| select(&mut best.case.request).map_or(0, |data| data.len());
    let mut size = length(best).div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < length(best) {
            let mut request = best.case.request.clone();
            let Some(data) = select(&mut request) else { return };
            data.drain(at..(at + size).min(data.len()));
            if !still(request, best) {
                at += size;
            }
        }
        size /= 2;
    }
}

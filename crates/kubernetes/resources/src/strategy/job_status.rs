//! What the status of a job may say.

use serde_json::Value;

use super::jobs::{INDEXED, has_condition};
use super::place::{Flaws, IMMUTABLE, Place};

pub fn job_status(object: &Place<'_>, out: &mut Flaws) {
    let status = object.at("status");
    for key in ["active", "succeeded", "failed", "ready", "terminating"] {
        out.not_negative(&status.at(key));
    }
    let mut seen: Vec<&str> = Vec::new();
    for list in ["succeeded", "failed"] {
        for uid in status.at("uncountedTerminatedPods").each(list) {
            if uid.text().is_empty() {
                out.invalid_text(&uid, "must not be empty");
            } else if seen.contains(&uid.text()) {
                out.duplicate(&uid);
            } else {
                seen.push(uid.text());
            }
        }
    }
}

/// What is said of pods by their numbers, and of those that are not counted yet.
fn indexes(new: &Place<'_>, old: &Place<'_>, (ended, finished): (bool, bool), out: &mut Flaws) {
    let (status, was) = (new.at("status"), old.at("status"));
    let changed = |key: &str| status.at(key).value != was.at(key).value;
    let uncounted = status.at("uncountedTerminatedPods");
    let left = uncounted.each("succeeded").len() + uncounted.each("failed").len();
    if (ended || changed("uncountedTerminatedPods")) && finished && left > 0 {
        out.invalid(&uncounted, "must be empty for finished job");
    }
    let spec = new.at("spec");
    let most = spec.has("completions").then(|| spec.at("completions").number());
    let (completed, failed) = (status.at("completedIndexes"), status.at("failedIndexes"));
    let per_index = spec.has("backoffLimitPerIndex");
    if let Some(most) = most {
        if let Some(why) = order_of(completed.text(), most).filter(|_| changed("completedIndexes")) {
            out.invalid_text(&completed, &format!("error parsing completedIndexes: {why}"));
        }
        if let Some(why) = order_of(failed.text(), most).filter(|_| per_index && changed("failedIndexes")) {
            out.invalid_text(&failed, &format!("error parsing failedIndexes: {why}"));
        }
    }
    let indexed = spec.at("completionMode").text() == INDEXED;
    if changed("completedIndexes") && !completed.text().is_empty() && !indexed {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        out.invalid_text(&completed, detail);
    }
    if changed("failedIndexes") && failed.is() && !per_index {
        out.invalid_text(&failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if let Some(most) = most
        && (changed("failedIndexes") || changed("completedIndexes"))
        && let Some(at) = common(completed.text(), failed.text(), most)
    {
        out.invalid_text(&failed, &format!("failedIndexes and completedIndexes overlap at index: {at}"));
    }
}

/// A number, or two with a dash between them, both below a limit.
fn interval(text: &str, most: i64) -> Result<(i64, i64), String> {
    let mut ends = text.split('-');
    let (first, last) = (ends.next().unwrap_or_default(), ends.next());
    if ends.next().is_some() {
        return Err(format!(
            "the fragment {text:?} violates the requirement that an index interval can have at most two parts \
             separated by '-'"
        ));
    }
    let number = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(number) if number >= most => Err(format!("too large index: {text:?}")),
        Ok(number) => Ok(number),
    };
    let first = number(first)?;
    let Some(last) = last else { return Ok((first, first)) };
    let last = number(last)?;
    if first >= last {
        return Err(format!("non-increasing order, previous: {first}, current: {last}"));
    }
    Ok((first, last))
}

/// Why a list of intervals is none.
fn order_of(text: &str, most: i64) -> Option<String> {
    let mut before: Option<i64> = None;
    for part in text.split(',').filter(|_| !text.is_empty()) {
        match (interval(part, most), before) {
            (Err(why), _) => return Some(why),
            (Ok((first, _)), Some(before)) if before >= first => {
                return Some(format!("non-increasing order, previous: {before}, current: {first}"));
            }
            (Ok((_, last)), _) => before = Some(last),
        }
    }
    None
}

/// The first number that two lists of intervals have in common.
fn common(completed: &str, failed: &str, most: i64) -> Option<i64> {
    let all = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|part| interval(part, most).ok()).collect()
    };
    let (completed, failed) = (all(completed), all(failed));
    let (mut one, mut other) = (completed.iter().peekable(), failed.iter().peekable());
    while let (Some((c, d)), Some((f, g))) = (one.peek(), other.peek()) {
        if c <= g && f <= d {
            return Some(*c.max(f));
        }
        if c <= f {
            one.next()
        } else {
            other.next()
        };
    }
    None
}

/// What a job's status may become.
pub fn job_status_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (status, was) = (new.at("status"), old.at("status"));
    let is = |kind: &str| has_condition(new, kind);
    let turned = |kind: &str| has_condition(new, kind) != has_condition(old, kind);
    let changed = |key: &str| status.at(key).value != was.at(key).value;
    let (complete, failed) = (is("Complete"), is("Failed"));
    let finished = complete || failed;
    let ended = finished != (has_condition(old, "Complete") || has_condition(old, "Failed"));
    let plain = |detail: &str, out: &mut Flaws| {
        let path = status.child("conditions");
        out.push(podium_meta::FieldError::without_value(podium_meta::ErrorType::Invalid, path, detail));
    };
    if (turned("Complete") || turned("Failed")) && complete && failed {
        plain("cannot set Complete=True and Failed=true conditions", out);
    }
    if (turned("Complete") || turned("FailureTarget")) && complete && is("FailureTarget") {
        plain("cannot set Complete=True and FailureTarget=true conditions", out);
    }
    let (start, end) = (status.at("startTime"), status.at("completionTime"));
    if turned("Complete") || changed("completionTime") {
        if end.is() && !complete {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            out.invalid(&end, detail);
        }
        if !end.is() && complete {
            out.required(&end, "completionTime is required for Complete jobs");
        }
    }
    if (changed("startTime") || changed("completionTime"))
        && start.is()
        && end.is()
        && end.text() < start.text()
    {
        out.invalid(&end, "must be equal to or after `startTime`");
    }
    if (turned("Failed") || changed("failedIndexes")) && failed && !is("FailureTarget") {
        plain("cannot set Failed=True condition without the FailureTarget=true condition", out);
    }
    if (turned("Complete") || turned("SuccessCriteriaMet")) && complete && !is("SuccessCriteriaMet") {
        plain("cannot set Complete=True condition without the SuccessCriteriaMet=true condition", out);
    }
    if (ended || changed("active")) && status.at("active").number() > 0 && finished {
        out.invalid_number(&status.at("active"), "active>0 is invalid for finished job");
    }
    let empty = new.at("spec.suspend").truth() && new.at("spec.completions").value == &Value::from(0);
    if (ended || changed("startTime")) && !empty && !start.is() && finished {
        out.required(&start, "startTime is required for finished job");
    }
    indexes(new, old, (ended, finished), out);
    if (ended || changed("terminating")) && status.at("terminating").number() > 0 && finished {
        out.invalid_number(&status.at("terminating"), "terminating>0 is invalid for finished job");
    }
    if (changed("ready") || changed("active")) && status.at("ready").number() > status.at("active").number() {
        out.invalid_number(&status.at("ready"), "cannot set more ready pods than active");
    }
    if is("SuccessCriteriaMet") && failed {
        plain("cannot set SuccessCriteriaMet=True and Failed=true conditions", out);
    }
    if is("SuccessCriteriaMet") && is("FailureTarget") {
        plain("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions", out);
    }
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if has_condition(old, kind) && !is(kind) {
            plain(&format!("cannot disable the terminal {kind}=True condition"), out);
        }
    }
    if status.at("failed").number() < was.at("failed").number() {
        out.invalid_number(&status.at("failed"), "cannot decrease the failed counter");
    }
    let indexed = new.at("spec.completionMode").text() == INDEXED;
    let scaled = indexed && new.at("spec.completions").value == new.at("spec.parallelism").value;
    if !scaled && status.at("succeeded").number() < was.at("succeeded").number() {
        out.invalid_number(&status.at("succeeded"), "cannot decrease the succeeded counter");
    }
    if end.is() && was.has("completionTime") && changed("completionTime") {
        out.invalid(&end, IMMUTABLE);
    }
    let resumes = has_condition(old, "Suspended")
        && new
            .each("status.conditions")
            .iter()
            .any(|one| one.at("type").text() == "Suspended" && one.at("status").text() == "False");
    if changed("startTime") && !resumes && was.has("startTime") && !new.at("spec.suspend").truth() {
        out.invalid(&start, "field is immutable for unsuspended job once set");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_pods_grow_and_are_not_shared() {
        assert_eq!(order_of("0-2,4", 5), None);
        assert_eq!(order_of("", 5), None);
        assert_eq!(order_of("x", 5).unwrap(), "cannot convert string to integer for index: \"x\"");
        assert_eq!(order_of("2,1", 5).unwrap(), "non-increasing order, previous: 2, current: 1");
        assert_eq!(order_of("7", 5).unwrap(), "too large index: \"7\"");
        assert_eq!(common("0-2,4", "1,3", 5), Some(1));
        assert_eq!(common("0,2", "1,3", 5), None);
    }
}

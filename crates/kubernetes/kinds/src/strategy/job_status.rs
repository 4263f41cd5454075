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
        out.push(podium_objects::Flaw::plain(podium_objects::Wrong::Invalid, path, detail));
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

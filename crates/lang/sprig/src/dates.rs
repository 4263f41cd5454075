//! Dates and durations.

use std::cell::RefCell;

use podium_gotmpl::types::{ANY, STRING};
use podium_gotmpl::{Ctx, Error, Func, Value};

use crate::args::{Outcome, any, func, string, text};
use crate::gotime::{self, Arg, Clock, Location, Time};
use crate::times::{TIME, as_duration, as_time, duration, time, time_of};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("now", &[], |cx, _| Ok(time(clock(cx).now))),
    func("ago", &[&ANY], |cx, a| string(gotime::ago(&clock(cx), arg(any(a, 0))))),
    func("date", &[&STRING, &ANY], |cx, a| {
        cx.heap.charge(text(a, 0).len())?;
        string(gotime::date(&clock(cx), text(a, 0), arg(any(a, 1))))
    }),
    func("dateInZone", &[&STRING, &ANY, &STRING], date_in_zone),
    func("date_in_zone", &[&STRING, &ANY, &STRING], date_in_zone),
    func("htmlDate", &[&ANY], |cx, a| string(gotime::html_date(&clock(cx), arg(any(a, 0))))),
    func("htmlDateInZone", &[&ANY, &STRING], |cx, a| {
        string(gotime::html_date_in_zone(&clock(cx), arg(any(a, 0)), text(a, 1)))
    }),
    func("dateModify", &[&STRING, &TIME], date_modify),
    func("date_modify", &[&STRING, &TIME], date_modify),
    func("mustDateModify", &[&STRING, &TIME], must_date_modify),
    func("must_date_modify", &[&STRING, &TIME], must_date_modify),
    func("duration", &[&ANY], |_, a| string(gotime::duration(arg(any(a, 0))))),
    func("durationRound", &[&ANY], |cx, a| string(gotime::duration_round(&clock(cx), arg(any(a, 0))))),
    func("toDate", &[&STRING, &STRING], |cx, a| {
        Ok(time(gotime::to_date(&clock(cx), text(a, 0), text(a, 1))))
    }),
    func("mustToDate", &[&STRING, &STRING], |cx, a| {
        let parsed = gotime::must_to_date(&clock(cx), text(a, 0), text(a, 1));
        Ok(time(parsed.map_err(|e| Error::new(e.to_string()))?))
    }),
    func("unixEpoch", &[&TIME], |_, a| string(gotime::unix_epoch(&time_of(any(a, 0))))),
];

/// The duration functions that Helm 4 added.
pub static DURATION_FUNCS: &[Func] = &[
    func("mustToDuration", &[&ANY], |_, a| {
        let parsed = gotime::must_to_duration(arg(any(a, 0)));
        Ok(duration(parsed.map_err(|e| Error::new(e.to_string()))?))
    }),
    func("durationSeconds", &[&ANY], |_, a| Ok(Value::Float(gotime::duration_seconds(arg(any(a, 0)))))),
    func("durationMilliseconds", &[&ANY], |_, a| {
        Ok(Value::Int64(gotime::duration_milliseconds(arg(any(a, 0)))))
    }),
    func("durationMicroseconds", &[&ANY], |_, a| {
        Ok(Value::Int64(gotime::duration_microseconds(arg(any(a, 0)))))
    }),
    func("durationNanoseconds", &[&ANY], |_, a| {
        Ok(Value::Int64(gotime::duration_nanoseconds(arg(any(a, 0)))))
    }),
    func("durationMinutes", &[&ANY], |_, a| Ok(Value::Float(gotime::duration_minutes(arg(any(a, 0)))))),
    func("durationHours", &[&ANY], |_, a| Ok(Value::Float(gotime::duration_hours(arg(any(a, 0)))))),
    func("durationDays", &[&ANY], |_, a| Ok(Value::Float(gotime::duration_days(arg(any(a, 0)))))),
    func("durationWeeks", &[&ANY], |_, a| Ok(Value::Float(gotime::duration_weeks(arg(any(a, 0)))))),
    func("durationRoundTo", &[&ANY, &ANY], |_, a| {
        Ok(duration(gotime::duration_round_to(arg(any(a, 0)), arg(any(a, 1)))))
    }),
    func("durationTruncateTo", &[&ANY, &ANY], |_, a| {
        Ok(duration(gotime::duration_truncate_to(arg(any(a, 0)), arg(any(a, 1)))))
    }),
];

fn date_in_zone<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    cx.heap.charge(text(args, 0).len())?;
    string(gotime::date_in_zone(&clock(cx), text(args, 0), arg(any(args, 1)), text(args, 2)))
}

fn date_modify<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    Ok(time(gotime::date_modify(text(args, 0), &time_of(any(args, 1)))))
}

fn must_date_modify<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let modified = gotime::must_date_modify(text(args, 0), &time_of(any(args, 1)));
    Ok(time(modified.map_err(|e| Error::new(e.to_string()))?))
}

fn clock(cx: &Ctx<'_>) -> Clock {
    let local = local_zone(cx);
    let (seconds, nanoseconds) = cx.world.now();
    Clock { now: Time::now(seconds, nanoseconds, 0, local.clone()), local }
}

thread_local! {
    /// The local zone by its name. Go has one such zone, and times in it are equal only because it is one.
    static LOCAL: RefCell<Option<(String, Location)>> = const { RefCell::new(None) };
}

/// The local zone.
pub(crate) fn local_zone(cx: &Ctx<'_>) -> Location {
    let name = cx.world.local_zone();
    LOCAL.with_borrow_mut(|kept| match kept {
        Some((known, zone)) if known == name => zone.clone(),
        _ => {
            let zone = Location::load(name).unwrap_or_default().local();
            *kept = Some((name.to_owned(), zone.clone()));
            zone
        }
    })
}

fn arg<'a>(value: &'a Value<'_>) -> Arg<'a> {
    match value {
        Value::Nil | Value::NilAny => Arg::Nil,
        Value::Int(i) => Arg::Int(*i),
        Value::Int32(i) => Arg::Int32(*i),
        Value::Int64(i) => Arg::Int64(*i),
        Value::Uint8(u) => Arg::Uint(u64::from(*u)),
        Value::Uint64(u) => Arg::Uint(*u),
        Value::Float(f) => Arg::Float(*f),
        Value::Str(s) => Arg::Str(s),
        other => match (as_time(other), as_duration(other), as_number(other)) {
            (Some(time), ..) => Arg::Time(time),
            (_, Some(duration), _) => Arg::Duration(duration),
            (.., Some(number)) => Arg::OtherInt(number),
            _ => Arg::Other(other.type_name()),
        },
    }
}

fn as_number(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Opaque(o) => match o.basic() {
            Some(Value::Int(i)) => Some(i),
            _ => None,
        },
        _ => None,
    }
}

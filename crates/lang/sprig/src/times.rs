//! Times, durations and their relatives as objects with methods.

use std::any::Any;
use std::rc::Rc;

use podium_gotmpl::types::{BYTES, INT, STRING};
use podium_gotmpl::{Ctx, Error, Func, Opaque, Shape, Type, Value};

use crate::args::{Outcome, any, func, int, refused, string, text};
use crate::dates::local_zone;
use crate::gotime::{Duration, Location, MONTHS, Time, TimeError, WEEKDAYS};

/// `time.Time`.
pub static TIME: Type = Type::defined("time.Time", Shape::Struct(&[]), TIME_METHODS);
/// `time.Duration`.
pub static DURATION: Type = Type::defined("time.Duration", Shape::Int(64), DURATION_METHODS);
/// `time.Month`.
static MONTH: Type = Type::defined("time.Month", Shape::Int(0), TEXT_METHODS);
/// `time.Weekday`.
static WEEKDAY: Type = Type::defined("time.Weekday", Shape::Int(0), TEXT_METHODS);
static PLACE: Type = Type::defined("time.Location", Shape::Struct(&[]), &[]);
static ZONE: Type = Type::defined("time.zone", Shape::Struct(&[]), &[]);
static ZONES: Type = Type::literal("[]time.zone", Shape::Slice(&ZONE));
static ZONE_POINTER: Type = Type::literal("*time.zone", Shape::Pointer(&ZONE));
static CHANGE: Type = Type::defined("time.zoneTrans", Shape::Struct(&[]), &[]);
static CHANGES: Type = Type::literal("[]time.zoneTrans", Shape::Slice(&CHANGE));
/// `*time.Location`.
static LOCATION: Type =
    Type { name: "*time.Location", shape: Shape::Pointer(&PLACE), defined: false, methods: TEXT_METHODS };

static TIME_METHODS: &[Func] = &[
    func("Add", &[&DURATION], |_, a| Ok(time(this(a).add(duration_of(any(a, 1)))))),
    func("AddDate", &[&INT, &INT, &INT], |_, a| Ok(time(this(a).add_date(int(a, 1), int(a, 2), int(a, 3))))),
    func("After", &[&TIME], |_, a| Ok(Value::Bool(this(a).after(&time_of(any(a, 1)))))),
    func("AppendFormat", &[&BYTES, &STRING], |cx, a| {
        let mut bytes = if let Value::Bytes(b) = any(a, 1) { b.to_vec() } else { Vec::new() };
        bytes.extend(this(a).format(text(a, 2)));
        Ok(cx.heap.bytes(bytes))
    }),
    func("AppendBinary", &[&BYTES], |cx, a| appended(cx, a, this(a).marshal_binary("Time.MarshalBinary"))),
    func("AppendText", &[&BYTES], |cx, a| appended(cx, a, this(a).append_text().map(String::into_bytes))),
    func("Before", &[&TIME], |_, a| Ok(Value::Bool(this(a).before(&time_of(any(a, 1)))))),
    refused("Clock", "function Clock has 3 return values; should be 1 or 2"),
    func("Compare", &[&TIME], |_, a| Ok(Value::Int(this(a).compare(&time_of(any(a, 1))) as i64))),
    refused("Date", "function Date has 3 return values; should be 1 or 2"),
    func("Day", &[], |_, a| Ok(Value::Int(this(a).date()[2]))),
    func("Equal", &[&TIME], |_, a| Ok(Value::Bool(this(a).equal(&time_of(any(a, 1)))))),
    func("Format", &[&STRING], |cx, a| {
        cx.heap.charge(text(a, 1).len())?;
        string(this(a).format(text(a, 1)))
    }),
    func("GoString", &[], |_, a| string(this(a).go_string())),
    func("GobEncode", &[], |cx, a| appended(cx, &[], this(a).marshal_binary("Time.MarshalBinary"))),
    func("Hour", &[], |_, a| Ok(Value::Int(this(a).clock()[0]))),
    refused("ISOWeek", "invalid function signature for ISOWeek: second return value should be error; is int"),
    func("In", &[&LOCATION], |_, a| match object::<Place>(any(a, 1)) {
        Some(place) => Ok(time(this(a).with_location(place.0.clone().unwrap_or_default()))),
        None => Err(Error::new("time: missing Location in call to Time.In")),
    }),
    func("IsDST", &[], |_, a| Ok(Value::Bool(this(a).is_dst()))),
    func("IsZero", &[], |_, a| Ok(Value::Bool(this(a).is_zero()))),
    func("Local", &[], |cx, a| Ok(time(this(a).with_location(local_zone(cx))))),
    func("Location", &[], |_, a| Ok(Value::Opaque(Rc::new(Place(Some(this(a).location().clone())))))),
    func("MarshalBinary", &[], |cx, a| appended(cx, &[], this(a).marshal_binary("Time.MarshalBinary"))),
    func("MarshalJSON", &[], |cx, a| marshalled(cx, this(a).marshal_json().map_err(|e| e.to_string()))),
    func("MarshalText", &[], |cx, a| marshalled(cx, this(a).marshal_text().map_err(|e| e.to_string()))),
    func("Minute", &[], |_, a| Ok(Value::Int(this(a).clock()[1]))),
    func("Month", &[], |_, a| Ok(named(&MONTH, this(a).date()[1]))),
    func("Nanosecond", &[], |_, a| Ok(Value::Int(i64::from(this(a).nanosecond())))),
    func("Round", &[&DURATION], |_, a| Ok(time(this(a).round(duration_of(any(a, 1)))))),
    func("Second", &[], |_, a| Ok(Value::Int(this(a).clock()[2]))),
    func("String", &[], |_, a| string(this(a).to_bytes())),
    func("Sub", &[&TIME], |_, a| Ok(duration(this(a).sub(&time_of(any(a, 1)))))),
    func("Truncate", &[&DURATION], |_, a| Ok(time(this(a).truncate(duration_of(any(a, 1)))))),
    func("UTC", &[], |_, a| Ok(time(this(a).utc()))),
    func("Unix", &[], |_, a| Ok(Value::Int64(this(a).unix()))),
    func("UnixMicro", &[], |_, a| Ok(Value::Int64(this(a).unix_micro()))),
    func("UnixMilli", &[], |_, a| Ok(Value::Int64(this(a).unix_milli()))),
    func("UnixNano", &[], |_, a| Ok(Value::Int64(this(a).unix_nano()))),
    func("Weekday", &[], |_, a| Ok(named(&WEEKDAY, this(a).weekday()))),
    func("Year", &[], |_, a| Ok(Value::Int(this(a).date()[0]))),
    refused("Zone", "invalid function signature for Zone: second return value should be error; is int"),
    refused(
        "ZoneBounds",
        "invalid function signature for ZoneBounds: second return value should be error; is time.Time",
    ),
    func("YearDay", &[], |_, a| Ok(Value::Int(this(a).year_day()))),
];

static DURATION_METHODS: &[Func] = &[
    func("Abs", &[], |_, a| Ok(duration(duration_of(any(a, 0)).abs()))),
    func("Hours", &[], |_, a| Ok(Value::Float(duration_of(any(a, 0)).hours()))),
    func("Microseconds", &[], |_, a| Ok(Value::Int64(duration_of(any(a, 0)).microseconds()))),
    func("Milliseconds", &[], |_, a| Ok(Value::Int64(duration_of(any(a, 0)).milliseconds()))),
    func("Minutes", &[], |_, a| Ok(Value::Float(duration_of(any(a, 0)).minutes()))),
    func("Nanoseconds", &[], |_, a| Ok(Value::Int64(duration_of(any(a, 0)).nanoseconds()))),
    func("Round", &[&DURATION], |_, a| Ok(duration(duration_of(any(a, 0)).round(duration_of(any(a, 1)))))),
    func("Seconds", &[], |_, a| Ok(Value::Float(duration_of(any(a, 0)).seconds()))),
    func("String", &[], |_, a| string(duration_of(any(a, 0)).to_string())),
    func("Truncate", &[&DURATION], |_, a| {
        Ok(duration(duration_of(any(a, 0)).truncate(duration_of(any(a, 1)))))
    }),
];

static TEXT_METHODS: &[Func] = &[func("String", &[], |_, a| match any(a, 0) {
    Value::Opaque(o) => string(o.string().unwrap_or_default()),
    _ => string(""),
})];

struct Instant(Time);
struct Span(Duration);
/// A place; nothing is Go's nil pointer, which is universal time inside a time.
struct Place(Option<Location>);

/// What is inside a place: printed, and nothing else.
struct Inside {
    ty: &'static Type,
    nil: bool,
    parts: Vec<(&'static str, Value<'static>)>,
}

/// A month or a weekday.
struct Named {
    ty: &'static Type,
    number: i64,
}

/// A time as a value.
pub(crate) fn time<'h>(time: Time) -> Value<'h> {
    Value::Opaque(Rc::new(Instant(time)))
}

/// A duration as a value.
pub(crate) fn duration<'h>(duration: Duration) -> Value<'h> {
    Value::Opaque(Rc::new(Span(duration)))
}

fn named<'h>(ty: &'static Type, number: i64) -> Value<'h> {
    Value::Opaque(Rc::new(Named { ty, number }))
}

fn object<'a, T: 'static>(value: &'a Value<'_>) -> Option<&'a T> {
    match value {
        Value::Opaque(o) => o.as_any().downcast_ref(),
        _ => None,
    }
}

/// The time, if the value is one.
pub(crate) fn as_time<'a>(value: &'a Value<'_>) -> Option<&'a Time> {
    object::<Instant>(value).map(|instant| &instant.0)
}

/// The duration, if the value is one.
pub(crate) fn as_duration(value: &Value<'_>) -> Option<Duration> {
    object::<Span>(value).map(|span| span.0)
}

/// The argument of a `time.Time` parameter.
pub(crate) fn time_of(value: &Value<'_>) -> Time {
    as_time(value).cloned().unwrap_or_default()
}

fn this(args: &[Value<'_>]) -> Time {
    time_of(any(args, 0))
}

/// The argument of a `time.Duration` parameter; a number in a template becomes one of nanoseconds.
fn duration_of(value: &Value<'_>) -> Duration {
    as_duration(value).unwrap_or_else(|| Duration(int(std::slice::from_ref(value), 0)))
}

/// A deep copy of a place: a copier cannot see into it and leaves a nameless one.
pub(crate) fn copied<'h>(object: &dyn Opaque) -> Option<Value<'h>> {
    object
        .as_any()
        .downcast_ref::<Place>()
        .map(|_| Value::Opaque(Rc::new(Place(Some(Location::fixed("", 0))))))
}

/// Bytes after those of the argument, if there is one.
fn appended<'h>(cx: &Ctx<'h>, args: &[Value<'h>], bytes: Result<Vec<u8>, TimeError>) -> Outcome<'h> {
    let mut all = if let Some(Value::Bytes(b)) = args.get(1) { b.to_vec() } else { Vec::new() };
    all.extend(bytes.map_err(|e| Error::new(e.to_string()))?);
    Ok(cx.heap.bytes(all))
}

fn marshalled<'h>(cx: &Ctx<'h>, text: Result<String, String>) -> Outcome<'h> {
    Ok(cx.heap.bytes(text.map_err(Error::new)?.into_bytes()))
}

impl Opaque for Instant {
    fn ty(&self) -> &'static Type {
        &TIME
    }

    fn string(&self) -> Option<String> {
        Some(String::from_utf8_lossy(&self.0.to_bytes()).into_owned())
    }

    fn go_string(&self) -> Option<String> {
        Some(self.0.go_string())
    }

    fn parts(&self) -> Vec<(&'static str, Value<'static>)> {
        let (wall, ext) = self.0.words();
        let place = Some(self.0.location().clone()).filter(|place| !place.is_utc());
        let place = Value::Opaque(Rc::new(Place(place)));
        vec![("wall", Value::Uint64(wall)), ("ext", Value::Int64(ext)), ("loc", place)]
    }

    fn json(&self) -> Option<Result<String, String>> {
        let refused = |e| format!("json: error calling MarshalJSON for type time.Time: {e}");
        Some(self.0.marshal_json().map_err(refused))
    }

    fn same(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| self.0.is_identical(&other.0))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Opaque for Span {
    fn ty(&self) -> &'static Type {
        &DURATION
    }

    fn string(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn basic(&self) -> Option<Value<'static>> {
        Some(Value::Int64(self.0.0))
    }

    fn same(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Opaque for Named {
    fn ty(&self) -> &'static Type {
        self.ty
    }

    fn string(&self) -> Option<String> {
        let name = if self.ty.is(&MONTH) {
            usize::try_from(self.number - 1).ok().and_then(|i| MONTHS.get(i))
        } else {
            usize::try_from(self.number).ok().and_then(|i| WEEKDAYS.get(i))
        };
        name.map(|name| (*name).to_owned())
    }

    fn basic(&self) -> Option<Value<'static>> {
        Some(Value::Int(self.number))
    }

    fn same(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| self.number == other.number)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Opaque for Place {
    fn ty(&self) -> &'static Type {
        &LOCATION
    }

    fn string(&self) -> Option<String> {
        Some(String::from_utf8_lossy(self.0.as_ref().map_or(b"UTC", Location::name)).into_owned())
    }

    fn nil(&self) -> bool {
        self.0.is_none()
    }

    fn parts(&self) -> Vec<(&'static str, Value<'static>)> {
        self.0.as_ref().map(place_parts).unwrap_or_default()
    }

    fn same(&self, other: &dyn Opaque) -> bool {
        match (&self.0, other.as_any().downcast_ref::<Self>()) {
            (Some(place), Some(Place(Some(other)))) => place.is_same(other),
            (None, Some(other)) => other.0.is_none(),
            _ => false,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The fields of Go's struct. It remembers the kind of a zone that never changes.
fn place_parts(place: &Location) -> Vec<(&'static str, Value<'static>)> {
    let kinds: Vec<_> = place
        .kinds()
        .map(|(name, offset, summer)| {
            let parts = vec![
                ("name", Value::string(name.to_vec())),
                ("offset", Value::Int(offset)),
                ("isDST", Value::Bool(summer)),
            ];
            ("", inside(&ZONE, false, parts))
        })
        .collect();
    let changes: Vec<_> = place
        .changes()
        .map(|(when, kind)| {
            let parts = vec![
                ("when", Value::Int64(when)),
                ("index", Value::Uint8(kind as u8)),
                ("isstd", Value::Bool(false)),
                ("isutc", Value::Bool(false)),
            ];
            ("", inside(&CHANGE, false, parts))
        })
        .collect();
    let fixed = matches!(place.changes().next(), Some((i64::MIN, _)));
    let (start, end) = if fixed { (i64::MIN, i64::MAX) } else { (0, 0) };
    vec![
        ("name", Value::string(place.name().to_vec())),
        ("zone", inside(&ZONES, kinds.is_empty(), kinds)),
        ("tx", inside(&CHANGES, changes.is_empty(), changes)),
        ("extend", Value::string("")),
        ("cacheStart", Value::Int64(start)),
        ("cacheEnd", Value::Int64(end)),
        ("cacheZone", inside(&ZONE_POINTER, !fixed, Vec::new())),
    ]
}

fn inside(ty: &'static Type, nil: bool, parts: Vec<(&'static str, Value<'static>)>) -> Value<'static> {
    Value::Opaque(Rc::new(Inside { ty, nil, parts }))
}

impl Opaque for Inside {
    fn ty(&self) -> &'static Type {
        self.ty
    }

    fn string(&self) -> Option<String> {
        None
    }

    fn nil(&self) -> bool {
        self.nil
    }

    fn parts(&self) -> Vec<(&'static str, Value<'static>)> {
        self.parts.clone()
    }

    fn same(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| std::ptr::eq(self, other))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

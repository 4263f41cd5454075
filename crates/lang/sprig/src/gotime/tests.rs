//! Recorded answers of Go, Sprig and Helm, and what records cannot show.

use podium_gotmpl::gostr::unquote;

use super::*;

/// Gives each recorded call, its arguments and its answer to `check`; a line is a call with quoted literals.
pub(crate) fn each_recorded(data: &str, check: impl Fn(&str, &[Vec<u8>]) -> Vec<u8>) {
    let mut count = 0;
    for line in data.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let function = fields.next().unwrap();
        let mut values: Vec<Vec<u8>> = fields.map(|field| unquote(field.as_bytes()).unwrap()).collect();
        let want = values.pop().unwrap();
        let got = check(function, &values);
        assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(&want), "{line}");
        count += 1;
    }
    assert!(count > 300, "only {count} answers were recorded");
}

fn describe(time: &Time) -> String {
    let (zone, offset) = time.zone();
    let text = String::from_utf8_lossy;
    let instant = format!("{}.{}", time.unix(), time.nanosecond());
    format!("{instant} \"{}\" {} {offset}", text(time.location().name()), text(zone))
}

fn told<T, E: std::fmt::Display>(result: Result<T, E>, say: impl Fn(T) -> String) -> String {
    result.map_or_else(|error| format!("!{error}"), say)
}

/// A float as `strconv.FormatFloat(f, 'g', -1, 64)` writes those that are recorded.
fn float(number: f64) -> String {
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap();
    // Go rounds halves to even where Rust rounds up.
    let places = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let rounded = format!("{number:.places$e}");
    let digits = rounded.split('e').next().unwrap();
    match exponent.parse::<i32>().unwrap() {
        0..21 if number.abs() < 1e6 => number.to_string(),
        -4..0 => number.to_string(),
        exponent if exponent < 0 => format!("{digits}e-{:02}", -exponent),
        exponent => format!("{digits}e+{exponent:02}"),
    }
}

fn fields(time: &Time) -> String {
    let ([year, month, day], [hour, minute, second]) = (time.date(), time.clock());
    let ((iso_year, week), (zone, offset)) = (time.iso_week(), time.zone());
    let (start, end) = time.zone_bounds();
    let numbers = [year, month, day, hour, minute, second, time.nanosecond().into(), time.year_day()];
    let numbers = numbers.map(|number| number.to_string()).join(" ");
    let zone = String::from_utf8_lossy(zone);
    let week = format!("{} {iso_year} {week} {zone} {offset} {}", time.weekday(), time.is_dst());
    let unix = [time.unix(), time.unix_milli(), time.unix_micro(), time.unix_nano()];
    let unix = unix.map(|number| number.to_string()).join(" ");
    let place = String::from_utf8_lossy(time.location().name());
    format!("{numbers} {week} {unix} {} {} {} {place}\n", time.is_zero(), start.unix(), end.unix())
}

fn helm_answers(value: Arg<'_>, multiple: Arg<'_>) -> String {
    let duration = told(must_to_duration(value), |duration| duration.0.to_string());
    let whole = [duration_milliseconds(value), duration_microseconds(value), duration_nanoseconds(value)];
    let parts = [duration_minutes(value), duration_hours(value), duration_days(value), duration_weeks(value)];
    let (round, truncate) = (duration_round_to(value, multiple), duration_truncate_to(value, multiple));
    format!(
        "{duration}|{}{} {}{} {}",
        float(duration_seconds(value)),
        whole.map(|number| number.to_string()).join(" "),
        parts.map(float).join(" "),
        round.0,
        truncate.0
    )
}

#[test]
fn answers_are_the_recorded_ones() {
    each_recorded(include_str!("recorded.txt"), |function, arguments| {
        let number = |at: usize| String::from_utf8_lossy(&arguments[at]).parse::<i64>().unwrap();
        let place = |at: usize| Location::load(&arguments[at]).unwrap();
        let time = || Time::from_unix(number(1), number(2), place(0));
        let at = |unix: usize| Time::from_unix(number(unix), number(unix + 1), Location::UTC);
        let clock = |local: Location| Clock { now: Time::default(), local };
        let answer = match function {
            "format" => return time().format(&arguments[3]),
            "fields" => fields(&time()),
            "string" => {
                let (json, text) = (time().marshal_json(), time().marshal_text());
                format!("{}\n{}\n{}", time(), told(json, |text| text), told(text, |text| text))
            }
            "add" => describe(&time().add(Duration(number(3)))),
            "trunc" => {
                let multiple = Duration(number(3));
                format!("{}|{}", describe(&time().truncate(multiple)), describe(&time().round(multiple)))
            }
            "adddate" => describe(&time().add_date(number(3), number(4), number(5))),
            "sub" => {
                let (one, two) = (at(0), at(2));
                let verdicts = format!("{} {} {}", one.equal(&two), one.before(&two), one.after(&two));
                format!("{} {} {verdicts}\n", one.sub(&two).0, one.compare(&two) as i8)
            }
            "parse" => told(parse(&arguments[0], &arguments[1], &place(2)), |time| describe(&time)),
            "parsein" => {
                told(parse_in_location(&arguments[0], &arguments[1], &place(2)), |time| describe(&time))
            }
            "dur" => {
                let (duration, multiple) = (Duration(number(0)), Duration(number(1)));
                let whole = [duration.round(multiple), duration.truncate(multiple), duration.abs()];
                let whole = whole.map(|duration| duration.0.to_string()).join(" ");
                let parts = [duration.hours(), duration.minutes(), duration.seconds()].map(float).join(" ");
                format!(
                    "{duration} {whole} {parts} {} {}\n",
                    duration.milliseconds(),
                    duration.microseconds()
                )
            }
            "pdur" => told(Duration::parse(&arguments[0]), |duration| duration.0.to_string()),
            "sdate" => {
                let (clock, layout, zone) = (clock(place(0)), &arguments[4], &arguments[5]);
                let time = Time::from_unix(number(2), number(3), place(0));
                let value = match &arguments[1][..] {
                    b"time" => Arg::Time(&time),
                    b"int64" => Arg::Int64(number(2)),
                    b"int" => Arg::Int(number(2)),
                    _ => Arg::Int32(i32::try_from(number(2)).unwrap()),
                };
                let answers = [
                    date(&clock, layout, value),
                    date_in_zone(&clock, layout, value, zone),
                    html_date(&clock, value),
                    html_date_in_zone(&clock, value, zone),
                    unix_epoch(&time).into_bytes(),
                ];
                return answers.join(&b'|');
            }
            "smod" => {
                let modified = told(must_date_modify(&arguments[3], &time()), |time| describe(&time));
                format!("{}|{modified}", describe(&date_modify(&arguments[3], &time())))
            }
            "sduration" => {
                let number = number(1);
                let values = [
                    Arg::Str(&arguments[0]),
                    Arg::Int64(number),
                    Arg::Int(number),
                    Arg::Nil,
                    Arg::Float(1.5),
                ];
                values.map(duration).join("|")
            }
            "sround" => {
                let number = number(1);
                let values = [Arg::Str(&arguments[0]), Arg::Int64(number), Arg::Int(number), Arg::Nil];
                values.map(|value| duration_round(&clock(Location::UTC), value)).join("|")
            }
            "sago" => {
                let now = Time::now(number(0), number(1) as u32, 12345, Location::UTC);
                let clock = Clock { now, local: Location::UTC };
                let time = Time::from_unix(number(2), 0, Location::UTC);
                let values = [Arg::Int64(number(2)), Arg::Int(number(2)), Arg::Time(&time), Arg::Str(b"x")];
                format!(
                    "{}|{}",
                    values.map(|value| ago(&clock, value)).join("|"),
                    duration_round(&clock, Arg::Time(&time))
                )
            }
            "helm" => {
                let (text, time) = (String::from_utf8_lossy(&arguments[1]), Time::default());
                let value = match &arguments[0][..] {
                    b"str" => Arg::Str(&arguments[1]),
                    b"int64" => Arg::Int64(number(1)),
                    b"uint" => Arg::Uint(text.parse().unwrap()),
                    b"float" => Arg::Float(f64::from_bits(text.parse().unwrap())),
                    b"dur" => Arg::Duration(Duration(number(1))),
                    b"nil" => Arg::Nil,
                    b"time" => Arg::Time(&time),
                    b"bool" => Arg::Other("bool"),
                    _ => Arg::Other("map[string]interface {}"),
                };
                helm_answers(value, Arg::Str(&arguments[2]))
            }
            other => panic!("unknown function {other}"),
        };
        answer.into_bytes()
    });
}

#[test]
fn now_prints_its_clock_reading_until_it_is_lost() {
    let now = Time::now(1_700_000_000, 5, 1_234_567_890, Location::UTC);
    assert_eq!(now.to_string(), "2023-11-14 22:13:20.000000005 +0000 UTC m=+1.234567890");
    let later = now.add(Duration::SECOND);
    assert_eq!(later.to_string(), "2023-11-14 22:13:21.000000005 +0000 UTC m=+2.234567890");
    assert_eq!(
        now.add(Duration(-2_000_000_000)).to_string(),
        "2023-11-14 22:13:18.000000005 +0000 UTC m=-0.765432110"
    );
    for without in [now.utc(), now.round(Duration(0)), now.add_date(0, 0, 0), now.add(Duration(i64::MAX))] {
        assert!(!without.to_string().contains("m="), "{without}");
    }
    assert_eq!(later.sub(&now), Duration::SECOND);
    assert!(!now.is_identical(&now.utc()) && now.equal(&now.utc()));
}

#[test]
fn places_are_the_same_only_where_go_shares_them() {
    let berlin = Location::load("Europe/Berlin").unwrap();
    assert!(berlin.is_same(&berlin.clone()) && !berlin.is_same(&Location::load("Europe/Berlin").unwrap()));
    assert!(Location::fixed("", 3600).is_same(&Location::fixed("", 3600)));
    assert!(!Location::fixed("", 1800).is_same(&Location::fixed("", 1800)));
    assert!(!Location::fixed("X", 3600).is_same(&Location::fixed("X", 3600)));
    assert!(!Location::fixed("", 0).is_same(&Location::UTC));
}

#[test]
fn unknown_places_are_refused_and_universal_time_has_two_names() {
    assert_eq!(Location::load("").unwrap().name(), b"UTC");
    assert_eq!(Location::load("Zulu").unwrap().name(), b"Zulu");
    for (name, error) in [
        ("Nope/Nope", "unknown time zone Nope/Nope"),
        ("europe/berlin", "unknown time zone europe/berlin"),
        ("../etc/passwd", "time: invalid location name"),
        ("/etc/localtime", "time: invalid location name"),
    ] {
        assert_eq!(Location::load(name).unwrap_err().to_string(), error);
    }
    let local = Location::UTC.named("Local");
    assert_eq!(Time::from_unix(0, 0, local).to_string(), "1970-01-01 00:00:00 +0000 UTC");
}

/// A zone file with one change, in both widths, and a rule.
fn zone_file(rule: &str) -> Vec<u8> {
    let header = |changes: u8, kinds: u8, letters: u8| {
        [
            b"TZif2".to_vec(),
            vec![0; 15],
            vec![0; 12],
            vec![0, 0, 0, changes, 0, 0, 0, kinds, 0, 0, 0, letters],
        ]
        .concat()
    };
    let kind = |offset: i32, summer: u8, at: u8| [&offset.to_be_bytes()[..], &[summer, at]].concat();
    [
        header(0, 1, 1),
        kind(0, 0, 0),
        vec![0],
        header(1, 2, 8),
        1_000_000_000i64.to_be_bytes().to_vec(),
        vec![1],
        kind(3000, 0, 0),
        kind(3600, 0, 4),
        b"LMT\0CET\0".to_vec(),
        format!("\n{rule}\n").into_bytes(),
    ]
    .concat()
}

#[test]
fn zone_files_are_read_with_their_rule() {
    let file = zone_file("CET-1CEST,M3.5.0,M10.5.0/3");
    let place = Location::from_tzif("Local", &file).unwrap();
    let shown = |unix: i64| Time::from_unix(unix, 0, place.clone()).to_string();
    assert_eq!(shown(0), "1970-01-01 00:50:00 +0050 LMT");
    assert_eq!(shown(1_700_000_000), "2023-11-14 23:13:20 +0100 CET");
    assert_eq!(shown(1_690_000_000), "2023-07-22 06:26:40 +0200 CEST");
    for len in 0..file.len() - 28 {
        let error = Location::from_tzif("x", &file[..len]).unwrap_err();
        assert_eq!(error.to_string(), "malformed time zone information", "{len}");
    }
    let counts_too_large = [&b"TZif2"[..], &[0; 15], &[0xFF; 24], &[0; 64]].concat();
    assert!(Location::from_tzif("x", &counts_too_large).is_err());
}

#[test]
fn every_zone_of_the_database_is_whole() {
    let names = super::zones::names();
    assert!(names.len() > 590, "{}", names.len());
    for name in names {
        let place = Location::load(name).unwrap();
        assert!(!Time::from_unix(1_700_000_000, 0, place).zone().0.is_empty());
    }
}

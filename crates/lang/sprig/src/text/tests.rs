//! Recorded answers of Sprig, and what records cannot show.

use super::*;
use crate::gotime::tests::each_recorded;

#[test]
fn answers_are_the_recorded_ones() {
    each_recorded(include_str!("recorded.txt"), |function, arguments| {
        let number = |at: usize| String::from_utf8_lossy(&arguments[at]).parse::<i64>().unwrap();
        let part = |at: usize| arguments[at].clone();
        let told = |error: UrlError| format!("!{error}").into_bytes();
        let text = &arguments[0];
        match function {
            "upper" => upper(text),
            "lower" => lower(text),
            "title" => title(text),
            "untitle" => uncapitalize(text),
            "swapcase" => swap_case(text),
            "nospace" => without_space(text),
            "initials" => initials(text),
            "trim" => trim_space(text).to_vec(),
            "camelcase" => pascal_case(text),
            "lowercamel" => camel_case(text),
            "snakecase" => snake_case(text),
            "kebabcase" => kebab_case(text),
            "fields" => fields(text).join(&0),
            "abbrev" => abbreviate(number(0), &arguments[1]),
            "abbrevboth" => abbreviate_both(number(0), number(1), &arguments[2]),
            "wrap" => wrap(number(0), &arguments[1]),
            "wrapWith" => wrap_with(number(0), &arguments[1], &arguments[2]),
            "path" => {
                let absolute = is_abs(text).to_string().into_bytes();
                [base(text), dir(text), clean(text), ext(text), absolute].join(&0)
            }
            "urlParse" => url_parse(text).map_or_else(told, |url| {
                let parts =
                    [url.scheme, url.host, url.hostname, url.path, url.query, url.opaque, url.fragment];
                [parts.join(&0), url.userinfo].join(&0)
            }),
            "urlJoin" => {
                let url = UrlParts {
                    scheme: part(0),
                    host: part(1),
                    hostname: Vec::new(),
                    path: part(2),
                    query: part(3),
                    opaque: part(4),
                    fragment: part(5),
                    userinfo: part(6),
                };
                url_join(&url).unwrap_or_else(told)
            }
            other => panic!("unknown function {other}"),
        }
    });
}

#[test]
fn shuffling_swaps_from_the_end_with_the_given_numbers() {
    let mut bounds = Vec::new();
    let shuffled = shuffle("añ€d".as_bytes(), |bound| {
        bounds.push(bound);
        0
    });
    assert_eq!(String::from_utf8(shuffled).unwrap(), "ñ€da");
    assert_eq!(bounds, [4, 3, 2]);
    assert_eq!(shuffle(b"", |_| 0), b"");
    assert_eq!(shuffle(b"ab", |_| usize::MAX), b"ab");
}

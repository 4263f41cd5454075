//! Good arguments for the roles that functions' parameters play.

use crate::random::Random;

use super::kinds::{self, Arg, Kind};
use super::{patterns, strings};

/// An argument that plays a role well; unknown roles get anything.
pub fn argument(random: &mut Random, role: &str, small: bool) -> Arg {
    let text = |random: &mut Random, pool: &[&str]| {
        let chosen = random.pick(pool);
        Arg::new(strings::literal(random, chosen), Kind::Str)
    };
    match role {
        "str" => kinds::of(random, Kind::Str, small),
        "word" | "key" => text(random, &["", "a", "b", "c", "d", "l", "k", "x", ",", "/", "-", "lo", "name", "He", "\n", "é", "_0", "zzz"]),
        "int" if random.chance(80) => kinds::of(random, Kind::Int, true),
        "int" => kinds::of(random, Kind::Int64, small),
        "num" => {
            let kind = random.pick(&[0usize, 0, 1, 2, 2, 3, 4, 5, 6]);
            let kinds = [Kind::Int, Kind::Int64, Kind::Float, Kind::Uint, Kind::Str, Kind::Bool, Kind::Missing];
            match kinds.get(kind).copied().unwrap_or(Kind::Int) {
                Kind::Str => argument(random, "numtext", small),
                kind => kinds::of(random, kind, small),
            }
        }
        "numtext" => text(
            random,
            &["0", "42", "-7", "+5", "0x1F", "0b11", "0o17", "017", "08", "1_000", "5.0", "5.7", "1e3", "", " 3", "12abc", "9223372036854775807",
                "9223372036854775808", "1.000", ".5", "NaN", "777", "0777", "-0", "1__0"],
        ),
        "letters" => text(random, &["", "a", "abcdefgh", "0123456789", "Zz9"]),
        "bool" => kinds::of(random, Kind::Bool, small),
        "seq" | "one" => {
            let kind = random.pick(&[0usize, 1, 2, 3, 4]);
            let kinds = [Kind::Str, Kind::List, Kind::TypedList, Kind::Map, Kind::TypedMap];
            if role == "one" {
                // More than one key comes in any order.
                return Arg::new(random.pick(&["(dict)", "(dict \"k\" 1)", "(dict \"x\" nil)", ".Values.global", ".Values.nested"]), Kind::Map);
            }
            kinds::of(random, kinds.get(kind).copied().unwrap_or(Kind::List), small)
        }
        "list" if random.chance(70) => kinds::of(random, Kind::List, small),
        "list" => kinds::of(random, Kind::TypedList, small),
        "map" if random.chance(85) => kinds::of(random, Kind::Map, small),
        "map" => kinds::of(random, Kind::TypedMap, small),
        "index" => match random.below(3) {
            0 => argument(random, "key", small),
            1 => kinds::of(random, Kind::Int64, true),
            _ => kinds::of(random, Kind::Int, true),
        },
        "cutset" => text(random, &["", "a", "ab ", "-", " \n", "éß", "0123456789"]),
        "format" => Arg::new(strings::quoted(&patterns::format(random)), Kind::Str),
        "regex" => Arg::new(strings::quoted(&patterns::regex(random)), Kind::Str),
        "replacement" => text(random, &["", "x", "$0", "$1", "${1}W", "$1W", "$name", "${name}", "$$", "[$2]", "\\1", "${", "$é", "${01}"]),
        "version" => Arg::new(strings::quoted(&patterns::version(random)), Kind::Str),
        "constraint" => Arg::new(strings::quoted(&patterns::constraint(random)), Kind::Str),
        "layout" => Arg::new(strings::quoted(&patterns::layout(random)), Kind::Str),
        "date" => text(
            random,
            &["2024-05-06", "2024-02-30", "2024-05-06 07:08:09", "2024-05-06T07:08:09Z", "2024-05-06T07:08:09.123456+02:00", "06 May 24 07:08 CET",
                "Mon, 06 May 2024 07:08:09 GMT", "May 6, 2024", "24", "", "nonsense", "07:08PM"],
        ),
        "time" if random.chance(75) => kinds::of(random, Kind::Time, small),
        "time" => Arg::new(random.pick(&["(int64 1700000000)", "1700000000", "(int64 -1)", "0", ".Values.i64"]), Kind::Int64),
        "zone" => text(random, &["UTC", "Local", "", "Europe/Madrid", "America/New_York", "Asia/Kolkata", "Nowhere/Land", "EST", "utc"]),
        "duration" | "seconds" | "durationarg" => match random.below(8) {
            0 => kinds::of(random, Kind::Int64, true),
            1 => kinds::of(random, Kind::Int, true),
            2 if role != "duration" => kinds::of(random, Kind::Float, true),
            3 => kinds::of(random, Kind::Time, small),
            _ => Arg::new(strings::quoted(&patterns::duration(random)), Kind::Str),
        },
        "type" => text(random, &["string", "int", "int64", "float64", "bool", "[]interface {}", "map[string]interface {}", "*semver.Version", "semver.Version", "time.Time",
            "[]string", "chartutil.Values", "common.Values", "<nil>"]),
        "kind" => text(random, &["string", "int", "int64", "float64", "bool", "slice", "map", "ptr", "struct", "invalid", "uint64", "func"]),
        "base64" => text(random, &["aGVsbG8=", "aGVsbG8", "aGVs\nbG8=", "====", "", "/+8=", "_-8=", "aGVsbG8!", "AA=A"]),
        "base32" => text(random, &["NBSWY3DP", "NBSWY3DPEE======", "nbswy3dp", "1", "", "NBSWY3D", "NBSWY3DP======"]),
        "cipher" => text(random, &["3qWF+ssnbCFXcWvyIEZmwi29RgcR+GNbDth3nWzfLMI=", "", "aGVsbG8=", "!!", "MDEyMzQ1Njc4OWFiY2RlZg=="]),
        "json" => Arg::new(strings::literal_of(random, patterns::json), Kind::Str),
        "yaml" => Arg::new(strings::literal_of(random, super::yaml::small), Kind::Str),
        "toml" => Arg::new(strings::literal_of(random, patterns::toml), Kind::Str),
        "path" => text(random, &["", "/", ".", "..", "a/b/c.txt", "/a//b/../c/", "a/", "x.tar.gz", ".hidden", "/.x", "../..", "a\\b", "é/ß.d"]),
        "url" => text(
            random,
            &["https://user:pw@host.test:8080/p/a%20b?q=1&r=2#frag", "http://h", "/just/path", "mailto:x@y.z", "//host/p", "", "http://[::1]:80/", "ftp://u@h/;x",
                "http://h:bad/", "http://a b/", "%zz", "http://h/%zz", "x:y:z", "?q", "#f", "http://h?a=b c"],
        ),
        "urlmap" => Arg::new(
            random.pick(&[
                "(urlParse .Values.url)",
                "(dict \"scheme\" \"http\" \"host\" \"h:1\" \"path\" \"/p\" \"query\" \"a=b\" \"fragment\" \"f\" \"userinfo\" \"u:p\" \"opaque\" \"\")",
                "(dict \"host\" \"h\")",
                "(dict \"scheme\" 1)",
                "(dict \"scheme\" \"mailto\" \"opaque\" \"x@y\")",
                "(dict)",
            ]),
            Kind::Map,
        ),
        "name" => text(random, &["hello", "echo", "yaml", "hole", "nested", "nope", "broken", "", "probe/templates/t.txt", "probe/templates/_world.tpl"]),
        "template" => text(
            random,
            &["plain", "{{ . }}", "{{ .Values.s }}", "{{ .Release.Name }}-{{ .x }}", "{{ include \"hello\" . }}", "{{ define \"z\" }}Z{{ end }}{{ template \"z\" }}",
                "{{ tpl \"{{ 1 }}\" . }}", "{{", "{{ nope }}", "{{ .Values.a.b }}", "{{ fail \"in tpl\" }}", "{{ .Template.Name }}", "{{ required \"r\" nil }}",
                "{{ .missing }}", "{{ .Values.missing }}|{{ .none | quote }}"],
        ),
        "bound" => Arg::new(random.pick(&["20", "13", "(int64 30)", "100"]), Kind::Int),
        "template-kind" => text(random, &["long", "maximum", "medium", "short", "basic", "pin", "other"]),
        "keytype" => text(random, &["ecdsa", "ed25519", "nope", ""]),
        "ips" => Arg::new(random.pick(&["nil", "(list \"10.0.0.1\")", "(list)", "(list \"bad\")", "(list 1)"]), Kind::List),
        "names" => Arg::new(random.pick(&["nil", "(list \"a.test\" \"b.test\")", "(list)", "(list 1)"]), Kind::List),
        "ca" => Arg::new(
            random.pick(&["(buildCustomCert (.Files.Get \"files/ca.crt\" | b64enc) (.Files.Get \"files/ec.key\" | b64enc))", ".Values.map"]),
            Kind::Object,
        ),
        "pem" => Arg::new(random.pick_or(&["(.Files.Get \"files/ec.key\")"], 30, &["(.Files.Get \"files/ca.crt\")", "\"x\""]), Kind::Str),
        "certb64" => Arg::new(random.pick_or(&["(.Files.Get \"files/ca.crt\" | b64enc)"], 40, &["\"eA==\"", "\"!\"", "(.Files.Get \"files/ec.key\" | b64enc)"]), Kind::Str),
        "keyb64" => Arg::new(random.pick_or(&["(.Files.Get \"files/ec.key\" | b64enc)"], 40, &["\"eA==\"", "\"!\"", "(.Files.Get \"files/ca.crt\" | b64enc)"]), Kind::Str),
        _ => kinds::any(random, small),
    }
}

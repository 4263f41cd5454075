//! Arguments of every kind, as template source.

use crate::random::Random;

use super::strings;

/// What an argument is, as far as the histogram distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Nil,
    Missing,
    Bool,
    Int,
    Int64,
    Uint,
    Float,
    Str,
    List,
    TypedList,
    Map,
    TypedMap,
    Time,
    Semver,
    Object,
}

impl Kind {
    /// All of them, in the order of the histogram's columns.
    pub const ALL: [Kind; 15] = [
        Kind::Nil,
        Kind::Missing,
        Kind::Bool,
        Kind::Int,
        Kind::Int64,
        Kind::Uint,
        Kind::Float,
        Kind::Str,
        Kind::List,
        Kind::TypedList,
        Kind::Map,
        Kind::TypedMap,
        Kind::Time,
        Kind::Semver,
        Kind::Object,
    ];

    /// The column's head.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Nil => "nil",
            Kind::Missing => "missing",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Int64 => "int64",
            Kind::Uint => "uint",
            Kind::Float => "float64",
            Kind::Str => "string",
            Kind::List => "list",
            Kind::TypedList => "typed list",
            Kind::Map => "map",
            Kind::TypedMap => "typed map",
            Kind::Time => "time",
            Kind::Semver => "semver",
            Kind::Object => "object",
        }
    }
}

/// An argument: its source and its kind.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Template source that can stand as an operand.
    pub source: String,
    /// What it evaluates to.
    pub kind: Kind,
}

impl Arg {
    /// An argument from its parts.
    pub fn new(source: impl Into<String>, kind: Kind) -> Self {
        Arg { source: source.into(), kind }
    }
}

const BOOLS: &[&str] = &["true", "false", ".Values.t", ".Values.f", "(not true)", "(empty .Values.s)"];
const SMALL_INTS: &[&str] = &["0", "1", "2", "3", "5", "7", "-1", "-2", "12", "(len .Values.strs)"];
const INTS: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "42",
    "-7",
    "100",
    "0x1F",
    "0b101",
    "0o17",
    "017",
    "1_000",
    "'a'",
    "'\\n'",
    "1000000",
    "9223372036854775807",
    "-9223372036854775808",
    "(len .Values.s)",
    "(int .Values.n3)",
    "(int \"0x10\")",
];
const SMALL_INT64S: &[&str] =
    &[".Values.i64", ".Values.neg64", ".Values.zero64", "(int64 3)", "(add 1 2)", "(sub 1 3)"];
const INT64S: &[&str] = &[
    ".Values.i64",
    ".Values.neg64",
    ".Values.zero64",
    ".Values.long",
    ".Values.max64",
    "(int64 3)",
    "(add 1 2)",
    "(mul 7 -3)",
    "(floor 2.5 | int64)",
    "(unixEpoch (toDate \"2006-01-02\" \"2024-05-06\") | int64)",
];
const UINTS: &[&str] = &[
    "(semver \"3.1.4\").Major",
    "(semver \"3.1.4\").Minor",
    "(index \"hello\" 1)",
    "(index (.Files.GetBytes \"files/bin\") 3)",
];
const FLOATS: &[&str] = &[
    "1.5",
    "0.0",
    "-2.25",
    "1e3",
    "1e-7",
    "1.0",
    "3.999",
    "0x1p-2",
    ".Values.n0",
    ".Values.n1",
    ".Values.n3",
    ".Values.neg",
    ".Values.port",
    ".Values.big",
    ".Values.huge",
    ".Values.frac",
    ".Values.tiny",
    "(float64 \"2.50\")",
    "(divf 1 3)",
    "(float64 \"NaN\")",
    "(float64 \"inf\")",
    "(float64 \"-0\")",
    "(index .Values.nums 0)",
];
const STRINGS: &[&str] = &[
    ".Values.s",
    ".Values.empty",
    ".Values.num",
    ".Values.hex",
    ".Values.word",
    ".Values.multi",
    ".Values.uni",
    ".Values.html",
    ".Values.yamlish",
    ".Values.date",
    ".Values.ver",
    ".Values.url",
    ".Values.json",
    ".Values.tpl",
    ".Values.tplBad",
    ".Release.Name",
    ".Chart.Name",
    ".Template.Name",
    "(.Files.Get \"files/bin\")",
    "(.Files.Get \"files/lines.txt\")",
    "(upper .Values.s)",
    "(printf \"%v\" .Values.n1)",
];
const LISTS: &[&str] = &[
    "(list)",
    "(list 1 \"a\" nil)",
    "(list 1 2 3)",
    "(list \"b\" \"a\" \"b\")",
    "(list 0 false \"\" nil)",
    "(list (list 1) (list 2 3))",
    ".Values.list",
    ".Values.strs",
    ".Values.nums",
    ".Values.maps",
    ".Values.emptyList",
    "(tuple 1.5 \"x\")",
    "(list (dict \"a\" 1))",
    "(append .Values.strs \"z\")",
    "(first (chunk 2 .Values.nums))",
];
const TYPED_LISTS: &[&str] = &[
    "(splitList \",\" \"a,b,,c\")",
    "(until 4)",
    "(untilStep 2 10 3)",
    "(regexFindAll \"[a-z]+\" \"ab 1 cd\" -1)",
    "(sortAlpha .Values.strs)",
    "(.Files.GetBytes \"files/a.conf\")",
    "(chunk 2 .Values.nums)",
    "(.Files.Lines \"files/lines.txt\")",
    "(toStrings .Values.list)",
    "(regexSplit \",\" \"x,y\" -1)",
    ".Chart.Keywords",
    "(until 0)",
    "(regexFindAll \"q\" \"ab\" -1)",
];
const MAPS: &[&str] = &[
    "(dict)",
    "(dict \"a\" 1)",
    "(dict \"a\" 1 \"b\" \"two\" \"c\" nil)",
    "(dict \"k\" (dict \"x\" (list 1)))",
    ".Values.map",
    ".Values.labels",
    ".Values.nested",
    ".Values.emptyMap",
    ".Values.global",
    "(fromJson .Values.json)",
    "(fromYaml \"a: 1\\nb: [x]\")",
    "(urlParse .Values.url)",
    "(fromYaml \"a: b: c\")",
    "(merge (dict) .Values.map)",
    "(pick .Values.map \"a\" \"d\")",
];
const TYPED_MAPS: &[&str] =
    &["(split \",\" \"a,b,c\")", "(splitn \"/\" 2 \"a/b/c\")", ".Chart.Annotations", "(split \"x\" \"\")"];
const TIMES: &[&str] = &[
    "(toDate \"2006-01-02\" \"2024-05-06\")",
    "(toDate \"2006-01-02 15:04:05\" \"1999-12-31 23:59:59\")",
    "(dateModify \"-36h\" (toDate \"2006-01-02\" \"2024-03-01\"))",
    "(toDate \"2006-01-02\" \"nonsense\")",
    "(mustToDate \"02 Jan 06 15:04 MST\" \"01 Feb 70 00:00 UTC\")",
];
const SEMVERS: &[&str] = &[
    "(semver \"1.2.3\")",
    "(semver \"v1.2.3-alpha.1+build.5\")",
    "(semver \"2\")",
    "(semver .Values.ver)",
    "(semver \"0.0.0\")",
];
const OBJECTS: &[&str] = &[
    ".",
    ".Values",
    ".Release",
    ".Chart",
    ".Files",
    ".Capabilities",
    ".Capabilities.KubeVersion",
    ".Capabilities.APIVersions",
    ".Template",
    ".Subcharts",
    ".Capabilities.HelmVersion",
    "(.Files.Glob \"files/**\")",
    ".Chart.Maintainers",
];

/// An argument of a kind. `small` keeps numbers small, for functions that allocate by them.
pub fn of(random: &mut Random, kind: Kind, small: bool) -> Arg {
    let source = match kind {
        Kind::Nil => random
            .pick(&["nil", "(index .Values.list 3)", "(fromJson \"{\\\"n\\\":null}\").n", "(first (list))"])
            .to_owned(),
        Kind::Missing => random
            .pick(&[".Values.missing", "(.Values.missing).x", ".Values.map.zzz", "(get .Values.map \"zzz\")"])
            .to_owned(),
        Kind::Bool => random.pick(BOOLS).to_owned(),
        Kind::Int if small => random.pick(SMALL_INTS).to_owned(),
        Kind::Int => random.pick(INTS).to_owned(),
        Kind::Int64 if small => random.pick(SMALL_INT64S).to_owned(),
        Kind::Int64 => random.pick(INT64S).to_owned(),
        Kind::Uint => random.pick(UINTS).to_owned(),
        // A duration or a repeat count of 1e30 is no test of a function but of memory.
        Kind::Float if small => {
            random.pick(&["1.5", "0.0", "2.0", "-1.0", ".Values.n1", ".Values.n3"]).to_owned()
        }
        Kind::Float => random.pick(FLOATS).to_owned(),
        Kind::Str if random.chance(40) => random.pick(STRINGS).to_owned(),
        Kind::Str => {
            let text = strings::any(random);
            strings::literal(random, &text)
        }
        Kind::List => random.pick(LISTS).to_owned(),
        Kind::TypedList => random.pick(TYPED_LISTS).to_owned(),
        Kind::Map => random.pick(MAPS).to_owned(),
        Kind::TypedMap => random.pick(TYPED_MAPS).to_owned(),
        Kind::Time => random.pick(TIMES).to_owned(),
        Kind::Semver => random.pick(SEMVERS).to_owned(),
        Kind::Object => random.pick(OBJECTS).to_owned(),
    };
    Arg::new(source, kind)
}

/// An argument of any kind.
pub fn any(random: &mut Random, small: bool) -> Arg {
    let kind = Kind::ALL[random.below(Kind::ALL.len())];
    of(random, kind, small)
}

//! Random templates over the whole language, and broken ones.

use crate::random::Random;
use crate::request::{File, RenderRequest};

use super::functions::{ALL, Nature};
use super::kinds::{self, Kind};
use super::{Case, Check, Family, calls, strings};

const PATHS: &[&str] = &[
    "$.Values",
    "$.Values.s",
    "$.Values.n1",
    "$.Values.frac",
    "$.Values.t",
    "$.Values.list",
    "$.Values.strs",
    "$.Values.map",
    "$.Values.map.a",
    "$.Values.map.d.e",
    "$.Values.nested.a.b.c",
    "$.Values.missing",
    "$.Values.map.zzz",
    "$.Values.i64",
    "$.Values.emptyMap",
    "$.Values.maps",
    "$.Values.labels",
    "$.Release.Name",
    "$.Release.Namespace",
    "$.Release.IsInstall",
    "$.Release.Revision",
    "$.Release.Service",
    "$.Release.Nope",
    "$.Chart.Name",
    "$.Chart.Version",
    "$.Chart.AppVersion",
    "$.Chart.IsRoot",
    "$.Chart.Annotations.note",
    "$.Capabilities.KubeVersion",
    "$.Capabilities.KubeVersion.Minor",
    "$.Capabilities.KubeVersion.GitVersion",
    "$.Template.Name",
    "$.Template.BasePath",
    "$.Values.uni",
    "$.Values.multi",
    "$.Values.port",
];

/// What can be piped into without knowing what comes.
const ANYTHING: &[&str] = &[
    "quote",
    "squote",
    "toJson",
    "toString",
    "default \"d\"",
    "typeOf",
    "kindOf",
    "not",
    "toYaml",
    "print",
    "empty",
    "list",
    "toPrettyJson",
    "html",
    "printf \"%v\"",
    "ternary 1 2 true",
    "dict \"k\"",
    "eq 1",
    "and true",
    "or false",
    "coalesce",
];

/// Paths that fail, or fail where the dot has moved.
const BAD_PATHS: &[&str] = &[
    ".",
    "$",
    ".Values.s",
    ".Values.map.a",
    ".Release.Name",
    ".Chart.Name",
    ".k",
    ".name",
    "$.Values.missing.x",
    "$.Values.s.x",
    "$.Values.list.k",
    "$.Chart.Nope",
    ".Files",
    "$.Capabilities.APIVersions.Has",
    "$.Files.Get",
    "$.Values.missing.deeper.still",
    "$.Values.nested.a.b.c.d",
    "$nope",
];

/// Builds one template text.
struct Builder<'a> {
    random: &'a mut Random,
    variables: Vec<String>,
    loops: usize,
    names: usize,
    out: String,
}

/// How deep blocks nest.
const TOP: usize = 3;

/// A template with one to four nodes at the top.
pub fn text(random: &mut Random) -> String {
    let mut builder =
        Builder { random, variables: vec!["$".to_owned()], loops: 0, names: 0, out: String::new() };
    for _ in 0..1 + builder.random.below(4) {
        builder.node(TOP);
    }
    builder.out
}

/// A well-formed template (which may still fail when it runs).
pub fn case(random: &mut Random) -> Case {
    let text = text(random);
    let mut request = RenderRequest::template(text);
    if random.chance(12) {
        // A second file, rendered before the first in reverse order: what `set` did must be seen or not.
        let second = self::text(random);
        request.files.push(File::new(
            random.pick(&["templates/a.txt", "templates/z.yaml", "templates/deep/x.txt"]),
            second,
        ));
    }
    request.upgrade = random.chance(5);
    Case::new(Family::Template, request, Check::Exact)
}

const TOKENS: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    "{{ end }}",
    "{{ else }}",
    "{{ else if }}",
    "{{ if }}",
    "{{ range }}",
    "{{ break }}",
    "{{ continue }}",
    "{{ define \"x\" }}",
    "{{ template }}",
    "{{/* ",
    "*/}}",
    "{{ nope }}",
    "\"",
    "`",
    "'",
    "(",
    ")",
    "|",
    "||",
    ":=",
    "=",
    "$",
    "$x",
    ".",
    "..",
    ",",
    "nil",
    "1",
    "0x",
    "1.2.3",
    "'ab'",
    "\\",
    "\n",
    "%",
    "@",
    "é",
    "\u{0}",
    " ",
    "end",
    "with",
    "{{ $x := 1 }}",
    "{{ block \"b\" . }}",
    "{{ .a.b. }}",
    "{{ 1 | 2 }}",
    "{{ nil }}",
    "{{ .Values.s 1 }}",
    "{{ else with }}",
    "{{ range $i, $j, $k := . }}",
    "{{ $undefined }}",
];

/// A template with a few letters or tokens too many or too few.
pub fn broken_case(random: &mut Random) -> Case {
    let mut text = text(random);
    if random.chance(60) {
        text = strings::damage(random, &text, TOKENS);
    } else {
        // Damage inside an action hits the parser more often than damage in text.
        let spots: Vec<usize> = text.match_indices("{{").map(|(i, _)| i + 2).collect();
        let at = random.pick(&spots).min(text.len());
        text.insert_str(at, random.pick(TOKENS));
    }
    Case::new(Family::Broken, RenderRequest::template(text), Check::Exact)
}

impl Builder<'_> {
    fn node(&mut self, depth: usize) {
        let choice = self.random.below(if depth == 0 { 9 } else { 20 });
        match choice {
            0 | 1 => {
                let text = self.random.pick(&[
                    "text",
                    " ",
                    "\n",
                    "a: b\n",
                    "  indented\n",
                    "é\n",
                    "{ }",
                    "<no value>",
                    "---\n",
                    "\t",
                    "x\r\n",
                ]);
                self.out += text;
            }
            2..=5 => {
                let pipeline = self.pipeline(2);
                self.action(&pipeline);
            }
            6 => {
                let comment =
                    self.random.pick(&["{{/* c */}}", "{{- /* c\n d */ -}}", "{{/**/}}", "{{- /* a */}}"]);
                self.out += comment;
            }
            7 => self.declare(),
            8 => self.assign(),
            9 | 10 => self.conditional(depth),
            11 | 12 => self.range(depth),
            13 => self.with(depth),
            14 => self.call_template(),
            15 => self.include(),
            16 => self.tpl(),
            17 if self.loops > 0 => {
                let word = self.random.pick(&["break", "continue"]);
                let condition = self.pipeline(1);
                self.out += &format!("{{{{ if {condition} }}}}{{{{ {word} }}}}{{{{ end }}}}");
            }
            17 | 18 => self.define(depth),
            _ => {
                let text = self.random.pick(&[
                    "{{ $_ := set .Values.map \"a\" 9 }}",
                    "{{ $d := dict }}{{ $_ := set $d \"k\" 1 }}{{ toJson $d }}",
                    "{{ fail \"stop\" }}",
                    "{{ required \"needed\" .Values.missing }}",
                    "{{ $_ := set $.Values \"added\" (list 1) }}{{ .Values.added }}",
                    "{{ range $k, $v := .Values.map }}{{ $k }}={{ $v }};{{ end }}",
                    "{{ with $x := .Values.nested }}{{ $x.a.b.c }}{{ end }}",
                    "{{ template \"nope\" . }}",
                    "{{ (.Files.Get \"files/lines.txt\") | indent 2 }}",
                    "{{ include \"count\" 5 }}",
                    "{{ lookup \"v1\" \"Secret\" \"ns\" \"x\" | toJson }}",
                    "{{ .Capabilities.APIVersions.Has \"apps/v1\" }}",
                ]);
                self.out += text;
            }
        }
    }

    fn action(&mut self, inside: &str) {
        let open = self.random.pick(&["{{ ", "{{ ", "{{- ", "{{"]);
        let close = self.random.pick(&[" }}", " }}", " -}}", "}}", "\n}}"]);
        // `{{-x` is a trim marker only before a space, and `{{/*` would be a comment.
        self.out += open;
        self.out += inside;
        self.out += close;
    }

    /// Mostly reads from the root: the dot moves in blocks.
    fn rooted(&mut self, source: String) -> String {
        if self.random.chance(8) {
            return source;
        }
        let mut out = String::with_capacity(source.len() + 8);
        let mut before = ' ';
        let mut letters = source.chars().peekable();
        while let Some(letter) = letters.next() {
            let field = letters.peek().is_some_and(|next| next.is_ascii_alphabetic());
            if letter == '.' && field && (before == ' ' || before == '(') {
                out.push('$');
            }
            out.push(letter);
            before = letter;
        }
        if out.contains(['"', '`']) { source } else { out }
    }

    fn rooted_of(&mut self, kind: Kind) -> String {
        let source = kinds::of(self.random, kind, true).source;
        self.rooted(source)
    }

    fn path(&mut self) -> String {
        let pool = if self.random.chance(7) { BAD_PATHS } else { PATHS };
        self.random.pick(pool).to_owned()
    }

    fn operand(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 7 } else { 11 }) {
            0..=2 => self.path(),
            3 | 4 => {
                let name = self.random.below(self.variables.len());
                let name = self.variables[name].clone();
                if name != "$" && self.random.chance(5) {
                    format!("{name}{}", self.random.pick(&[".a", ".x.y", ".Values"]))
                } else {
                    name
                }
            }
            5 => {
                let source = kinds::any(self.random, true).source;
                self.rooted(source)
            }
            6 => {
                let kind = [Kind::Str, Kind::Int, Kind::Bool, Kind::Float][self.random.below(4)];
                let source = kinds::of(self.random, kind, true).source;
                self.rooted(source)
            }
            7 => {
                let inner = self.pipeline(depth - 1);
                format!("({inner})")
            }
            8 => {
                let inner = self.pipeline(depth - 1);
                let field = self.random.pick(&[".a", ".b.c", ".Name", ".Values.s", ".x"]);
                format!("({inner}){field}")
            }
            _ => {
                let call = self.call(depth - 1, false);
                format!("({call})")
            }
        }
    }

    fn call(&mut self, depth: usize, piped: bool) -> String {
        let function = loop {
            let function = &ALL[self.random.below(ALL.len())];
            if matches!(function.nature, Nature::Plain | Nature::Small)
                && !function.only4
                && function.name != "getHostByName"
            {
                break function;
            }
        };
        let mut args = calls::arguments(self.random, function);
        if piped {
            args.pop();
        }
        let small = function.nature == Nature::Small;
        let sources: Vec<String> = args
            .into_iter()
            .map(|arg| {
                if depth > 0 && !small && self.random.chance(30) {
                    self.operand(depth - 1)
                } else {
                    self.rooted(arg.source)
                }
            })
            .collect();
        let mut out = function.name.to_owned();
        for source in sources {
            out.push(' ');
            out.push_str(&source);
        }
        out
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut out = match self.random.below(3) {
            0 => self.operand(depth),
            1 => self.path(),
            _ => self.call(depth, false),
        };
        for _ in 0..self.random.below(3) {
            out += " | ";
            out += &match self.random.below(20) {
                0..=16 => self.random.pick(ANYTHING).to_owned(),
                17 | 18 => self.random.pick(&["upper", "trim", "len", "indent 2"]).to_owned(),
                _ => self.call(depth.saturating_sub(1), true),
            };
        }
        out
    }

    fn fresh(&mut self) -> String {
        let name = format!("${}", ["x", "y", "zed", "v1", "é"][self.random.below(5)]);
        if !self.variables.contains(&name) {
            self.variables.push(name.clone());
        }
        name
    }

    fn declare(&mut self) {
        let pipeline = self.pipeline(2);
        let name = self.fresh();
        self.action(&format!("{name} := {pipeline}"));
    }

    fn assign(&mut self) {
        let pipeline = self.pipeline(1);
        let name = if self.random.chance(85) {
            let index = self.random.below(self.variables.len());
            self.variables[index].clone()
        } else {
            "$never".to_owned()
        };
        self.action(&format!("{name} = {pipeline}"));
    }

    /// Nodes of a block; variables declared inside end with it.
    fn body(&mut self, depth: usize) {
        let known = self.variables.len();
        for _ in 0..1 + self.random.below(3) {
            self.node(depth);
        }
        self.variables.truncate(known);
    }

    fn conditional(&mut self, depth: usize) {
        let condition = if self.random.chance(20) {
            let name = self.fresh();
            format!("{name} := {}", self.pipeline(1))
        } else {
            self.pipeline(1)
        };
        self.action(&format!("if {condition}"));
        self.body(depth - 1);
        for _ in 0..self.random.below(2) {
            let condition = self.pipeline(1);
            self.action(&format!("else if {condition}"));
            self.body(depth - 1);
        }
        if self.random.chance(50) {
            self.action("else");
            self.body(depth - 1);
        }
        self.action("end");
    }

    fn range(&mut self, depth: usize) {
        let kind = [
            Kind::List,
            Kind::TypedList,
            Kind::Map,
            Kind::TypedMap,
            Kind::Int,
            Kind::Int64,
            Kind::Nil,
            Kind::Missing,
            Kind::Str,
            Kind::Float,
        ][self.random.below(10)];
        let over = if self.random.chance(80) { self.rooted_of(kind) } else { self.operand(1) };
        let known = self.variables.len();
        let header = match self.random.below(4) {
            0 => format!("range {over}"),
            1 => format!("range {} := {over}", self.fresh()),
            2 => format!("range {}, {} := {over}", self.fresh(), self.fresh()),
            _ => format!("range $i, $e := {over}"),
        };
        if header.contains("$i, $e") {
            self.variables.extend(["$i".to_owned(), "$e".to_owned()]);
        }
        self.action(&header);
        self.loops += 1;
        self.body(depth - 1);
        self.loops -= 1;
        self.variables.truncate(known);
        if self.random.chance(40) {
            self.action("else");
            self.body(depth - 1);
        }
        self.action("end");
    }

    fn with(&mut self, depth: usize) {
        let inside = self.operand(2);
        let known = self.variables.len();
        let header = if self.random.chance(25) {
            format!("with {} := {inside}", self.fresh())
        } else {
            format!("with {inside}")
        };
        self.action(&header);
        self.body(depth - 1);
        if self.random.chance(25) {
            let other = self.operand(1);
            self.action(&format!("else with {other}"));
            self.body(depth - 1);
        }
        if self.random.chance(40) {
            self.action("else");
            self.body(depth - 1);
        }
        self.action("end");
        self.variables.truncate(known);
    }

    fn call_template(&mut self) {
        let name = self.random.pick_or(
            &["hello", "echo", "echo"],
            25,
            &["hole", "nested", "yaml", "d0", "d1", "nope"],
        );
        let data = if self.random.chance(80) { format!(" {}", self.operand(1)) } else { String::new() };
        self.action(&format!("template \"{name}\"{data}"));
    }

    fn include(&mut self) {
        let name = self.random.pick_or(
            &["hello", "echo", "echo"],
            25,
            &["hole", "nested", "yaml", "d0", "d1", "broken"],
        );
        let data = self.operand(1);
        let after =
            self.random.pick(&["", " | quote", " | nindent 4", " | trim | upper", " | fromYaml | toJson"]);
        self.action(&format!("include \"{name}\" {data}{after}"));
    }

    fn tpl(&mut self) {
        let mut inner = Builder {
            random: self.random,
            variables: vec!["$".to_owned()],
            loops: 0,
            names: 5,
            out: String::new(),
        };
        inner.node(1);
        let text = inner.out;
        let literal = strings::literal(self.random, &text);
        let data =
            self.random.pick(&[".", "$", ".Values", "nil", "(dict \"x\" 1)", "$.Values.map", "\"text\""]);
        self.action(&format!("tpl {literal} {data}"));
    }

    fn define(&mut self, depth: usize) {
        // A define inside another block is a parse error, which a few cases are enough for.
        let word =
            if depth == TOP && self.random.chance(70) || self.random.chance(4) { "define" } else { "block" };
        let data = if word == "block" { " ." } else { "" };
        let name = self.names.min(9);
        self.names += 1;
        self.action(&format!("{word} \"d{name}\"{data}"));
        let outside = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let loops = std::mem::take(&mut self.loops);
        self.body(depth - 1);
        self.variables = outside;
        self.loops = loops;
        self.action("end");
    }
}

//! `overrideValues`: variables of the environment, then a small template language.

use std::sync::OnceLock;

use podium_gotmpl::types::STRING;
use podium_gotmpl::{
    Call, Ctx, Error as CallError, Func, Functions, Heap, Limits, Machine, Templates, Texts, Type, Value,
    World,
};

/// Why a value cannot be expanded. The texts are those of the originals.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no template.
    #[error("invalid template string {text}: {error}")]
    Parse {
        /// The value, quoted.
        text: String,
        /// What is wrong with it.
        error: String,
    },
    /// The template failed.
    #[error("failed to execute template {text}: {error}")]
    Execute {
        /// The value, quoted.
        text: String,
        /// What happened.
        error: String,
    },
}

/// Variables by name; nothing for one that is not set.
pub type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Replaces `$name` and `${name}` as Go's `os.ExpandEnv` does; what is not set is empty.
pub fn variables(text: &str, environment: &Environment<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        match reference(after) {
            // A lone dollar stays.
            Reference::None => {
                out.push('$');
                rest = after;
            }
            Reference::Broken(length) => rest = after.get(length..).unwrap_or_default(),
            Reference::Name(name, length) => {
                out.push_str(&environment(name).unwrap_or_default());
                rest = after.get(length..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

/// What follows a dollar, with its length.
enum Reference<'t> {
    None,
    /// It looked like a name in braces and is dropped.
    Broken(usize),
    Name(&'t str, usize),
}

/// The one-letter variables of a shell.
const SPECIAL: &str = "*#$@!?-0123456789";

fn reference(text: &str) -> Reference<'_> {
    if let Some(inner) = text.strip_prefix('{') {
        if inner.chars().next().is_some_and(|c| SPECIAL.contains(c)) && inner.get(1..2) == Some("}") {
            return Reference::Name(inner.get(..1).unwrap_or_default(), 3);
        }
        return match inner.find('}') {
            None => Reference::Broken(1),
            Some(0) => Reference::Broken(2),
            Some(end) => Reference::Name(inner.get(..end).unwrap_or_default(), end + 2),
        };
    }
    let end = match text.chars().next() {
        Some(c) if SPECIAL.contains(c) => 1,
        _ => text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len()),
    };
    match text.get(..end) {
        Some(name) if end > 0 => Reference::Name(name, end),
        _ => Reference::None,
    }
}

/// What a value becomes: variables first, then the template that is left. The key names the template in errors.
pub fn value(
    key: &str,
    text: &str,
    environment: &Environment<'_>,
    world: &dyn World,
) -> Result<String, Error> {
    let text = variables(text, environment);
    // Most values have no template in them.
    if !text.contains("{{") {
        return Ok(text);
    }
    let shown = || String::from_utf8_lossy(&podium_gotmpl::gostr::quote(text.as_bytes())).into_owned();
    let mut templates = Templates::default();
    templates
        .add(key.as_bytes(), text.as_bytes(), library())
        .map_err(|error| Error::Parse { text: shown(), error: error.to_string() })?;
    let limits = Limits::default();
    let (heap, texts) = (Heap::new(limits.memory), Texts::default());
    let outside = Outside { world, environment };
    Machine::new(&heap, &outside, &templates, library(), &texts, limits)
        .render(key.as_bytes(), Value::Nil, |out| String::from_utf8_lossy(out).into_owned())
        .map_err(|error| Error::Execute { text: shown(), error: error.to_string() })
}

/// The world, with an environment.
struct Outside<'a> {
    world: &'a dyn World,
    environment: &'a Environment<'a>,
}

impl World for Outside<'_> {
    fn now(&self) -> (i64, u32) {
        self.world.now()
    }

    fn random(&self, buffer: &mut [u8]) {
        self.world.random(buffer);
    }

    fn local_zone(&self) -> &str {
        self.world.local_zone()
    }

    fn resolve_host(&self, name: &str) -> Result<String, String> {
        self.world.resolve_host(name)
    }

    fn variable(&self, name: &str) -> String {
        (self.environment)(name).unwrap_or_default()
    }

    fn out_of_time(&self) -> bool {
        self.world.out_of_time()
    }
}

/// Functions of Sprig that the small library of the originals has too.
const LIBRARY: &str = "\
     add add1 adler32sum ago all any append atoi b32dec b32enc b64dec b64enc base biggest cat ceil chunk \
     clean coalesce compact concat contains date dateInZone dateModify date_in_zone date_modify deepEqual \
     default dict dig dir div duration durationRound empty ext first float64 floor get getHostByName has \
     hasKey hasPrefix hasSuffix hello htmlDate htmlDateInZone indent initial int int64 isAbs join keys \
     kindIs kindOf last list lower max maxf min minf mod mul mustAppend mustChunk mustCompact mustDateModify \
     mustFirst mustFromJson mustHas mustInitial mustLast mustPrepend mustPush mustRegexFind mustRegexFindAll \
     mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse \
     mustSlice mustToDate mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify \
     nindent now omit osBase osClean osDir osExt osIsAbs pick pluck plural prepend push quote randInt \
     regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit \
     repeat replace rest reverse round seq set sha1sum sha256sum slice sortAlpha split splitList splitn \
     squote sub substr ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings trim \
     trimAll trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until \
     untilStep upper urlJoin urlParse values without";

/// What that library has and Helm's has not, or has otherwise.
static OWN: &[Func] = &[
    native("env", |cx, args| Ok(Value::string(cx.world.variable(&first(args))))),
    native("expandenv", |cx, args| {
        let environment = |name: &str| Some(cx.world.variable(name));
        Ok(Value::string(variables(&first(args), &environment)))
    }),
    native("fail", |_, args| Err(CallError::new(first(args)))),
    native("fromJson", |cx, args| {
        // Helm's reads mappings only; the strict one is Sprig's own.
        match podium_sprig::functions(&podium_sprig::Library::default()).get("mustFromJson").map(|f| f.call) {
            Some(Call::Native(code)) => Ok(code(cx, args).unwrap_or(Value::Nil)),
            _ => Ok(Value::Nil),
        }
    }),
];

type Native = for<'h> fn(&Ctx<'h>, &[Value<'h>]) -> Result<Value<'h>, CallError>;

/// One text.
static PARAMS: [&Type; 1] = [&STRING];

const fn native(name: &'static str, code: Native) -> Func {
    Func { name, params: &PARAMS, variadic: false, call: Call::Native(code) }
}

fn first(args: &[Value<'_>]) -> String {
    match args.first() {
        Some(Value::Str(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}

/// The functions, put together once.
fn library() -> &'static Functions {
    static ALL: OnceLock<Functions> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = podium_sprig::functions(&podium_sprig::Library::default());
        let builtin = Functions::builtin();
        let names: Vec<&str> = all.names().collect();
        let kept = |name: &str| LIBRARY.split(' ').any(|kept| kept == name) || builtin.get(name).is_some();
        names.into_iter().filter(|name| !kept(name)).for_each(|name| all.remove(name));
        all.extend(OWN);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        let set = [("A", "x"), ("B_1", "a b"), ("1", "one"), ("T", "{{ upper \"t\" }}"), ("*", "star")];
        set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn variables_are_replaced_as_go_does() {
        for (text, expected) in [
            ("", ""),
            ("$A", "x"),
            ("${A}y$B_1.", "xya b."),
            ("$", "$"),
            ("a$", "a$"),
            ("$ A", "$ A"),
            ("$$A", "A"),
            ("${}b", "b"),
            ("${A", "A"),
            ("${*}$*", "starstar"),
            ("$12", "one2"),
            ("${NOT}|$NOT", "|"),
            ("${A B}", ""),
            ("é$A", "éx"),
            ("$é", "$é"),
        ] {
            assert_eq!(variables(text, &environment), expected, "{text:?}");
        }
    }

    #[test]
    fn templates_run_after_variables_with_a_small_library() {
        let expand = |text: &str| value("k", text, &environment, &()).map_err(|e| e.to_string());
        assert_eq!(expand("$T").as_deref(), Ok("T"));
        assert_eq!(expand("{{ env \"A\" }}{{ \"b\" | upper }}").as_deref(), Ok("xB"));
        assert_eq!(expand("{{ (fromJson \"[1,2]\") | len }}").as_deref(), Ok("2"));
        assert_eq!(
            expand("{{ toYaml 1 }}").unwrap_err(),
            "invalid template string \"{{ toYaml 1 }}\": template: k:1: function \"toYaml\" not defined"
        );
        assert_eq!(
            expand("{{ fail \"no\" }}").unwrap_err(),
            "failed to execute template \"{{ fail \\\"no\\\" }}\": template: k:1:3: executing \"k\" at <fail \"no\">: \
             error calling fail: no"
        );
    }
}

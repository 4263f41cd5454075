//! Every function name with the roles of its arguments.

/// How a function's answer is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// The same input gives the same output.
    Plain,
    /// Numbers must stay small, or the call is a test of memory.
    Small,
    /// The output is random or depends on the clock: only its shape is compared.
    Random,
    /// As random, and so costly that only a few calls with good arguments are made.
    Slow,
}

/// A function: name, roles of its arguments, nature, and whether Helm 3 has it too.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name in templates.
    pub name: &'static str,
    /// Roles, separated by spaces; `*` repeats the rest zero to three times, `?` makes one optional.
    pub roles: &'static str,
    /// How it is judged.
    pub nature: Nature,
    /// Only in Helm 4.
    pub only4: bool,
}

macro_rules! table {
    ($($nature:ident $only4:literal: $($name:literal $roles:literal),+;)+) => {
        &[$($(Function { name: $name, roles: $roles, nature: Nature::$nature, only4: $only4 }),+),+]
    };
}

/// All 251 names of Helm 4.3; 238 of them are Helm 3.22's.
pub const ALL: &[Function] = table! {
    Plain false:
        // text/template's own
        "and" "any *any", "or" "any *any", "not" "any", "len" "seq", "index" "seq *index", "call" "any *any", "html" "str *any",
        "js" "str *any", "urlquery" "str *any", "print" "*any", "println" "*any", "printf" "format *any", "eq" "any same *same",
        "ne" "any same", "lt" "num same", "le" "num same", "gt" "num same", "ge" "num same",
        // strings
        "abbrev" "int str", "abbrevboth" "int int str", "trunc" "int str", "substr" "int int str", "trim" "str", "trimAll" "cutset str",
        "trimall" "cutset str", "trimPrefix" "word str", "trimSuffix" "word str", "nospace" "str", "initials" "str", "upper" "str",
        "lower" "str", "title" "str", "untitle" "str", "swapcase" "str", "snakecase" "str", "camelcase" "str", "kebabcase" "str",
        "wrap" "int str", "wrapWith" "int word str", "contains" "word str", "hasPrefix" "word str", "hasSuffix" "word str",
        "quote" "*any", "squote" "*any", "cat" "*any", "replace" "word word str", "plural" "word word int", "toString" "any",
        "toStrings" "list", "join" "word list", "split" "word str", "splitList" "word str", "splitn" "word int str", "sortAlpha" "list",
        "hello" "", "ternary" "any any bool",
        // numbers
        "add" "*num", "add1" "num", "sub" "num num", "div" "num num", "mod" "num num", "mul" "num *num", "max" "num *num", "min" "num *num",
        "biggest" "num *num", "addf" "*num", "add1f" "num", "subf" "num *num", "divf" "num *num", "mulf" "num *num", "maxf" "num *num",
        "minf" "num *num", "ceil" "num", "floor" "num", "round" "num int ?num", "int" "num", "int64" "num", "float64" "num", "atoi" "numtext",
        "toDecimal" "numtext",
        // lists
        "list" "*any", "tuple" "*any", "first" "list", "mustFirst" "list", "last" "list", "mustLast" "list", "rest" "list", "mustRest" "list",
        "initial" "list", "mustInitial" "list", "append" "list any", "mustAppend" "list any", "push" "list any", "mustPush" "list any",
        "prepend" "list any", "mustPrepend" "list any", "concat" "*list", "reverse" "list", "mustReverse" "list", "uniq" "list",
        "mustUniq" "list", "without" "list *any", "mustWithout" "list *any", "has" "any list", "mustHas" "any list", "compact" "list",
        "mustCompact" "list", "slice" "list *int", "mustSlice" "list *int", "chunk" "int list", "mustChunk" "int list",
        // dictionaries
        "dict" "*any", "get" "map key", "set" "map key any", "unset" "map key", "hasKey" "map key", "pluck" "key *map", "keys" "*one",
        "values" "one", "pick" "map *key", "omit" "map *key", "merge" "map *map", "mustMerge" "map *map", "mergeOverwrite" "map *map",
        "mustMergeOverwrite" "map *map", "dig" "key any map", "deepCopy" "any", "mustDeepCopy" "any", "deepEqual" "any any",
        // defaults and kinds
        "default" "any any", "empty" "any", "coalesce" "*any", "all" "*any", "any" "*any", "typeOf" "any", "typeIs" "type any",
        "typeIsLike" "type any", "kindOf" "any", "kindIs" "kind any", "fail" "str",
        // encodings and digests
        "b64enc" "str", "b64dec" "base64", "b32enc" "str", "b32dec" "base32", "sha1sum" "str", "sha256sum" "str", "sha512sum" "str",
        "adler32sum" "str", "decryptAES" "word cipher",
        "toJson" "any", "mustToJson" "any", "toPrettyJson" "any", "mustToPrettyJson" "any", "toRawJson" "any", "mustToRawJson" "any",
        "fromJson" "json", "mustFromJson" "json", "fromJsonArray" "json", "toYaml" "any", "toYamlPretty" "any", "fromYaml" "yaml",
        "fromYamlArray" "yaml", "toToml" "any", "fromToml" "toml",
        // regular expressions
        "regexMatch" "regex str", "mustRegexMatch" "regex str", "regexFind" "regex str", "mustRegexFind" "regex str",
        "regexFindAll" "regex str int", "mustRegexFindAll" "regex str int", "regexReplaceAll" "regex str replacement",
        "mustRegexReplaceAll" "regex str replacement", "regexReplaceAllLiteral" "regex str replacement",
        "mustRegexReplaceAllLiteral" "regex str replacement", "regexSplit" "regex str int", "mustRegexSplit" "regex str int",
        "regexQuoteMeta" "str",
        // versions, paths, addresses
        "semver" "version", "semverCompare" "constraint version", "base" "path", "dir" "path", "clean" "path", "ext" "path", "isAbs" "path",
        "osBase" "path", "osDir" "path", "osClean" "path", "osExt" "path", "osIsAbs" "path", "urlParse" "url", "urlJoin" "urlmap",
        "getHostByName" "word",
        // time that does not depend on the clock when it gets a time
        "toDate" "layout date", "mustToDate" "layout date", "duration" "seconds", "durationRound" "duration", "unixEpoch" "time",
        "dateModify" "duration time", "date_modify" "duration time", "mustDateModify" "duration time", "must_date_modify" "duration time",
        // Helm's
        "include" "name any", "tpl" "template any", "required" "str any", "lookup" "word word word word";
    Small false:
        "repeat" "int str", "indent" "int str", "nindent" "int str", "until" "int", "untilStep" "int int int", "seq" "*int";
    Random false:
        "now" "", "ago" "time", "date" "layout time", "dateInZone" "layout time zone", "date_in_zone" "layout time zone", "htmlDate" "time",
        "htmlDateInZone" "time zone", "uuidv4" "", "shuffle" "letters", "randAlpha" "int", "randAlphaNum" "int", "randAscii" "int",
        "randNumeric" "int", "randBytes" "int", "randInt" "int bound", "encryptAES" "word str", "buildCustomCert" "certb64 keyb64",
        "genCAWithKey" "word int pem", "genSelfSignedCertWithKey" "word ips names int pem", "genSignedCertWithKey" "word ips names int ca pem";
    Slow false:
        "bcrypt" "str", "htpasswd" "word str", "derivePassword" "int template-kind str str str", "genPrivateKey" "keytype",
        "genCA" "word int", "genSelfSignedCert" "word ips names int", "genSignedCert" "word ips names int ca";
    Plain true:
        "mustToYaml" "any", "mustToToml" "any", "mustToDuration" "durationarg", "durationSeconds" "durationarg",
        "durationMilliseconds" "durationarg", "durationMicroseconds" "durationarg", "durationNanoseconds" "durationarg",
        "durationMinutes" "durationarg", "durationHours" "durationarg", "durationDays" "durationarg", "durationWeeks" "durationarg",
        "durationRoundTo" "durationarg durationarg", "durationTruncateTo" "durationarg durationarg";
};

/// The function of a name.
pub fn find(name: &str) -> Option<&'static Function> {
    ALL.iter().find(|f| f.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_has_every_name_once() {
        let names: BTreeSet<_> = ALL.iter().map(|f| f.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert_eq!(ALL.len(), 251);
        assert_eq!(ALL.iter().filter(|f| !f.only4).count(), 238);
    }
}

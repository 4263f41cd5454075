//! Flags as data: one table makes the parser, the help, the completions and the reference.

use clap::{Arg, ArgAction, ArgMatches};

/// One flag.
#[derive(Clone, Copy)]
pub struct Flag {
    /// The long name.
    pub long: &'static str,
    /// The one-letter name.
    pub short: Option<char>,
    /// What it takes.
    pub takes: Takes,
    /// What it does, in a sentence.
    pub help: &'static str,
    /// Whether we do it.
    pub state: State,
}

/// What a flag takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing, or `=true` and `=false`.
    Switch,
    /// One value, with a name for the help.
    One(&'static str),
    /// A value each time it is given.
    Many(&'static str),
    /// Values with commas between them, each time it is given.
    List(&'static str),
    /// Optionally a value, behind `=`; the second text is what the bare flag means.
    Optional(&'static str, &'static str),
}

/// Whether a flag of Helm's does something here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It works.
    Works,
    /// It changes nothing in Helm either, for this command; so it is taken.
    Inert,
    /// It needs something that is not there; the text says what.
    Refused(&'static str),
}

impl Flag {
    /// A flag that works.
    pub const fn new(long: &'static str, takes: Takes, help: &'static str) -> Self {
        Self { long, short: None, takes, help, state: State::Works }
    }

    /// With a one-letter name.
    pub const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    /// One that Helm takes without effect.
    pub const fn inert(long: &'static str, takes: Takes) -> Self {
        Self {
            long,
            short: None,
            takes,
            help: "accepted; has no effect here, as in helm",
            state: State::Inert,
        }
    }

    /// One that is refused.
    pub const fn refused(long: &'static str, takes: Takes, why: &'static str) -> Self {
        Self { long, short: None, takes, help: "refused", state: State::Refused(why) }
    }

    /// For the parser.
    pub fn to_arg(self) -> Arg {
        let arg = Arg::new(self.long).long(self.long).help(self.help);
        let arg = match self.short {
            Some(short) => arg.short(short),
            None => arg,
        };
        let arg = match self.takes {
            Takes::Switch => arg
                .action(ArgAction::Append)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .hide_possible_values(true)
                .value_parser(parse_bool)
                .value_name("BOOL"),
            Takes::One(name) | Takes::Many(name) | Takes::List(name) => {
                arg.action(ArgAction::Append).value_name(name).allow_hyphen_values(true)
            }
            Takes::Optional(name, bare) => arg
                .action(ArgAction::Append)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value(bare)
                .value_name(name),
        };
        arg.hide(self.state != State::Works)
    }
}

/// What Go's `strconv.ParseBool` takes.
pub fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// The last value of a flag; nothing for a flag that the command does not have.
pub fn one<'m>(matches: &'m ArgMatches, flag: &str) -> Option<&'m str> {
    let values = matches.try_get_many::<String>(flag).ok().flatten();
    values.and_then(|mut values| values.next_back()).map(String::as_str)
}

/// All values of a flag, in order.
pub fn many(matches: &ArgMatches, flag: &str) -> Vec<String> {
    let values = matches.try_get_many::<String>(flag).ok().flatten();
    values.map(|values| values.cloned().collect()).unwrap_or_default()
}

/// All values of a flag whose values may be lists with commas and quotes.
pub fn list(matches: &ArgMatches, flag: &str) -> Vec<String> {
    many(matches, flag).iter().flat_map(|value| comma_separated(value)).collect()
}

/// Whether a switch is on.
pub fn on(matches: &ArgMatches, flag: &str) -> bool {
    let values = matches.try_get_many::<bool>(flag).ok().flatten();
    values.and_then(|mut values| values.next_back()).copied().unwrap_or(false)
}

/// Splits at commas; a field in double quotes may contain them.
fn comma_separated(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut field = String::new();
            let mut chars = quoted.char_indices().peekable();
            let mut end = quoted.len();
            while let Some((i, c)) = chars.next() {
                if c == '"' {
                    if chars.peek().is_some_and(|(_, next)| *next == '"') {
                        chars.next();
                    } else {
                        end = i + 1;
                        break;
                    }
                }
                field.push(c);
            }
            fields.push(field);
            match quoted.get(end..).and_then(|after| after.strip_prefix(',')) {
                Some(after) => rest = after,
                None => return fields,
            }
        } else {
            match rest.split_once(',') {
                Some((field, after)) => {
                    fields.push(field.to_owned());
                    rest = after;
                }
                None => {
                    fields.push(rest.to_owned());
                    return fields;
                }
            }
        }
    }
}

/// Complains about the first refused flag that was given.
pub fn refuse(table: &[Flag], matches: &ArgMatches) -> anyhow::Result<()> {
    for flag in table {
        // A command need not have all flags of a table.
        if let State::Refused(why) = flag.state
            && matches.try_contains_id(flag.long).is_ok()
            && matches.value_source(flag.long).is_some()
        {
            anyhow::bail!("--{} is not available: {why}", flag.long);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::comma_separated;

    #[test]
    fn quoted_fields_keep_their_commas() {
        assert_eq!(comma_separated("a,b"), ["a", "b"]);
        assert_eq!(comma_separated("\"a,b\",c"), ["a,b", "c"]);
        assert_eq!(comma_separated("\"a\"\"b\""), ["a\"b"]);
        assert_eq!(comma_separated(""), [""]);
    }
}

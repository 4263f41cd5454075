//! What the rules of a definition may cost at most.

use podium_meta::FieldError;

use crate::expressions::Compiled;
use crate::path::Path;
use crate::props::Props;

const PER_EXPRESSION: u64 = 10_000_000;
const TOGETHER: u64 = 100_000_000;
/// So many of the most expensive rules are named.
const NAMED: usize = 4;

/// How often a schema can occur in one object; nothing if nobody can tell.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    most: Option<u64>,
}

impl Scope {
    /// The root occurs once.
    pub fn root(_: &Props) -> Self {
        Self { most: Some(1) }
    }

    /// A schema inside another.
    pub fn inside(self, outer: &Props, _: &Props) -> Self {
        let bound = |most: Option<i64>| most.map(|most| u64::try_from(most).unwrap_or(0));
        let each = match outer.kind.as_str() {
            "object" if outer.additional.is_some() => bound(outer.max_properties),
            "array" => bound(outer.max_items),
            _ => Some(1),
        };
        Self { most: self.most.zip(each).map(|(most, each)| times(most, each)) }
    }

    /// What a rule costs here.
    pub fn cost(self, compiled: &Compiled) -> u64 {
        times(compiled.cost, self.most.unwrap_or(compiled.cardinality))
    }
}

fn times(cost: u64, often: u64) -> u64 {
    cost.saturating_mul(often)
}

/// The costs of all rules.
#[derive(Debug, Default)]
pub struct Costs {
    total: u64,
    expensive: Vec<(Path, u64)>,
}

impl Costs {
    /// Notes what an expression costs; it is told if that alone is too much, unless it was there before.
    pub fn observe(&mut self, at: &Path, what: &str, cost: u64, old: bool) -> Option<FieldError> {
        self.total = self.total.saturating_add(cost);
        if cost >= TOGETHER / 100 {
            self.expensive.push((at.clone(), cost));
            self.expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.expensive.truncate(NAMED);
        }
        (!old && cost > PER_EXPRESSION)
            .then(|| FieldError::forbidden(at, &exceeds(what, cost, PER_EXPRESSION)))
    }

    /// What is said if all together is too much.
    pub fn flaws(&self, at: &Path) -> Vec<FieldError> {
        if self.total <= TOGETHER {
            return Vec::new();
        }
        let detail =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let mut flaws: Vec<FieldError> =
            self.expensive.iter().map(|(at, _)| FieldError::forbidden(at, detail)).collect();
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        flaws.push(FieldError::forbidden(at, &exceeds(what, self.total, TOGETHER)));
        flaws
    }
}

fn exceeds(what: &str, cost: u64, most: u64) -> String {
    let factor = cost as f64 / most as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

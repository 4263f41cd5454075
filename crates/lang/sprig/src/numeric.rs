//! Arithmetic, counting and rounding.

use podium_gotmpl::types::{ANY, FLOAT64, INT, INTS, STRING};
use podium_gotmpl::{Ctx, Error, Func, Value};

use crate::args::{Outcome, any, func, int, rest, string, text, variadic};
use crate::cast::{to_float64, to_int64};
use crate::decimal::Decimal;
use crate::strconv::parse_int;

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("atoi", &[&STRING], |_, a| Ok(Value::Int(parse_int(text(a, 0), 10).0))),
    func("int64", &[&ANY], |_, a| Ok(Value::Int64(to_int64(any(a, 0))))),
    func("int", &[&ANY], |_, a| Ok(Value::Int(to_int64(any(a, 0))))),
    func("float64", &[&ANY], |_, a| Ok(Value::Float(to_float64(any(a, 0))))),
    func("toDecimal", &[&ANY], |_, a| Ok(Value::Int64(octal(any(a, 0))))),
    variadic("seq", &[&INT], seq),
    func("until", &[&INT], |cx, a| ints(cx, 0, int(a, 0), if int(a, 0) < 0 { -1 } else { 1 })),
    func("untilStep", &[&INT, &INT, &INT], |cx, a| ints(cx, int(a, 0), int(a, 1), int(a, 2))),
    func("add1", &[&ANY], |_, a| Ok(Value::Int64(to_int64(any(a, 0)).wrapping_add(1)))),
    variadic("add", &[&ANY], |_, a| Ok(Value::Int64(fold(&Value::Nil, a, i64::wrapping_add)))),
    func("sub", &[&ANY, &ANY], |_, a| {
        Ok(Value::Int64(to_int64(any(a, 0)).wrapping_sub(to_int64(any(a, 1)))))
    }),
    func("div", &[&ANY, &ANY], |_, a| divide(a, i64::wrapping_div)),
    func("mod", &[&ANY, &ANY], |_, a| divide(a, i64::wrapping_rem)),
    variadic("mul", &[&ANY, &ANY], |_, a| Ok(Value::Int64(fold(any(a, 0), rest(a, 1), i64::wrapping_mul)))),
    variadic("biggest", &[&ANY, &ANY], |_, a| Ok(Value::Int64(fold(any(a, 0), rest(a, 1), i64::max)))),
    variadic("max", &[&ANY, &ANY], |_, a| Ok(Value::Int64(fold(any(a, 0), rest(a, 1), i64::max)))),
    variadic("min", &[&ANY, &ANY], |_, a| Ok(Value::Int64(fold(any(a, 0), rest(a, 1), i64::min)))),
    func("add1f", &[&ANY], |cx, a| decimals(cx, any(a, 0), &[Value::Int(1)], |x, y| Ok(x.add(y)))),
    variadic("addf", &[&ANY], |cx, a| decimals(cx, &Value::Nil, a, |x, y| Ok(x.add(y)))),
    variadic("subf", &[&ANY, &ANY], |cx, a| decimals(cx, any(a, 0), rest(a, 1), |x, y| Ok(x.sub(y)))),
    variadic("mulf", &[&ANY, &ANY], |cx, a| decimals(cx, any(a, 0), rest(a, 1), |x, y| Ok(x.mul(y)))),
    variadic("divf", &[&ANY, &ANY], |cx, a| decimals(cx, any(a, 0), rest(a, 1), Decimal::div)),
    variadic("maxf", &[&ANY, &ANY], |_, a| Ok(Value::Float(fold_floats(a, larger)))),
    variadic("minf", &[&ANY, &ANY], |_, a| Ok(Value::Float(fold_floats(a, |x, y| -larger(-x, -y))))),
    func("ceil", &[&ANY], |_, a| Ok(Value::Float(to_float64(any(a, 0)).ceil()))),
    func("floor", &[&ANY], |_, a| Ok(Value::Float(to_float64(any(a, 0)).floor()))),
    variadic("round", &[&ANY, &INT, &FLOAT64], |_, a| Ok(Value::Float(round(a)))),
];

fn fold(first: &Value<'_>, more: &[Value<'_>], step: fn(i64, i64) -> i64) -> i64 {
    more.iter().fold(to_int64(first), |sum, value| step(sum, to_int64(value)))
}

fn fold_floats(args: &[Value<'_>], step: fn(f64, f64) -> f64) -> f64 {
    rest(args, 1).iter().fold(to_float64(any(args, 0)), |best, value| step(best, to_float64(value)))
}

/// Go's `math.Max`: infinity beats NaN, NaN beats numbers, and +0 is more than -0.
fn larger(x: f64, y: f64) -> f64 {
    if x == f64::INFINITY || y == f64::INFINITY {
        f64::INFINITY
    } else if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x == y {
        if x.is_sign_negative() { y } else { x }
    } else if x > y {
        x
    } else {
        y
    }
}

fn divide<'h>(args: &[Value<'h>], step: fn(i64, i64) -> i64) -> Outcome<'h> {
    match (to_int64(any(args, 0)), to_int64(any(args, 1))) {
        (_, 0) => Err(Error::new("runtime error: integer divide by zero")),
        (a, b) => Ok(Value::Int64(step(a, b))),
    }
}

fn octal(value: &Value<'_>) -> i64 {
    match parse_int(&podium_gotmpl::fmt::to_bytes(value), 8) {
        (n, true) => n,
        _ => 0,
    }
}

fn decimals<'h>(
    cx: &Ctx<'h>,
    first: &Value<'h>,
    more: &[Value<'h>],
    step: impl Fn(&Decimal, &Decimal) -> Result<Decimal, Error>,
) -> Outcome<'h> {
    let mut sum = Decimal::from_float(to_float64(first))?;
    cx.heap.for_a_while(|| {
        for value in more {
            cx.heap.charge(sum.cost())?;
            sum = step(&sum, &Decimal::from_float(to_float64(value))?)?;
        }
        Ok(Value::Float(sum.to_float()))
    })
}

/// Takes the numbers from `start` to before `stop`; none when the step leads away.
fn count(cx: &Ctx<'_>, start: i64, stop: i64, step: i64, mut take: impl FnMut(i64)) -> Result<(), Error> {
    const PORTION: u64 = 1024;
    let down = stop < start;
    if if down { step >= 0 } else { step <= 0 } {
        return Ok(());
    }
    let mut at = start;
    let mut taken = 0u64;
    while if down { at > stop } else { at < stop } {
        if taken.is_multiple_of(PORTION) {
            cx.heap.charge(PORTION as usize * size_of::<Value>())?;
        }
        take(at);
        taken += 1;
        at = at.wrapping_add(step);
    }
    Ok(())
}

fn ints<'h>(cx: &Ctx<'h>, start: i64, stop: i64, step: i64) -> Outcome<'h> {
    let mut numbers = Vec::new();
    count(cx, start, stop, step, |n| numbers.push(Value::Int(n)))?;
    Ok(cx.heap.typed_list(&INTS, numbers))
}

fn seq<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let toward = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, step, end) = match args.len() {
        1 => (1, toward(1, int(args, 0)), int(args, 0)),
        2 => (int(args, 0), toward(int(args, 0), int(args, 1)), int(args, 1)),
        3 => (int(args, 0), int(args, 1), int(args, 2)),
        _ => return string(""),
    };
    if end < start && step > 0 {
        return string("");
    }
    let mut out = Vec::new();
    count(cx, start, end.wrapping_add(toward(start, end)), step, |n| {
        if !out.is_empty() {
            out.push(b' ');
        }
        podium_gotmpl::fmt::value(&mut out, &Value::Int(n));
    })?;
    string(out)
}

fn round(args: &[Value<'_>]) -> f64 {
    let limit = match args.get(2) {
        Some(Value::Float(f)) => *f,
        _ => 0.5,
    };
    let power = power_of_ten(int(args, 1));
    let digit = power * to_float64(any(args, 0));
    // The fraction of an infinity is not a number in Go.
    let fraction = if digit.is_infinite() { f64::NAN } else { digit - digit.trunc() };
    let whole = if fraction >= limit { digit.ceil() } else { digit.floor() };
    whole / power
}

/// Go's `math.Pow(10, n)`, bit for bit: squarings of the fraction of 10 = 0.625 * 2^4.
fn power_of_ten(n: i64) -> f64 {
    match n {
        0 => return 1.0,
        1 => return 10.0,
        // Far beyond any float, as is everything from here.
        5000.. => return f64::INFINITY,
        ..=-5000 => return 0.0,
        _ => {}
    }
    let (mut fraction, mut exponent) = (1.0, 0i32);
    let (mut square, mut square_exponent) = (0.625, 4i32);
    let mut bits = n.unsigned_abs();
    while bits != 0 {
        if bits & 1 == 1 {
            fraction *= square;
            exponent += square_exponent;
        }
        square *= square;
        square_exponent *= 2;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        bits >>= 1;
    }
    if n < 0 {
        fraction = 1.0 / fraction;
        exponent = -exponent;
    }
    scale(fraction, exponent)
}

/// `fraction * 2^exponent`, rounded once: the first of two steps stays among normal floats and is exact.
fn scale(fraction: f64, exponent: i32) -> f64 {
    match exponent {
        2000.. => f64::INFINITY,
        1000.. => fraction * 2f64.powi(1000) * 2f64.powi(exponent - 1000),
        -1000.. => fraction * 2f64.powi(exponent),
        -1090.. => fraction * 2f64.powi(-500) * 2f64.powi(exponent + 500),
        _ => 0.0,
    }
}

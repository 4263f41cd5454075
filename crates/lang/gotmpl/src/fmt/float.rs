//! Go's `strconv.FormatFloat` for `float64`.

/// No number has more digits behind its point than this; what is asked for beyond are zeros. Rust's own
/// formatting takes no more than 65 535.
const MOST_DIGITS: usize = 1_100;

/// The decimal digits of a finite number and where its point is: `0.d1d2d3… × 10^point`.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

/// Reads the digits off Rust's exact exponent form.
fn digits_of(text: &str) -> Digits {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if digits.iter().all(|d| *d == b'0') {
        return Digits { digits: Vec::new(), point: 0 };
    }
    Digits { digits, point: exponent + 1 }
}

/// The shortest digits that read back as the same number; of two that are equally near, the even one.
fn shortest(f: f64) -> Digits {
    let text = format!("{f:e}");
    let count = text.split('e').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
    // Rust rounds ties up here; asked for the same number of digits, it rounds them to even as Go does.
    rounded(f, count)
}

/// So many significant digits, correctly rounded, without zeros at the end.
fn rounded(f: f64, significant: usize) -> Digits {
    // A float64 has at most 767 significant digits; more are zeros.
    let n = significant.clamp(1, 800);
    let mut d = digits_of(&format!("{f:.*e}", n - 1));
    while d.digits.last() == Some(&b'0') {
        d.digits.pop();
    }
    d
}

/// Formats as Go's `strconv.FormatFloat(f, verb, precision, 64)`; a negative precision means the shortest form.
pub fn format(f: f64, verb: u8, precision: i64) -> String {
    if f.is_nan() {
        return "NaN".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let negative = f.is_sign_negative();
    let f = f.abs();
    let mut out = String::new();
    if negative {
        out.push('-');
    }
    match verb {
        b'b' => binary(&mut out, f),
        b'x' | b'X' => hex(&mut out, f, verb, precision),
        b'e' | b'E' => {
            let d = if precision < 0 { shortest(f) } else { rounded(f, precision as usize + 1) };
            let fraction = if precision < 0 { d.digits.len().saturating_sub(1) } else { precision as usize };
            exponent_form(&mut out, &d, fraction, verb);
        }
        b'g' | b'G' => {
            let short = precision < 0;
            let mut precision = precision;
            let d = if short {
                let d = shortest(f);
                precision = 6;
                d
            } else {
                if precision == 0 {
                    precision = 1;
                }
                rounded(f, precision as usize)
            };
            let count = d.digits.len() as i64;
            let mut limit = precision;
            if limit > count && count >= i64::from(d.point) {
                limit = count;
            }
            if short {
                limit = 6;
            }
            let exponent = i64::from(d.point) - 1;
            if exponent < -4 || exponent >= limit {
                let kept = if short || precision > count { count } else { precision };
                exponent_form(&mut out, &d, (kept - 1).max(0) as usize, verb + b'e' - b'g');
            } else {
                point_form(&mut out, &d, (count - i64::from(d.point)).max(0) as usize);
            }
        }
        _ => {
            if precision < 0 {
                let d = shortest(f);
                let fraction = (d.digits.len() as i64 - i64::from(d.point)).max(0) as usize;
                point_form(&mut out, &d, fraction);
            } else {
                let fraction = (precision as usize).min(MOST_DIGITS);
                out.push_str(&format!("{f:.fraction$}"));
                out.extend(std::iter::repeat_n('0', precision as usize - fraction));
            }
        }
    }
    out
}

fn exponent_form(out: &mut String, d: &Digits, fraction: usize, verb: u8) {
    out.push(d.digits.first().copied().unwrap_or(b'0') as char);
    if fraction > 0 {
        out.push('.');
        for i in 1..=fraction {
            out.push(d.digits.get(i).copied().unwrap_or(b'0') as char);
        }
    }
    out.push(verb as char);
    let exponent = if d.digits.is_empty() { 0 } else { d.point - 1 };
    push_exponent(out, exponent);
}

fn push_exponent(out: &mut String, exponent: i32) {
    out.push(if exponent < 0 { '-' } else { '+' });
    out.push_str(&format!("{:02}", exponent.unsigned_abs()));
}

fn point_form(out: &mut String, d: &Digits, fraction: usize) {
    let digit = |i: i32| match usize::try_from(i) {
        Ok(i) => d.digits.get(i).copied().unwrap_or(b'0') as char,
        Err(_) => '0',
    };
    if d.point > 0 {
        for i in 0..d.point {
            out.push(digit(i));
        }
    } else {
        out.push('0');
    }
    if fraction > 0 {
        out.push('.');
        for i in 0..fraction {
            out.push(digit(d.point + i as i32));
        }
    }
}

/// Mantissa and exponent of a finite, non-negative number: `mantissa × 2^exponent`.
fn parts(f: f64) -> (u64, i32) {
    let bits = f.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) }
}

fn binary(out: &mut String, f: f64) {
    let (mantissa, exponent) = parts(f);
    out.push_str(&format!("{mantissa}p{exponent:+}"));
}

fn hex(out: &mut String, f: f64, verb: u8, precision: i64) {
    let (mut mantissa, mut exponent) = parts(f);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // One bit before the point, 60 after it: room for 15 hex digits.
        let shift = mantissa.leading_zeros() - 3;
        mantissa <<= shift;
        exponent = exponent - shift as i32 + 60;
    }
    if (0..15).contains(&precision) {
        let drop = (15 - precision as u32) * 4;
        let extra = mantissa & ((1 << drop) - 1);
        mantissa >>= drop;
        let half = 1u64 << (drop - 1);
        if extra > half || (extra == half && mantissa & 1 == 1) {
            mantissa += 1;
        }
        mantissa <<= drop;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let upper = verb == b'X';
    out.push_str(if upper { "0X" } else { "0x" });
    out.push(if mantissa >> 60 == 0 { '0' } else { '1' });
    mantissa <<= 4;
    let digit = |m: u64| char::from_digit((m >> 60) as u32, 16).unwrap_or('0');
    if precision < 0 && mantissa != 0 {
        out.push('.');
        while mantissa != 0 {
            out.push(if upper { digit(mantissa).to_ascii_uppercase() } else { digit(mantissa) });
            mantissa <<= 4;
        }
    } else if precision > 0 {
        out.push('.');
        for _ in 0..precision {
            out.push(if upper { digit(mantissa).to_ascii_uppercase() } else { digit(mantissa) });
            mantissa <<= 4;
        }
    }
    out.push(if upper { 'P' } else { 'p' });
    push_exponent(out, exponent);
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn shortest_general_form_switches_at_a_million() {
        for (f, want) in [
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (123_456.75, "123456.75"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (3.0, "3"),
            (0.0, "0"),
            (-0.0, "-0"),
            (1e100, "1e+100"),
            (f64::INFINITY, "+Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(format(f, b'g', -1), want);
        }
    }

    #[test]
    fn other_verbs() {
        assert_eq!(format(3.0, b'e', 6), "3.000000e+00");
        assert_eq!(format(2.5, b'f', 0), "2");
        assert_eq!(format(100000.0, b'g', 3), "1e+05");
        assert_eq!(format(123.456, b'g', 4), "123.5");
        assert_eq!(format(1.0, b'x', -1), "0x1p+00");
        assert_eq!(format(3.0, b'x', -1), "0x1.8p+01");
        assert_eq!(format(3.0, b'X', 2), "0X1.80P+01");
        assert_eq!(format(1.0, b'b', -1), "4503599627370496p-52");
        assert_eq!(format(0.0, b'x', 3), "0x0.000p+00");
    }
}

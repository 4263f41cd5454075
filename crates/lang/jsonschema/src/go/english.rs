//! Numbers as the messages show them: in English, with commas, and with powers of ten in small print.

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A whole number.
pub(crate) fn integer(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(&n.unsigned_abs().to_string()))
}

/// A number with as many digits as it needs.
pub(crate) fn float(f: f64) -> String {
    let sign = if f.is_sign_negative() { "-" } else { "" };
    if f.is_infinite() {
        return format!("{sign}∞");
    }
    // The shortest digits that lead back to the same number, as `d.ddde-7`.
    let text = format!("{:e}", f.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        return format!("{sign}{mantissa}×10{}", superscript(exponent));
    }
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let whole = usize::try_from(exponent + 1).unwrap_or_default();
    if exponent < 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or_default());
        return format!("{sign}0.{zeros}{digits}");
    }
    match digits.split_at_checked(whole) {
        Some((whole, "")) => format!("{sign}{}", grouped(whole)),
        Some((whole, fraction)) => format!("{sign}{}.{fraction}", grouped(whole)),
        None => format!("{sign}{}", grouped(&format!("{digits:0<whole$}"))),
    }
}

/// An exponent of at least two digits.
fn superscript(exponent: i32) -> String {
    let digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let raised = |c: char| c.to_digit(10).and_then(|d| digits.chars().nth(d as usize)).unwrap_or(c);
    let number: String = format!("{:02}", exponent.unsigned_abs()).chars().map(raised).collect();
    if exponent < 0 { format!("⁻{number}") } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_the_original_prints_them() {
        let floats = [
            (8080.0, "8,080"),
            (100_000_000.0, "1×10⁰⁸"),
            (-1.5e-7, "-1.5×10⁻⁰⁷"),
            (1_234_567.125, "1.234567125×10⁰⁶"),
            (123_456.789_012, "123,456.789012"),
            (1.5e300, "1.5×10³⁰⁰"),
            (-0.1, "-0.1"),
            (0.0, "0"),
            (0.000_123, "0.000123"),
            (999_999.0, "999,999"),
            (100.0, "100"),
            (f64::INFINITY, "∞"),
        ];
        for (f, want) in floats {
            assert_eq!(float(f), want);
        }
        assert_eq!(integer(1_234_567), "1,234,567");
        assert_eq!(integer(-999), "-999");
        assert_eq!(integer(i64::MIN), "-9,223,372,036,854,775,808");
    }
}

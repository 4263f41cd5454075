//! Answers of Sprig 3.3 (built with Go 1.26), recorded, and the shape of what is random.
//!
//! A line is a function, its arguments and the answer. `s:` is a text with `%` escapes, `k:` a key of `keys.txt`,
//! `p:` a PEM block, `b:` the base64 of what follows. Certificates were made here, with the random numbers below, then
//! rebuilt by Go from the same serial number and time: all bytes were equal (of ECDSA, all but the signature, which
//! Go verified).

#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::Cell;
use std::collections::BTreeMap;

use podium_gotmpl::{Call, Ctx, Heap, Value, World};
use podium_sprig::{crypto, encoding};

/// The same time and the same random bytes for every case.
struct Fixed(Cell<u64>);

impl World for Fixed {
    fn now(&self) -> (i64, u32) {
        (1_763_000_000, 5)
    }

    fn random(&self, buffer: &mut [u8]) {
        for byte in buffer {
            let mut state = self.0.get();
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            self.0.set(state);
            *byte = (state >> 24) as u8;
        }
    }
}

fn pem(label: &str, base64: &str) -> String {
    let lines: Vec<&str> =
        base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let body = if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" };
    format!("-----BEGIN {label}-----\n{body}-----END {label}-----\n")
}

fn keys() -> BTreeMap<&'static str, String> {
    let lines = include_str!("crypto/keys.txt").lines().map(|line| line.split('\t').collect::<Vec<_>>());
    lines.map(|parts| (parts[0], pem(parts[1], parts[2]))).collect()
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    out
}

fn value<'h>(token: &str, keys: &BTreeMap<&str, String>, heap: &'h Heap<'h>) -> Value<'h> {
    let (kind, rest) = token.split_once(':').unwrap();
    let text = |token: &str| value(token, keys, heap).as_str().unwrap().to_vec();
    match kind {
        "s" => Value::string(unescape(rest)),
        "k" => Value::string(keys[rest].clone()),
        "p" => Value::string(rest.split_once(':').map(|(label, base64)| pem(label, base64)).unwrap()),
        "b" => Value::string(encoding::base64_encode(&text(rest))),
        "i" => Value::Int(rest.parse().unwrap()),
        "u" => Value::Uint64(rest.parse().unwrap()),
        "f" => Value::Float(rest.parse().unwrap()),
        "t" => Value::Bool(rest == "true"),
        "n" => Value::Nil,
        "l" => heap.list(rest.split(',').filter(|t| !t.is_empty()).map(|t| value(t, keys, heap)).collect()),
        "c" => {
            let (cert, key) = rest.split_once('|').unwrap();
            heap.structure(&crypto::CERTIFICATE, vec![value(cert, keys, heap), value(key, keys, heap)])
        }
        _ => panic!("{token}"),
    }
}

/// Calls a function in the fixed world; errors come as text.
fn call<'h>(
    name: &str,
    args: &[Value<'h>],
    heap: &'h Heap<'h>,
    world: &'h dyn World,
) -> Result<Value<'h>, Vec<u8>> {
    let func = crypto::FUNCS.iter().find(|f| f.name == name).unwrap();
    assert_eq!(func.params.len(), args.len(), "{name}");
    let Call::Native(code) = func.call else { panic!("{name}") };
    code(&Ctx { heap, world }, args).map_err(|e| e.message)
}

fn check(cases: &str) {
    let keys = keys();
    let mut count = 0;
    for line in cases.lines() {
        let heap = Heap::new(1 << 26);
        let world = Fixed(Cell::new(0x9e37_79b9_7f4a_7c15));
        let mut parts = line.split('\t');
        let name = parts.next().unwrap();
        let args: Vec<Value> =
            parts.by_ref().take_while(|t| *t != "=>").map(|t| value(t, &keys, &heap)).collect();
        let answer = parts.next().unwrap();
        let got = call(name, &args, &heap, &world);
        match answer.strip_prefix("e:") {
            Some(error) => assert_eq!(
                got.map_err(|e| String::from_utf8_lossy(&e).into_owned()).err(),
                Some(String::from_utf8_lossy(&unescape(error)).into_owned()),
                "{line}"
            ),
            None => {
                let (got, expected) = (got.unwrap(), value(answer, &keys, &heap));
                assert_eq!(texts(&got), texts(&expected), "{line}");
            }
        }
        count += 1;
    }
    assert!(count > 3, "cases were read");
}

/// The texts of a string or of a certificate; a number as text.
fn texts(value: &Value<'_>) -> Vec<String> {
    match value {
        Value::Struct(s) => s.fields.iter().flat_map(texts).collect(),
        Value::Int(i) => vec![i.to_string()],
        other => vec![String::from_utf8_lossy(other.as_str().unwrap()).into_owned()],
    }
}

#[test]
fn checksums_ciphers_and_passwords_are_those_of_sprig() {
    check(include_str!("crypto/plain.txt"));
}

#[test]
fn keys_that_go_refuses_are_refused_in_its_words() {
    check(include_str!("crypto/badkeys.txt"));
}

#[test]
fn certificates_that_go_refuses_are_refused_in_its_words() {
    check(include_str!("crypto/badcerts.txt"));
}

#[test]
fn certificates_have_the_bytes_that_go_gives_them() {
    check(include_str!("crypto/issued.txt"));
}

#[test]
fn the_same_world_gives_the_same_secrets() {
    check(include_str!("crypto/repeated.txt"));
}

#[test]
fn a_new_authority_signs_a_certificate() {
    let heap = Heap::new(1 << 26);
    let world = Fixed(Cell::new(7));
    let ca = call("genCA", &[Value::string("ca"), Value::Int(1)], &heap, &world).unwrap();
    assert_eq!(ca.type_name(), "sprig.certificate");
    let Value::Struct(parts) = &ca else { panic!("a struct") };
    // What was made can be read again, and belongs together: a wrong key would be noticed.
    let key = parts.fields[1].clone();
    let args = [Value::string("x"), heap.list(vec![]), heap.list(vec![]), Value::Int(1), ca.clone(), key];
    let signed = call("genSignedCertWithKey", &args, &heap, &world).unwrap();
    assert_eq!(texts(&signed)[1], texts(&ca)[1]);
}

#[test]
fn keys_are_made_in_a_world_without_chance() {
    let heap = Heap::new(1 << 26);
    for (kind, label) in [("dsa", "DSA PRIVATE KEY"), ("ecdsa", "EC PRIVATE KEY"), ("ed25519", "PRIVATE KEY")]
    {
        let key = call("genPrivateKey", &[Value::string(kind)], &heap, &()).unwrap();
        assert!(texts(&key)[0].starts_with(&format!("-----BEGIN {label}-----\n")), "{kind}");
    }
}

#[test]
fn random_text_has_its_alphabet_and_length() {
    let alphabets: [(&str, fn(char) -> bool, usize); 4] = [
        ("randAlpha", |c| c.is_ascii_alphabetic(), 52),
        ("randNumeric", |c| c.is_ascii_digit(), 10),
        ("randAlphaNum", |c| c.is_ascii_alphanumeric(), 62),
        ("randAscii", |c| (' '..='~').contains(&c), 95),
    ];
    let heap = Heap::new(1 << 26);
    let world = Fixed(Cell::new(1));
    for (name, inside, size) in alphabets {
        let text = texts(&call(name, &[Value::Int(5000)], &heap, &world).unwrap()).remove(0);
        assert_eq!(text.len(), 5000);
        assert!(text.chars().all(inside), "{name}");
        assert_eq!(text.chars().collect::<std::collections::HashSet<_>>().len(), size, "{name}");
    }
    let id = texts(&call("uuidv4", &[], &heap, &world).unwrap()).remove(0);
    assert_eq!((id.len(), &id[14..15], id.matches('-').count()), (36, "4", 4));
    assert!("89ab".contains(&id[19..20]));
    let mut shuffled: Vec<char> =
        texts(&call("shuffle", &[Value::string("ünïcödé")], &heap, &world).unwrap())[0].chars().collect();
    shuffled.sort_unstable();
    let mut letters: Vec<char> = "ünïcödé".chars().collect();
    letters.sort_unstable();
    assert_eq!(shuffled, letters);
}

#[test]
fn random_text_is_paid_for() {
    let heap = Heap::new(1000);
    for name in ["randAscii", "randBytes"] {
        let error = call(name, &[Value::Int(1 << 40)], &heap, &()).err().unwrap();
        assert_eq!(error, b"the render passed its memory limit (1000)");
    }
}

#[test]
fn a_monstrous_key_is_refused_before_it_takes_all_day() {
    let heap = Heap::new(1 << 26);
    let mut number = vec![0x02, 0x83, 0x10, 0x00, 0x01, 0x00];
    number.resize(number.len() + (1 << 20), 0xff);
    let small = [0x02, 0x01, 0x01];
    let content = [&small[..], &number, &small, &number, &number, &number, &small, &small, &small].concat();
    let header = [&[0x30, 0x83][..], &(content.len() as u32).to_be_bytes()[1..]].concat();
    let base64 = String::from_utf8(encoding::base64_encode(&[header, content].concat())).unwrap();
    let args = [Value::string("x"), Value::Int(1), Value::string(pem("RSA PRIVATE KEY", &base64))];
    let error = call("genCAWithKey", &args, &heap, &()).err().unwrap();
    assert!(String::from_utf8_lossy(&error).contains("key size limit (16384)"));
}

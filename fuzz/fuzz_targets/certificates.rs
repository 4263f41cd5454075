//! Bytes as certificates, as private keys and as encrypted text.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use podium_gotmpl::{Call, Ctx, Heap, Value};
use podium_sprig::{crypto, encoding};

/// A certificate and a key that are all right.
static GOOD: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let heap = Heap::new(1 << 20);
    let Ok(Value::Str(key)) = call("genPrivateKey", &[Value::string("ed25519")], &heap) else {
        panic!("a key can be made")
    };
    let args = [Value::string("ca"), Value::Int(1), Value::Str(key)];
    let Ok(Value::Struct(ca)) = call("genCAWithKey", &args, &heap) else {
        panic!("an authority can be made")
    };
    let text = |i: usize| ca.fields[i].as_str().map(|s| s.to_vec()).unwrap_or_default();
    (text(0), text(1))
});

fn call<'h>(name: &str, args: &[Value<'h>], heap: &'h Heap<'h>) -> Result<Value<'h>, podium_gotmpl::Error> {
    let func = crypto::FUNCS.iter().find(|f| f.name == name);
    match func.map(|f| f.call) {
        Some(Call::Native(code)) => code(&Ctx { heap, world: &() }, args),
        _ => Err("no such function".into()),
    }
}

fn pem(label: &str, bytes: &[u8]) -> Vec<u8> {
    let body = encoding::base64_encode(bytes);
    [format!("-----BEGIN {label}-----\n").as_bytes(), &body, format!("\n-----END {label}-----\n").as_bytes()]
        .concat()
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let heap = Heap::new(1 << 20);
    let base64 = |text: &[u8]| Value::string(encoding::base64_encode(text));
    let (cert, key) = &*GOOD;
    let labels = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"];
    let outcome = match choice % 8 {
        0 => call("buildCustomCert", &[base64(&pem("CERTIFICATE", rest)), base64(key)], &heap),
        1 => call("buildCustomCert", &[base64(rest), base64(key)], &heap),
        2 => call("buildCustomCert", &[base64(cert), base64(rest)], &heap),
        3 => call("decryptAES", &[Value::string("key"), Value::string(rest.to_vec())], &heap),
        other => {
            let label = labels[usize::from(other - 4)];
            let ca = heap.structure(
                &crypto::CERTIFICATE,
                vec![Value::string(cert.clone()), Value::string(key.clone())],
            );
            let lists = [heap.list(vec![]), heap.list(vec![])];
            let [ips, names] = lists;
            let args = [Value::string("x"), ips, names, Value::Int(1), ca, Value::string(pem(label, rest))];
            call("genSignedCertWithKey", &args, &heap)
        }
    };
    let _ = outcome.map_err(|error| error.to_string());
});

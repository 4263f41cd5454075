//! Puts the stacks of the repository into the binary, so that it needs nothing else, and lays the binary out.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What of a stack an operator and its users need; how it is published stays in the repository.
const PARTS: &[&str] = &["crds/", "examples/", "helm-charts/", "watches"];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../stacks");
    println!("cargo::rerun-if-changed={}", root.display());
    lay_out();
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut text = String::from("pub static FILES: &[(&str, &[u8])] = &[\n");
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let is_part = |(_, part): (&str, &str)| PARTS.iter().any(|start| part.starts_with(start));
        if name.split_once('/').is_some_and(is_part) {
            let path = fs::canonicalize(&file).unwrap_or(file);
            let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
        }
    }
    text.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("stacks.rs");
    if let Err(error) = fs::write(&out, text) {
        println!("cargo::error={}: {error}", out.display());
    }
}

/// How the linker arranges the program.
fn lay_out() {
    let is = |name: &str, value: &str| {
        env::var(format!("CARGO_CFG_TARGET_{name}")).is_ok_and(|all| all.split(',').any(|one| one == value))
    };
    if !is("ENV", "gnu") {
        return;
    }
    // The addresses that a program has to mend when it starts take a twentieth of the room: every start reads them all.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    println!("cargo::rerun-if-changed=layout.txt");
    println!("cargo::rerun-if-env-changed=PODIUM_LAYOUT");
    // What people get (make build) is linked by Rust's own linker, which takes a list of what stands side by side; names
    // that are gone are passed over. Who writes the list anew (make layout) needs a program with names in it.
    let listed = env::var("PODIUM_LAYOUT").map_or(true, |how| how != "record");
    if listed && is("FEATURE", "crt-static") && is("ARCH", "x86_64") && is("OS", "linux") {
        let list = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("layout.txt");
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={}", list.display());
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering,--strip-all");
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

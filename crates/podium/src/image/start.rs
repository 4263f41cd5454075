//! Whether the program of an image without a base can start.

use std::path::{Path, PathBuf};

/// Why a program would not start in an image of these files and folders, each with its place there; nothing if it would, as
/// far as that can be seen.
pub fn trouble(program: &str, files: &[(String, String)]) -> Option<String> {
    // A name alone is looked for along PATH, which may be anything.
    if !program.starts_with('/') {
        return None;
    }
    let Some(file) = found(program, files) else {
        return Some(format!("it has no {program}"));
    };
    let needed = interpreter(&std::fs::read(&file).ok()?)?;
    found(&needed, files).is_none().then(|| {
        format!(
            "{program} needs {needed}, which is not in it: build the program static (of podium: make build), or give the \
             image a base with --from"
        )
    })
}

/// Which file becomes a path of the image.
fn found(path: &str, files: &[(String, String)]) -> Option<PathBuf> {
    let path = Path::new(path);
    let under = |(from, to): &(String, String)| {
        let to = Path::new("/").join(to);
        let rest = path.strip_prefix(&to).ok()?;
        let file = if rest.as_os_str().is_empty() { PathBuf::from(from) } else { Path::new(from).join(rest) };
        file.is_file().then_some(file)
    };
    files.iter().rev().find_map(under)
}

/// The program that loads an ELF file (64 bits, little endian), or a script.
fn interpreter(data: &[u8]) -> Option<String> {
    if let Some(rest) = data.strip_prefix(b"#!") {
        let line = rest.split(|byte| *byte == b'\n').next()?;
        let text = String::from_utf8_lossy(line);
        return text.split_whitespace().next().map(str::to_owned);
    }
    data.strip_prefix(b"\x7fELF\x02\x01")?;
    let number = |at: usize, size: usize| -> Option<usize> {
        let bytes = data.get(at..at.checked_add(size)?)?;
        let value = bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        usize::try_from(value).ok()
    };
    let (table, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    for index in 0..count {
        let at = table.checked_add(index.checked_mul(size)?)?;
        // PT_INTERP
        if number(at, 4)? == 3 {
            let (offset, length) = (number(at.checked_add(8)?, 8)?, number(at.checked_add(32)?, 8)?);
            let name = data.get(offset..offset.checked_add(length)?)?;
            return Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let folder = std::env::temp_dir().join(format!("podium-start-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, data: &[u8]| {
            std::fs::write(folder.join(name), data).unwrap();
            folder.join(name).display().to_string()
        };
        let script = write("script", b"#!/bin/sh -e\necho\n");
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64 + 56, 0);
        elf[0x20] = 64;
        elf[0x36] = 56;
        elf[0x38] = 1;
        let fixed = write("static", &elf);
        elf[64] = 3;
        elf[64 + 8] = 120;
        elf[64 + 32] = 7;
        elf.extend_from_slice(b"/lib/x\0");
        let moving = write("dynamic", &elf);
        let whole = folder.display().to_string();
        let of = |program: &str, files: &[(&str, &str)]| {
            let files: Vec<(String, String)> =
                files.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
            trouble(program, &files).unwrap_or_default()
        };
        assert_eq!(of("/podium", &[(&fixed, "/podium")]), "");
        assert_eq!(of("/bin/static", &[(&whole, "/bin")]), "");
        assert_eq!(of("podium", &[]), "");
        assert_eq!(of("/podium", &[(&fixed, "/other")]), "it has no /podium");
        assert!(of("/run", &[(&script, "run")]).contains("needs /bin/sh"));
        assert!(of("/run", &[(&moving, "/run")]).contains("needs /lib/x"));
        assert_eq!(of("/run", &[(&moving, "/run"), (&fixed, "/lib/x")]), "");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

//! Bytes as an archive, as what is inside the compression, or as files; whatever loads is rendered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_chart::capabilities::Capabilities;
use podium_chart::dialect::{Dialect, HELM3, HELM4};
use podium_chart::load::load_archive_bytes;
use podium_chart::manifest;
use podium_chart::render::Release;
use podium_chart::renderer::Renderer;
use podium_chart::values::Values;
use podium_gotmpl::Limits;

static DIALECTS: [Dialect; 2] = [HELM4, HELM3];

const LIMITS: Limits = Limits { steps: 100_000, depth: 1_000, output: 1 << 20, memory: 1 << 22 };

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let dialect = &DIALECTS[usize::from(choice & 1)];
    let archive = match choice >> 1 & 3 {
        0 => rest.to_vec(),
        1 => gzip(rest),
        _ => gzip(&tar(rest)),
    };
    match load_archive_bytes(&archive, "fuzz.tgz", dialect) {
        Ok(loaded) => render(Renderer::new(loaded.chart, dialect), dialect),
        Err(error) => {
            let _ = error.to_string();
        }
    }
});

fn render(renderer: Renderer, dialect: &Dialect) {
    if renderer.check().is_err() {
        return;
    }
    let Ok(prepared) = renderer.prepare(&Values::default(), true) else { return };
    let release =
        Release { name: "r".to_owned(), namespace: "default".to_owned(), is_upgrade: false, revision: 1 };
    let Ok(mut files) = renderer.render(&prepared, &release, &Capabilities::default(), &(), LIMITS) else {
        return;
    };
    let _ = manifest::take_notes(&mut files, &renderer.chart().metadata.name, true);
    if let Ok(sorted) = manifest::sort(&files, dialect) {
        let _ = manifest::print(&sorted, &[], &Default::default());
    }
}

/// The input as files: a line is a path, what follows up to the next line of three dots is its content.
fn tar(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let text = String::from_utf8_lossy(input);
    for file in text.split("\n...\n") {
        let (path, content) = file.split_once('\n').unwrap_or((file, ""));
        let mut header = [0u8; 512];
        let name = format!("c/{path}");
        for (to, from) in header.iter_mut().take(100).zip(name.bytes()) {
            *to = from;
        }
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(content.as_bytes());
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

/// A gzip stream of uncompressed blocks.
fn gzip(content: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let chunks: Vec<&[u8]> = content.chunks(0xffff).collect();
    for (at, chunk) in chunks.iter().enumerate() {
        let length = chunk.len() as u16;
        out.push(u8::from(at + 1 == chunks.len()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(chunk);
    }
    if chunks.is_empty() {
        out.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    out.extend_from_slice(&crc32(content).to_le_bytes());
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

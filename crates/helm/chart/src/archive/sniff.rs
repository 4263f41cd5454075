//! What a file seems to be, by its first bytes: Helm names it when a chart archive is none.

/// How many bytes are looked at.
const LENGTH: usize = 512;

const HTML: &str = "text/html; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
const BINARY: &str = "application/octet-stream";

const HTML_TAGS: &[&str] = &[
    "<!DOCTYPE HTML",
    "<HTML",
    "<HEAD",
    "<SCRIPT",
    "<IFRAME",
    "<H1",
    "<DIV",
    "<FONT",
    "<TABLE",
    "<A",
    "<STYLE",
    "<TITLE",
    "<B",
    "<BODY",
    "<BR",
    "<P",
    "<!--",
];

/// Bytes at the start, bytes at an offset, and the type that both together mean; the first row that fits wins.
const MAGIC: &[(&[u8], usize, &[u8], &str)] = &[
    (b"%PDF-", 0, b"", "application/pdf"),
    (b"%!PS-Adobe-", 0, b"", "application/postscript"),
    (b"\xFE\xFF", 0, b"", "text/plain; charset=utf-16be"),
    (b"\xFF\xFE", 0, b"", "text/plain; charset=utf-16le"),
    (b"\xEF\xBB\xBF", 0, b"", PLAIN),
    (b"\x00\x00\x01\x00", 0, b"", "image/x-icon"),
    (b"\x00\x00\x02\x00", 0, b"", "image/x-icon"),
    (b"BM", 0, b"", "image/bmp"),
    (b"GIF87a", 0, b"", "image/gif"),
    (b"GIF89a", 0, b"", "image/gif"),
    (b"RIFF", 8, b"WEBPVP", "image/webp"),
    (b"\x89PNG\x0D\x0A\x1A\x0A", 0, b"", "image/png"),
    (b"\xFF\xD8\xFF", 0, b"", "image/jpeg"),
    (b"FORM", 8, b"AIFF", "audio/aiff"),
    (b"ID3", 0, b"", "audio/mpeg"),
    (b"OggS\x00", 0, b"", "application/ogg"),
    (b"MThd\x00\x00\x00\x06", 0, b"", "audio/midi"),
    (b"RIFF", 8, b"AVI ", "video/avi"),
    (b"RIFF", 8, b"WAVE", "audio/wave"),
];

/// The rows that come after the check for MP4.
const LATE_MAGIC: &[(&[u8], usize, &[u8], &str)] = &[
    (b"\x1A\x45\xDF\xA3", 0, b"", "video/webm"),
    (b"", 34, b"LP", "application/vnd.ms-fontobject"),
    (b"\x00\x01\x00\x00", 0, b"", "font/ttf"),
    (b"OTTO", 0, b"", "font/otf"),
    (b"ttcf", 0, b"", "font/collection"),
    (b"wOFF", 0, b"", "font/woff"),
    (b"wOF2", 0, b"", "font/woff2"),
    (b"\x1F\x8B\x08", 0, b"", "application/x-gzip"),
    (b"PK\x03\x04", 0, b"", "application/zip"),
    (b"Rar!\x1A\x07\x00", 0, b"", "application/x-rar-compressed"),
    (b"Rar!\x1A\x07\x01\x00", 0, b"", "application/x-rar-compressed"),
    (b"\x00\x61\x73\x6D", 0, b"", "application/wasm"),
];

/// The media type that the bytes seem to have. A short file counts as if zeros followed it, as in Helm; so a short
/// text is no text.
pub fn content_type(bytes: &[u8]) -> &'static str {
    let mut data = bytes.to_vec();
    data.resize(LENGTH, 0);
    let is_blank = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ');
    let start = data.iter().position(|byte| !is_blank(byte)).unwrap_or(data.len());
    let text = data.get(start..).unwrap_or_default();
    if HTML_TAGS.iter().any(|tag| is_tag(text, tag.as_bytes())) {
        return HTML;
    }
    if text.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    if let Some(found) = find(MAGIC, &data) {
        return found;
    }
    if is_mp4(&data) {
        return "video/mp4";
    }
    if let Some(found) = find(LATE_MAGIC, &data) {
        return found;
    }
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    if text.iter().any(is_binary) { BINARY } else { PLAIN }
}

fn find(table: &[(&[u8], usize, &[u8], &'static str)], data: &[u8]) -> Option<&'static str> {
    let fits = |(start, at, there, _): &&(&[u8], usize, &[u8], &str)| {
        data.starts_with(start) && data.get(*at..).is_some_and(|rest| rest.starts_with(there))
    };
    table.iter().find(fits).map(|row| row.3)
}

/// A tag in any case, with a space or `>` behind it.
fn is_tag(text: &[u8], tag: &[u8]) -> bool {
    let fold =
        |(is, wanted): (&u8, &u8)| if wanted.is_ascii_uppercase() { is & 0xDF } else { *is } == *wanted;
    text.len() > tag.len()
        && text.iter().zip(tag).all(fold)
        && matches!(text.get(tag.len()), Some(b' ' | b'>'))
}

fn is_mp4(data: &[u8]) -> bool {
    let Some((size, rest)) = data.split_first_chunk::<4>() else { return false };
    let size = usize::try_from(u32::from_be_bytes(*size)).unwrap_or(usize::MAX);
    if data.len() < size || size % 4 != 0 || !rest.starts_with(b"ftyp") {
        return false;
    }
    let brands = (8..size).step_by(4).filter(|at| *at != 12);
    brands.filter_map(|at| data.get(at..)).any(|brand| brand.starts_with(b"mp4"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_equal_go() {
        let long_text = "a: b\n".repeat(200);
        for (data, want) in [
            (&b"a: b\n"[..], BINARY),
            (long_text.as_bytes(), PLAIN),
            (b"", BINARY),
            (b"\x1f\x8b\x08\x00", "application/x-gzip"),
            (b"PK\x03\x04", "application/zip"),
            (b"  <html>", HTML),
            (b"<bo>", BINARY),
            (b"\n<?xml", "text/xml; charset=utf-8"),
            (b"RIFF1234WAVE", "audio/wave"),
            (b"\0\0\0\x14ftypxxxx0000mp41", "video/mp4"),
        ] {
            assert_eq!(content_type(data), want, "{}", String::from_utf8_lossy(data));
        }
    }
}

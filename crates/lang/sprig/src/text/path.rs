//! Slash-separated paths; those of the operating system are the same.

/// The shortest path that means the same.
pub fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = is_abs(path);
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match parts.last() {
                Some(last) if *last != b".." => drop(parts.pop()),
                _ if rooted => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", &joined[..]].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

/// All but the last element, cleaned.
pub fn dir(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    clean(path.get(..end).unwrap_or_default())
}

/// The last element.
pub fn base(path: &[u8]) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let last = path.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty());
    last.unwrap_or(b"/").to_vec()
}

/// The ending of the last element from its last dot on.
pub fn ext(path: &[u8]) -> Vec<u8> {
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dot = last.iter().rposition(|byte| *byte == b'.');
    dot.and_then(|at| last.get(at..)).unwrap_or_default().to_vec()
}

/// Reports whether the path begins at the root.
pub fn is_abs(path: &[u8]) -> bool {
    path.first() == Some(&b'/')
}

//! Archives unpacked onto the disk.

use std::path::{Path, PathBuf};

use podium_chart::archive::{self, extract};
use podium_chart::dialect::Dialect;
use podium_chart::metadata::Draft;
use podium_chart::text::{base, quote};

/// Unpacks a chart's archive into a directory of the chart's name below another one, and says which that is.
///
/// The paths of an archive were checked when it was read: none is absolute and none has `..` in it. Links are not
/// followed, since the archive has none and the directory is new.
pub fn expand(below: &Path, bytes: &[u8], dialect: &Dialect) -> Result<PathBuf, String> {
    let files = extract(bytes, dialect, &mut archive::MAX_SIZE.clone()).map_err(|error| error.to_string())?;
    let mut name = String::new();
    for file in files.iter().filter(|file| *file.name == *"Chart.yaml") {
        let mut draft = Draft::default();
        let read = draft.read(&file.data, dialect);
        read.map_err(|error| format!("cannot load Chart.yaml: {error}"))?;
        name = draft.metadata.name;
    }
    match name.as_str() {
        "" => return Err("chart name not specified".to_owned()),
        "." | ".." => return Err(format!("chart name {} is not allowed", quote(&name))),
        name if base(name) != name => {
            return Err(format!("chart name {} must not contain path separators", quote(name)));
        }
        _ => {}
    }
    let directory = below.join(&name);
    for file in &files {
        let path = directory.join(&*file.name);
        let words = |error: std::io::Error| podium_chart::load::go_error("open", &path, &error);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(words)?;
        }
        std::fs::write(&path, &file.data).map_err(words)?;
    }
    Ok(directory)
}

//! The chart on which single templates are rendered (`tests/world`): a value of every kind, a few named
//! templates, a few files.

use std::sync::LazyLock;

use crate::request::File;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        vec![$(File::new($name, include_bytes!(concat!("../../../tests/world/", $name)).as_slice())),*]
    };
}

static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    files![
        "Chart.yaml",
        "files/a.conf",
        "files/bin",
        "files/ca.crt",
        "files/data.json",
        "files/ec.key",
        "files/empty",
        "files/lines.txt",
        "files/sub/c.yaml",
        "templates/_world.tpl",
        "values.yaml",
    ]
});

/// The world's files, in path order.
pub fn files() -> &'static [File] {
    &FILES
}

/// `--set` values that come with every render in the world: the only way to an int64 of the user's.
pub const SET: &str = "i64=5,neg64=-3,zero64=0,long=9007199254740993,max64=9223372036854775807";

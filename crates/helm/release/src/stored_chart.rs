//! Charts as records store them.

use podium_chart::chart::Chart;
use podium_chart::files::File;
use podium_chart::metadata::encode::{self, Fields, list, node};
use podium_chart::renderer::Prepared;
use podium_goyaml::{Node, Value};
use podium_sprig::encoding::base64_encode;

/// How much of a chart is stored. Helm only needs the metadata and values of old revisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoredContent {
    /// Everything.
    #[default]
    Full,
    /// No templates, files or schema.
    MetadataAndValues,
}

/// The record's form of a chart with processed dependencies.
pub fn chart_node(prepared: &Prepared, content: StoredContent) -> Option<Node> {
    let view = &prepared.view;
    let chart = view.chart(view.root())?;
    let values = view.values(view.root()).and_then(|values| values.to_node().ok());
    let files = |files: &[File]| match content {
        StoredContent::Full => list(files.iter().map(file_node)),
        StoredContent::MetadataAndValues => list([]),
    };
    Some(
        Fields::default()
            .put("metadata", encode::metadata(&view.metadata(view.root())))
            .put("lock", chart.lock.as_ref().map(encode::lock).unwrap_or_default())
            .put("templates", files(&chart.templates))
            .put("values", values.unwrap_or_default())
            .put("schema", schema_node(chart, content))
            .put("files", files(&chart.files))
            .done(),
    )
}

fn base64_node(data: &[u8]) -> Node {
    node(Value::String(String::from_utf8_lossy(&base64_encode(data)).as_ref().into()))
}

fn file_node(file: &File) -> Node {
    let name = node(Value::String(file.name.as_ref().into()));
    Fields::default().put("name", name).put("data", base64_node(&file.data)).done()
}

fn schema_node(chart: &Chart, content: StoredContent) -> Node {
    let raw = chart.raw.iter().find(|file| file.name.as_ref() == "values.schema.json");
    raw.filter(|_| content == StoredContent::Full).map(|file| base64_node(&file.data)).unwrap_or_default()
}

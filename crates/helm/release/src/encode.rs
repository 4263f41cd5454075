//! Encodes release records.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use podium_goyaml::Node;
use podium_sprig::encoding::base64_encode;

use crate::live_objects::LiveObjects;
use crate::output::{Output, OutputFields};
use crate::print::{hook_output, json_time};
use crate::record::Release;

/// Maximum size of a Secret or ConfigMap.
pub const MAX_RECORD_SIZE: usize = 1 << 20;

/// Why a record cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// JSON encoding or compression failed.
    #[error("the record of {name} cannot be written: {reason}")]
    Encode {
        /// The release.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The record exceeds the size limit.
    #[error(
        "the record of {name} needs {size} bytes, and a Secret or ConfigMap holds {MAX_RECORD_SIZE}: nothing was written. Its \
         templates and files were left out already; what is left are the rendered objects ({manifest} bytes), the hooks \
         and the values. Split the chart, or move large files out of it"
    )]
    TooLarge {
        /// The release.
        name: String,
        /// The size of the record in bytes.
        size: usize,
        /// The size of its manifest in bytes.
        manifest: usize,
    },
}

/// An encoded record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The content of the Secret or ConfigMap.
    pub text: Vec<u8>,
    /// The size with the chart's templates and files, when they were dropped to stay below the limit.
    pub full_size: Option<usize>,
}

impl Release {
    /// Encodes the record. A record that exceeds the size limit is stored without its chart's templates and files,
    /// which Helm does not need to upgrade or roll back.
    pub fn encode(&self) -> Result<Encoded, Error> {
        let text = self.encode_with_chart(self.chart.as_ref())?;
        if text.len() <= MAX_RECORD_SIZE {
            return Ok(Encoded { text, full_size: None });
        }
        let full_size = Some(text.len());
        let without_files = self.chart.clone().map(without_files);
        match self.encode_with_chart(without_files.as_ref())? {
            text if text.len() <= MAX_RECORD_SIZE => Ok(Encoded { text, full_size }),
            text => Err(Error::TooLarge {
                name: self.name.clone(),
                size: text.len(),
                manifest: self.manifest.len(),
            }),
        }
    }

    fn encode_with_chart(&self, chart: Option<&Node>) -> Result<Vec<u8>, Error> {
        let failed = |reason: String| Error::Encode { name: self.name.clone(), reason };
        let json = self.to_output(chart, None).json().map_err(|e| failed(e.to_string()))?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let compressed = encoder.write_all(&json).and_then(|()| encoder.finish());
        Ok(base64_encode(&compressed.map_err(|e| failed(e.to_string()))?))
    }

    /// The record under Helm's field names, optionally with its chart and its live objects.
    pub(crate) fn to_output<'a>(
        &'a self,
        chart: Option<&'a Node>,
        live: Option<&'a LiveObjects>,
    ) -> Output<'a> {
        let objects = live.map(|live| &live.objects).filter(|objects| !objects.is_empty());
        let info = &self.info;
        let info = OutputFields::default()
            .add_some("first_deployed", json_time(info.first_deployed.as_ref()))
            .add_some("last_deployed", json_time(info.last_deployed.as_ref()))
            .add_some("deleted", json_time(info.deleted.as_ref()))
            .add_text("description", &info.description)
            .add_text("status", &info.status)
            .add_number("rollback_revision", info.rollback_revision)
            .add_text("notes", &info.notes)
            .add_some("resources", objects.map(Output::Objects))
            .build();
        let hooks = Output::List(self.hooks.iter().map(hook_output).collect());
        OutputFields::default()
            .add_text("name", &self.name)
            .add("info", info)
            .add_some("chart", chart.map(Output::Node))
            .add_some("config", self.config.as_ref().filter(|c| !c.is_empty()).map(|c| Output::Map(Some(c))))
            .add_text("manifest", &self.manifest)
            .add_some("hooks", Some(hooks).filter(|_| !self.hooks.is_empty()))
            .add_number("version", self.revision)
            .add_text("namespace", &self.namespace)
            .add_text("apply_method", &self.apply_method)
            .build()
    }
}

/// Drops the parts of a stored chart that only rendering needs.
fn without_files(mut chart: Node) -> Node {
    if let Some(map) = chart.as_map_mut() {
        map.remove("templates");
        map.remove("files");
    }
    chart
}

#[cfg(test)]
mod tests {
    use podium_goyaml::json;
    use podium_sprig::gotime::{Location, Time};

    use super::*;
    use crate::record::{Hook, Info};

    fn release(noise: usize) -> Release {
        let mut state = 1_u64;
        let mut noise_text = |length: usize| -> String {
            (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    char::from(b' ' + u8::try_from((state >> 33) % 64).unwrap())
                })
                .filter(|c| *c != '"' && *c != '\\')
                .collect()
        };
        let chart = format!(
            r#"{{"metadata":{{"name":"c"}},"templates":["{}"],"values":{{"a":1}}}}"#,
            noise_text(noise)
        );
        Release {
            name: "r".to_owned(),
            namespace: "n".to_owned(),
            revision: 7,
            info: Info {
                last_deployed: Some(Time::from_unix(1_700_000_000, 5, Location::UTC)),
                status: "deployed".to_owned(),
                ..Info::default()
            },
            chart: Some(json::parse(chart.as_bytes(), 0).unwrap()),
            hooks: vec![Hook { name: "h".to_owned(), weight: -3, ..Hook::default() }],
            manifest: "a: <b>\n".to_owned(),
            apply_method: "ssa".to_owned(),
            ..Release::default()
        }
    }

    #[test]
    fn encoding_round_trips() {
        let before = release(10);
        let after = Release::decode(&before.encode().unwrap().text, &Location::UTC).unwrap();
        assert_eq!((after.name.as_str(), after.revision, after.manifest.as_str()), ("r", 7, "a: <b>\n"));
        assert_eq!(after.hooks.first().map(|hook| hook.weight), Some(-3));
        assert_eq!(after.encode(), before.encode());
    }

    #[test]
    fn drops_templates_of_a_large_chart() {
        let after = Release::decode(&release(2 << 20).encode().unwrap().text, &Location::UTC).unwrap();
        let chart = after.chart.unwrap();
        assert!(chart.get("templates").is_none() && chart.get("values").is_some());
    }

    #[test]
    fn rejects_an_oversized_record() {
        let mut large = release(10);
        large.manifest = release(4 << 20).chart.unwrap().get("templates").unwrap().as_list().unwrap()[0]
            .as_str()
            .unwrap()
            .to_owned();
        let error = large.encode().unwrap_err();
        assert!(matches!(&error, Error::TooLarge { size, .. } if *size > MAX_RECORD_SIZE), "{error}");
    }
}

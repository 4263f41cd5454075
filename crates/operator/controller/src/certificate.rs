//! A certificate that nobody else has signed, for whoever only wants that nobody listens.

use podium_chart::capabilities::Capabilities;
use podium_chart::chart::load_files;
use podium_chart::dialect::HELM3;
use podium_chart::files::File;
use podium_chart::render::Release;
use podium_chart::renderer::Renderer;
use podium_chart::values::Values;
use podium_gotmpl::{Limits, World};
use podium_release::environment;
use podium_serve::tls::TlsIdentity;

/// Our own functions for templates make certificates: this template is one, with its key.
const TEMPLATE: &str = "{{ $key := genPrivateKey \"ecdsa\" }}\
    {{ $made := genSelfSignedCertWithKey \"localhost\" (list \"127.0.0.1\") (list \"localhost\") 3650 $key }}\
    {{ $made.Cert }}{{ $made.Key }}";

struct Here;

impl World for Here {
    fn now(&self) -> (i64, u32) {
        environment::now()
    }

    fn random(&self, buffer: &mut [u8]) {
        environment::random(buffer);
    }
}

/// Makes an identity that is new with every start.
pub fn identity() -> Result<TlsIdentity, String> {
    let file = |name: &str, text: &str| File { name: name.into(), data: text.as_bytes().into() };
    let files = vec![
        file("Chart.yaml", "apiVersion: v2\nname: certificate\nversion: 1.0.0\n"),
        file("templates/certificate.txt", TEMPLATE),
    ];
    let loaded = load_files(files, &HELM3).map_err(|e| e.to_string())?;
    let renderer = Renderer::new(loaded.chart, &HELM3);
    let wrong = |error: podium_chart::renderer::Error| String::from_utf8_lossy(&error.text()).into_owned();
    let prepared = renderer.prepare(&Values::default(), false).map_err(wrong)?;
    let release =
        Release { name: "certificate".to_owned(), namespace: String::new(), is_upgrade: false, revision: 1 };
    let rendered = renderer.render(&prepared, &release, &Capabilities::default(), &Here, Limits::default());
    let pem = rendered.map_err(wrong)?.into_iter().next().map(|file| file.text).unwrap_or_default();
    TlsIdentity::new(&pem, &pem).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_identity_can_be_made() {
        super::identity().map(drop).unwrap();
    }
}

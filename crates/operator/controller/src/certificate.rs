//! A self-signed certificate for the metrics server: it encrypts, and does not authenticate the server.

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

/// Renders to a certificate and its key, with the certificate functions that charts have.
const TEMPLATE: &str = "{{ $key := genPrivateKey \"ecdsa\" }}\
    {{ $made := genSelfSignedCertWithKey \"localhost\" (list \"127.0.0.1\") (list \"localhost\") 3650 $key }}\
    {{ $made.Cert }}{{ $made.Key }}";

struct Environment;

impl World for Environment {
    fn now(&self) -> (i64, u32) {
        environment::now()
    }

    fn random(&self, buffer: &mut [u8]) {
        environment::random(buffer);
    }
}

/// Makes a certificate and key; they are new at every start.
pub fn identity() -> Result<TlsIdentity, String> {
    let file = |name: &str, text: &str| File { name: name.into(), data: text.as_bytes().into() };
    let files = vec![
        file("Chart.yaml", "apiVersion: v2\nname: certificate\nversion: 1.0.0\n"),
        file("templates/certificate.txt", TEMPLATE),
    ];
    let loaded = load_files(files, &HELM3).map_err(|e| e.to_string())?;
    let renderer = Renderer::new(loaded.chart, &HELM3);
    let message = |error: podium_chart::renderer::Error| String::from_utf8_lossy(&error.text()).into_owned();
    let prepared = renderer.prepare(&Values::default(), false).map_err(message)?;
    let release =
        Release { name: "certificate".to_owned(), namespace: String::new(), is_upgrade: false, revision: 1 };
    let rendered =
        renderer.render(&prepared, &release, &Capabilities::default(), &Environment, Limits::default());
    let pem = rendered.map_err(message)?.into_iter().next().map(|file| file.text).unwrap_or_default();
    TlsIdentity::new(&pem, &pem).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn makes_an_identity() {
        super::identity().map(drop).unwrap();
    }
}

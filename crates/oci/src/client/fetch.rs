//! Single files of the web, with the care that registries are asked with: what chart repositories are made of.

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::http::{MAX_HOPS, Payload, basic, bounded, location, retry_after, shown};
use super::{Client, Error};

/// A file that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Where it is.
    pub url: &'a str,
    /// A name and a password.
    pub credential: Option<(&'a str, &'a str)>,
    /// Whose they are: a URL of the host that may see them.
    pub home: &'a str,
    /// Whether the host of the file may see them too, if it is another one. Nobody sees them after a redirection to
    /// a third one.
    pub everywhere: bool,
    /// Which kinds of content will do.
    pub accept: Option<&'static str>,
    /// A larger one is not read.
    pub limit: usize,
}

fn place(text: &str) -> Result<Uri, Error> {
    let uri: Uri = text.parse().map_err(|_| Error::Address(text.to_owned()))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(authority)) if !authority.as_str().contains('@') => Ok(uri),
        _ => Err(Error::Address(text.to_owned())),
    }
}

/// Whether two addresses are on the same host, in the same way.
fn same_host(a: &Uri, b: &Uri) -> bool {
    a.scheme() == b.scheme() && a.authority() == b.authority()
}

impl Client {
    /// Gets a file, whole.
    pub async fn fetch(&self, file: &File<'_>) -> Result<Vec<u8>, Error> {
        let first = place(file.url)?;
        let mut uri = first.clone();
        let trusted = file.everywhere || place(file.home).is_ok_and(|home| same_host(&home, &first));
        let (mut hops, mut attempt) = (0, 0);
        loop {
            let mut headers = HeaderMap::new();
            if let Some((user, password)) = file.credential
                && trusted
                && same_host(&first, &uri)
            {
                headers.insert(AUTHORIZATION, basic(user, password)?);
            }
            if let Some(kinds) = file.accept {
                headers.insert(ACCEPT, HeaderValue::from_static(kinds));
            }
            let sent = self.send_once(Method::GET, &uri, headers, Payload::none()).await;
            let pause = match &sent {
                Ok(response) => match response.status().as_u16() {
                    301 | 302 | 303 | 307 | 308 => {
                        hops += 1;
                        if hops > MAX_HOPS {
                            let why = "there are too many".to_owned();
                            return Err(Error::Redirect { from: shown(&uri), why });
                        }
                        uri = location(&uri, response.headers())?;
                        continue;
                    }
                    408 | 429 | 500 | 502..=504 => retry_after(response.headers()),
                    _ => None,
                },
                Err(_) => None,
            };
            let again = match &sent {
                Ok(response) => matches!(response.status().as_u16(), 408 | 429 | 500 | 502..=504),
                Err(error) => matches!(error, Error::Connect { .. }),
            };
            if again && attempt < self.inner.options.retries {
                tokio::time::sleep(pause.unwrap_or_else(|| self.pause(attempt))).await;
                attempt += 1;
                continue;
            }
            let response = sent?;
            if response.status().as_u16() != 200 {
                return Err(self.refusal("GET", &uri, response).await);
            }
            return bounded(response.into_body(), file.limit).await;
        }
    }
}

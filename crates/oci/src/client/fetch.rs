//! Downloads of single files, such as the index and archives of chart repositories.

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::http::{
    MAX_REDIRECTS, RequestBody, basic_auth, display_uri, read_body, redirect_location, retry_after,
};
use super::{Client, Error};

/// A file download.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest<'a> {
    /// URL of the file.
    pub url: &'a str,
    /// User name and password.
    pub credential: Option<(&'a str, &'a str)>,
    /// URL whose origin may receive the credential.
    pub credential_url: &'a str,
    /// Whether the origin of `url` may receive the credential too. Redirects to other origins never carry it.
    pub pass_credentials: bool,
    /// `Accept` header.
    pub accept: Option<&'static str>,
    /// Maximum size in bytes.
    pub max_bytes: usize,
}

fn parse_url(text: &str) -> Result<Uri, Error> {
    let uri: Uri = text.parse().map_err(|_| Error::InvalidUrl(text.to_owned()))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(authority)) if !authority.as_str().contains('@') => Ok(uri),
        _ => Err(Error::InvalidUrl(text.to_owned())),
    }
}

/// Whether two URLs have the same scheme and authority.
fn same_origin(a: &Uri, b: &Uri) -> bool {
    a.scheme() == b.scheme() && a.authority() == b.authority()
}

impl Client {
    /// Downloads a file into memory.
    pub async fn fetch(&self, request: &FetchRequest<'_>) -> Result<Vec<u8>, Error> {
        let origin = parse_url(request.url)?;
        let mut uri = origin.clone();
        let may_send_credentials = request.pass_credentials
            || parse_url(request.credential_url)
                .is_ok_and(|credential_url| same_origin(&credential_url, &origin));
        let (mut redirects, mut attempt) = (0, 0);
        loop {
            let mut headers = HeaderMap::new();
            if let Some((user, password)) = request.credential
                && may_send_credentials
                && same_origin(&origin, &uri)
            {
                headers.insert(AUTHORIZATION, basic_auth(user, password)?);
            }
            if let Some(accept) = request.accept {
                headers.insert(ACCEPT, HeaderValue::from_static(accept));
            }
            let result = self.send_once(Method::GET, &uri, headers, RequestBody::none()).await;
            let delay = match &result {
                Ok(response) => match response.status().as_u16() {
                    301 | 302 | 303 | 307 | 308 => {
                        redirects += 1;
                        if redirects > MAX_REDIRECTS {
                            let reason = "too many redirects".to_owned();
                            return Err(Error::Redirect { from: display_uri(&uri), reason });
                        }
                        uri = redirect_location(&uri, response.headers())?;
                        continue;
                    }
                    408 | 429 | 500 | 502..=504 => retry_after(response.headers()),
                    _ => None,
                },
                Err(_) => None,
            };
            let retryable = match &result {
                Ok(response) => matches!(response.status().as_u16(), 408 | 429 | 500 | 502..=504),
                Err(error) => matches!(error, Error::Connect { .. }),
            };
            if retryable && attempt < self.inner.options.retries {
                tokio::time::sleep(delay.unwrap_or_else(|| self.backoff(attempt))).await;
                attempt += 1;
                continue;
            }
            let response = result?;
            if response.status().as_u16() != 200 {
                return Err(self.status_error("GET", &uri, response).await);
            }
            return read_body(response.into_body(), request.max_bytes).await;
        }
    }
}

//! Single registry requests: manifests, tags, referrers, deletion.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LINK};
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::Value;

use super::auth::Scope;
use super::credentials::Credential;
use super::http::{RegistryHost, RegistryRequest, RequestBody, check_redirect, display_uri, read_body};
use super::{Client, Error};
use crate::digest::{Digest, Hasher};
use crate::model::{
    Descriptor, MAX_MANIFEST, MEDIA_TYPE_DOCKER_MANIFEST, MEDIA_TYPE_DOCKER_MANIFEST_LIST, MEDIA_TYPE_INDEX,
    MEDIA_TYPE_MANIFEST, ManifestOrIndex, is_media_type,
};
use crate::reference::{Reference, is_tag};

const ACCEPT_MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_CONTENT_DIGEST: &str = "docker-content-digest";
/// Maximum size of a page of tags, and maximum number of tags.
const MAX_PAGE_BYTES: usize = 16 << 20;
const MAX_TAGS: usize = 1_000_000;

fn digest_header(headers: &HeaderMap) -> Option<Digest> {
    headers.get(DOCKER_CONTENT_DIGEST).and_then(|value| Digest::parse(value.to_str().ok()?).ok())
}

fn media_type_header(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let text = text.split(';').next().unwrap_or_default().trim();
    is_media_type(text).then(|| text.to_owned())
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl Client {
    /// Gets a manifest or an index and verifies its digest.
    pub async fn manifest(
        &self,
        reference: &Reference,
    ) -> Result<(Descriptor, Bytes, ManifestOrIndex), Error> {
        let host = self.registry_host(&reference.registry).await?;
        let uri =
            host.uri(&format!("/v2/{}/manifests/{}", reference.repository, reference.tag_or_digest()))?;
        let mut request =
            RegistryRequest::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
        request.headers.insert(ACCEPT, HeaderValue::from_static(ACCEPT_MANIFESTS));
        let response =
            self.send_expecting(&host, request, &[200]).await.map_err(|e| not_found(e, reference))?;
        let declared = digest_header(response.headers());
        let media_type = media_type_header(response.headers());
        let data = read_body(response.into_body(), MAX_MANIFEST as usize).await?;
        for digest in reference.digest.iter().chain(&declared) {
            if !digest.matches(&data) {
                return Err(Error::Unexpected(format!(
                    "{}: the content does not match {digest}",
                    display_uri(&uri)
                )));
            }
        }
        let invalid = |source| Error::Manifest { location: display_uri(&uri), source };
        let document = ManifestOrIndex::parse(&data, media_type.as_deref()).map_err(invalid)?;
        let digest = reference.digest.clone().unwrap_or_else(|| Digest::sha256(&data));
        let descriptor = Descriptor::new(document.media_type(), digest, data.len() as u64);
        Ok((descriptor, data.into(), document))
    }

    /// Resolves a reference to a descriptor with a HEAD request; `None` if the image does not exist. Falls back to
    /// GET when headers are missing.
    pub async fn resolve(&self, reference: &Reference) -> Result<Option<Descriptor>, Error> {
        let host = self.registry_host(&reference.registry).await?;
        let uri =
            host.uri(&format!("/v2/{}/manifests/{}", reference.repository, reference.tag_or_digest()))?;
        let mut request = RegistryRequest::new(Method::HEAD, uri, Scope::new(&reference.repository, "pull"));
        request.headers.insert(ACCEPT, HeaderValue::from_static(ACCEPT_MANIFESTS));
        let response = self.send_expecting(&host, request, &[200, 404]).await?;
        if response.status() == 404 {
            return Ok(None);
        }
        let headers = response.headers();
        if let (Some(digest), Some(content_type), Some(size)) =
            (digest_header(headers), media_type_header(headers), content_length(headers))
            && matches!(
                content_type.as_str(),
                MEDIA_TYPE_MANIFEST
                    | MEDIA_TYPE_INDEX
                    | MEDIA_TYPE_DOCKER_MANIFEST
                    | MEDIA_TYPE_DOCKER_MANIFEST_LIST
            )
            && reference.digest.as_ref().is_none_or(|wanted| *wanted == digest)
        {
            return Ok(Some(Descriptor::new(&content_type, digest, size)));
        }
        match self.manifest(reference).await {
            Ok((descriptor, ..)) => Ok(Some(descriptor)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Puts a manifest under a tag or its digest.
    pub async fn put_manifest(
        &self,
        reference: &Reference,
        media_type: &str,
        data: Bytes,
    ) -> Result<Descriptor, Error> {
        let host = self.registry_host(&reference.registry).await?;
        let digest = match &reference.digest {
            Some(digest) => {
                let mut hasher = Hasher::new(digest.algorithm());
                hasher.update(&data);
                if hasher.finish() != *digest {
                    return Err(Error::Unexpected(format!(
                        "{reference}: the manifest does not have that digest"
                    )));
                }
                digest.clone()
            }
            None => Digest::sha256(&data),
        };
        let tag_or_digest = match (&reference.tag, &reference.digest) {
            (Some(tag), _) => tag.clone(),
            (None, _) => digest.to_string(),
        };
        let uri = host.uri(&format!("/v2/{}/manifests/{tag_or_digest}", reference.repository))?;
        let mut request =
            RegistryRequest::new(Method::PUT, uri.clone(), Scope::new(&reference.repository, "pull,push"));
        let content_type = HeaderValue::from_str(media_type)
            .map_err(|_| Error::Unexpected(format!("{media_type:?} is not a media type")))?;
        request.headers.insert(CONTENT_TYPE, content_type);
        let size = data.len() as u64;
        request.body = RequestBody::Bytes(data);
        let response = self.send_expecting(&host, request, &[200, 201, 202]).await?;
        if digest_header(response.headers())
            .is_some_and(|declared| declared.algorithm() == digest.algorithm() && declared != digest)
        {
            return Err(Error::Unexpected(format!(
                "{}: the registry stored another digest",
                display_uri(&uri)
            )));
        }
        Ok(Descriptor::new(media_type, digest, size))
    }

    /// Adds a tag to an image.
    pub async fn tag(&self, reference: &Reference, tag: &str) -> Result<Descriptor, Error> {
        let (descriptor, data, _) = self.manifest(reference).await?;
        self.put_manifest(&reference.with_tag(tag)?, &descriptor.media_type, data).await
    }

    /// Deletes a tag, or by digest an image with all its tags.
    pub async fn delete(&self, reference: &Reference) -> Result<(), Error> {
        let host = self.registry_host(&reference.registry).await?;
        let uri =
            host.uri(&format!("/v2/{}/manifests/{}", reference.repository, reference.tag_or_digest()))?;
        let request = RegistryRequest::new(Method::DELETE, uri, Scope::new(&reference.repository, "delete"));
        self.send_expecting(&host, request, &[200, 202, 204]).await.map_err(|e| not_found(e, reference))?;
        Ok(())
    }

    /// All tags of a repository, in the registry's order.
    pub async fn tags(&self, reference: &Reference) -> Result<Vec<String>, Error> {
        let host = self.registry_host(&reference.registry).await?;
        let mut uri = host.uri(&format!("/v2/{}/tags/list?n=1000", reference.repository))?;
        let mut tags: Vec<String> = Vec::new();
        loop {
            let request =
                RegistryRequest::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
            let response =
                self.send_expecting(&host, request, &[200]).await.map_err(|e| not_found(e, reference))?;
            let next = next_page(&host, &uri, response.headers())?;
            let data = read_body(response.into_body(), MAX_PAGE_BYTES).await?;
            let value: Value = serde_json::from_slice(&data).map_err(|e| {
                Error::Unexpected(format!("{}: the list of tags is not JSON: {e}", display_uri(&uri)))
            })?;
            let page = value.get("tags").and_then(Value::as_array).into_iter().flatten();
            let previous = tags.len();
            tags.extend(page.filter_map(Value::as_str).filter(|tag| is_tag(tag)).map(str::to_owned));
            match next {
                // Stop at a page without new tags instead of following links forever.
                Some(next) if tags.len() > previous && next != uri => uri = next,
                _ => return Ok(tags),
            }
            if tags.len() > MAX_TAGS {
                return Err(Error::Unexpected(format!("{} has more than {MAX_TAGS} tags", reference.name())));
            }
        }
    }

    /// The referrers of an image, such as signatures. Falls back to the referrers tag schema when the registry lacks
    /// the referrers API.
    pub async fn referrers(&self, reference: &Reference, digest: &Digest) -> Result<Vec<Descriptor>, Error> {
        let host = self.registry_host(&reference.registry).await?;
        let uri = host.uri(&format!("/v2/{}/referrers/{digest}", reference.repository))?;
        let request =
            RegistryRequest::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
        let response = self.send_expecting(&host, request, &[200, 404]).await?;
        if response.status() == 200 {
            let data = read_body(response.into_body(), MAX_MANIFEST as usize).await?;
            let invalid = |source| Error::Manifest { location: display_uri(&uri), source };
            return Ok(ManifestOrIndex::parse(&data, None).map_err(invalid)?.manifests().to_vec());
        }
        let tag = format!("{}-{}", digest.algorithm().name(), digest.hex());
        match self.manifest(&reference.with_tag(&tag)?).await {
            Ok((_, _, document)) => Ok(document.manifests().to_vec()),
            Err(e) if e.is_not_found() => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    /// Checks credentials against a registry.
    pub async fn check_login(&self, registry: &str, credential: Credential) -> Result<(), Error> {
        let mut options = self.inner.options.clone();
        options.keyring = super::credentials::Keyring::default().with_credential(registry, credential);
        let client = Self::new(options);
        let host = client.registry_host(registry).await?;
        let request = RegistryRequest::new(Method::GET, host.uri("/v2/")?, Scope::default());
        client.send_expecting(&host, request, &[200]).await?;
        Ok(())
    }

    /// Whether a repository has a blob.
    pub(super) async fn has_blob(
        &self,
        host: &RegistryHost,
        repository: &str,
        blob: &Descriptor,
    ) -> Result<bool, Error> {
        let uri = host.uri(&format!("/v2/{repository}/blobs/{}", blob.digest))?;
        let request = RegistryRequest::new(Method::HEAD, uri, Scope::new(repository, "pull,push"));
        let response = self.send_expecting(host, request, &[200, 404]).await?;
        Ok(response.status() == 200
            && content_length(response.headers()).is_none_or(|size| size == blob.size))
    }
}

fn not_found(error: Error, reference: &Reference) -> Error {
    if error.is_not_found() { Error::NotFound(reference.to_string()) } else { error }
}

/// The next page of a `Link: <…>; rel="next"` header; has to be on the same host.
fn next_page(host: &RegistryHost, from: &Uri, headers: &HeaderMap) -> Result<Option<Uri>, Error> {
    let Some(link) = headers.get(LINK).and_then(|value| value.to_str().ok()) else { return Ok(None) };
    let Some((target, rest)) = link.trim_start().strip_prefix('<').and_then(|rest| rest.split_once('>'))
    else {
        return Ok(None);
    };
    if !rest.contains("next") {
        return Ok(None);
    }
    let uri = if target.starts_with('/') {
        host.uri(target)?
    } else {
        target.parse().map_err(|_| Error::InvalidUrl(target.to_owned()))?
    };
    check_redirect(from, &uri)?;
    if uri.authority() == from.authority() {
        Ok(Some(uri))
    } else {
        Err(Error::Redirect {
            from: display_uri(from),
            reason: "the next page is on another host".to_owned(),
        })
    }
}

//! Single questions to a registry: manifests, tags, referrers, deletion.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LINK};
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::Value;

use super::auth::Scope;
use super::credentials::Credential;
use super::http::{Call, Host, Payload, bounded, check_hop, shown};
use super::{Client, Error};
use crate::digest::{Digest, Hasher};
use crate::model::{
    DOCKER_INDEX, DOCKER_MANIFEST, Descriptor, Document, INDEX, MANIFEST, MAX_MANIFEST, is_media_type,
};
use crate::reference::{Reference, is_tag};

const ACCEPTED: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";
const DIGEST: &str = "docker-content-digest";
/// The largest page of a list of tags, and all tags together.
const MAX_PAGE: usize = 16 << 20;
const MAX_TAGS: usize = 1_000_000;

fn digest_of(headers: &HeaderMap) -> Option<Digest> {
    headers.get(DIGEST).and_then(|value| Digest::parse(value.to_str().ok()?).ok())
}

fn media_type_of(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let text = text.split(';').next().unwrap_or_default().trim();
    is_media_type(text).then(|| text.to_owned())
}

fn length_of(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl Client {
    /// A manifest or an index as the registry has it, compared with its digest.
    pub async fn manifest(&self, reference: &Reference) -> Result<(Descriptor, Bytes, Document), Error> {
        let host = self.host(&reference.registry).await?;
        let uri = host.uri(&format!("/v2/{}/manifests/{}", reference.repository, reference.version()))?;
        let mut call = Call::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
        call.headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let response = self.expect(&host, call, &[200]).await.map_err(|e| gone(e, reference))?;
        let said = digest_of(response.headers());
        let media_type = media_type_of(response.headers());
        let data = bounded(response.into_body(), MAX_MANIFEST as usize).await?;
        for digest in reference.digest.iter().chain(&said) {
            if !digest.fits(&data) {
                return Err(Error::Wrong(format!("{}: the content is not {digest}", shown(&uri))));
            }
        }
        let wrong = |source| Error::Model { place: shown(&uri), source };
        let document = Document::parse(&data, media_type.as_deref()).map_err(wrong)?;
        let digest = reference.digest.clone().unwrap_or_else(|| Digest::of(&data));
        let descriptor = Descriptor::new(document.media_type(), digest, data.len() as u64);
        Ok((descriptor, data.into(), document))
    }

    /// What a name means now, without getting it; nothing if the registry has no such image. Registries that do not say
    /// are asked for the manifest itself.
    pub async fn resolve(&self, reference: &Reference) -> Result<Option<Descriptor>, Error> {
        let host = self.host(&reference.registry).await?;
        let uri = host.uri(&format!("/v2/{}/manifests/{}", reference.repository, reference.version()))?;
        let mut call = Call::new(Method::HEAD, uri, Scope::new(&reference.repository, "pull"));
        call.headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let response = self.expect(&host, call, &[200, 404]).await?;
        if response.status() == 404 {
            return Ok(None);
        }
        let headers = response.headers();
        if let (Some(digest), Some(kind), Some(size)) =
            (digest_of(headers), media_type_of(headers), length_of(headers))
            && matches!(kind.as_str(), MANIFEST | INDEX | DOCKER_MANIFEST | DOCKER_INDEX)
            && reference.digest.as_ref().is_none_or(|wanted| *wanted == digest)
        {
            return Ok(Some(Descriptor::new(&kind, digest, size)));
        }
        match self.manifest(reference).await {
            Ok((descriptor, ..)) => Ok(Some(descriptor)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Puts a manifest under a tag, or under its digest.
    pub async fn put_manifest(
        &self,
        reference: &Reference,
        media_type: &str,
        data: Bytes,
    ) -> Result<Descriptor, Error> {
        let host = self.host(&reference.registry).await?;
        let digest = match &reference.digest {
            Some(digest) => {
                let mut hasher = Hasher::new(digest.algorithm());
                hasher.update(&data);
                if hasher.finish() != *digest {
                    return Err(Error::Wrong(format!("{reference}: the manifest does not have that digest")));
                }
                digest.clone()
            }
            None => Digest::of(&data),
        };
        let version = match (&reference.tag, &reference.digest) {
            (Some(tag), _) => tag.clone(),
            (None, _) => digest.to_string(),
        };
        let uri = host.uri(&format!("/v2/{}/manifests/{version}", reference.repository))?;
        let mut call = Call::new(Method::PUT, uri.clone(), Scope::new(&reference.repository, "pull,push"));
        let kind = HeaderValue::from_str(media_type)
            .map_err(|_| Error::Wrong(format!("{media_type:?} is not a media type")))?;
        call.headers.insert(CONTENT_TYPE, kind);
        let size = data.len() as u64;
        call.payload = Payload::Bytes(data);
        let response = self.expect(&host, call, &[200, 201, 202]).await?;
        if digest_of(response.headers())
            .is_some_and(|said| said.algorithm() == digest.algorithm() && said != digest)
        {
            return Err(Error::Wrong(format!(
                "{}: the registry kept something else than was sent",
                shown(&uri)
            )));
        }
        Ok(Descriptor::new(media_type, digest, size))
    }

    /// Gives an image another tag in its repository.
    pub async fn tag(&self, reference: &Reference, tag: &str) -> Result<Descriptor, Error> {
        let (descriptor, data, _) = self.manifest(reference).await?;
        self.put_manifest(&reference.with_tag(tag)?, &descriptor.media_type, data).await
    }

    /// Removes a tag or, by digest, an image with all its tags.
    pub async fn delete(&self, reference: &Reference) -> Result<(), Error> {
        let host = self.host(&reference.registry).await?;
        let uri = host.uri(&format!("/v2/{}/manifests/{}", reference.repository, reference.version()))?;
        let call = Call::new(Method::DELETE, uri, Scope::new(&reference.repository, "delete"));
        self.expect(&host, call, &[200, 202, 204]).await.map_err(|e| gone(e, reference))?;
        Ok(())
    }

    /// All tags of a repository, as the registry sorts them.
    pub async fn tags(&self, reference: &Reference) -> Result<Vec<String>, Error> {
        let host = self.host(&reference.registry).await?;
        let mut uri = host.uri(&format!("/v2/{}/tags/list?n=1000", reference.repository))?;
        let mut tags: Vec<String> = Vec::new();
        loop {
            let call = Call::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
            let response = self.expect(&host, call, &[200]).await.map_err(|e| gone(e, reference))?;
            let next = next_page(&host, &uri, response.headers())?;
            let data = bounded(response.into_body(), MAX_PAGE).await?;
            let value: Value = serde_json::from_slice(&data)
                .map_err(|e| Error::Wrong(format!("{}: the list of tags is not JSON: {e}", shown(&uri))))?;
            let page = value.get("tags").and_then(Value::as_array).into_iter().flatten();
            let before = tags.len();
            tags.extend(page.filter_map(Value::as_str).filter(|tag| is_tag(tag)).map(str::to_owned));
            match next {
                // A page that brings nothing new would go on for ever.
                Some(next) if tags.len() > before && next != uri => uri = next,
                _ => return Ok(tags),
            }
            if tags.len() > MAX_TAGS {
                return Err(Error::Wrong(format!("{} has more than {MAX_TAGS} tags", reference.name())));
            }
        }
    }

    /// What is about an image: signatures and the like. Registries without that question are asked for the tag that
    /// stands in for it.
    pub async fn referrers(&self, reference: &Reference, digest: &Digest) -> Result<Vec<Descriptor>, Error> {
        let host = self.host(&reference.registry).await?;
        let uri = host.uri(&format!("/v2/{}/referrers/{digest}", reference.repository))?;
        let call = Call::new(Method::GET, uri.clone(), Scope::new(&reference.repository, "pull"));
        let response = self.expect(&host, call, &[200, 404]).await?;
        if response.status() == 200 {
            let data = bounded(response.into_body(), MAX_MANIFEST as usize).await?;
            let wrong = |source| Error::Model { place: shown(&uri), source };
            return Ok(Document::parse(&data, None).map_err(wrong)?.manifests().to_vec());
        }
        let tag = format!("{}-{}", digest.algorithm().name(), digest.hex());
        match self.manifest(&reference.with_tag(&tag)?).await {
            Ok((_, _, document)) => Ok(document.manifests().to_vec()),
            Err(e) if e.is_not_found() => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    /// Whether a registry lets somebody in.
    pub async fn check_login(&self, registry: &str, credential: Credential) -> Result<(), Error> {
        let mut options = self.inner.options.clone();
        options.keyring = super::credentials::Keyring::default().with(registry, credential);
        let client = Self::new(options);
        let host = client.host(registry).await?;
        let call = Call::new(Method::GET, host.uri("/v2/")?, Scope::default());
        client.expect(&host, call, &[200]).await?;
        Ok(())
    }

    /// Whether a registry has a blob.
    pub(super) async fn has_blob(
        &self,
        host: &Host,
        repository: &str,
        blob: &Descriptor,
    ) -> Result<bool, Error> {
        let uri = host.uri(&format!("/v2/{repository}/blobs/{}", blob.digest))?;
        let call = Call::new(Method::HEAD, uri, Scope::new(repository, "pull,push"));
        let response = self.expect(host, call, &[200, 404]).await?;
        Ok(response.status() == 200 && length_of(response.headers()).is_none_or(|size| size == blob.size))
    }
}

fn gone(error: Error, reference: &Reference) -> Error {
    if error.is_not_found() { Error::NotFound(reference.to_string()) } else { error }
}

/// `Link: <…>; rel="next"`, on the same host.
fn next_page(host: &Host, from: &Uri, headers: &HeaderMap) -> Result<Option<Uri>, Error> {
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
        target.parse().map_err(|_| Error::Address(target.to_owned()))?
    };
    check_hop(from, &uri)?;
    if uri.authority() == from.authority() {
        Ok(Some(uri))
    } else {
        Err(Error::Redirect { from: shown(from), why: "the next page is on another host".to_owned() })
    }
}

//! From a registry into a layout.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Client, Error, How, Listener, Platforms, Progress, blobs_of};
use crate::layout::{Layout, Receiver};
use crate::model::Descriptor;
use crate::reference::Reference;

impl Client {
    /// Gets an image: blobs side by side, each compared with its digest, what is there already not again. The
    /// descriptor is that of the image for one platform, or of all. It gets no name in the layout.
    pub async fn pull(
        &self,
        reference: &Reference,
        layout: &Layout,
        platforms: &Platforms,
        listener: &Listener,
    ) -> Result<Descriptor, Error> {
        crate::disk::keep_memory();
        let remote = self.open(reference, platforms).await?;
        let blobs = blobs_of(remote.documents().map(|(_, document, _)| document));
        let places = Arc::new(Semaphore::new(self.inner.options.jobs.max(1)));
        let mut tasks = JoinSet::new();
        for blob in blobs {
            if layout.has(&blob) {
                listener(Progress::Done(blob.digest, How::Existed));
                continue;
            }
            let (client, reference, layout) = (self.clone(), reference.clone(), layout.clone());
            let (places, listener) = (places.clone(), listener.clone());
            tasks.spawn(async move {
                let _place = places.acquire_owned().await;
                client.receive(reference, layout, blob, listener).await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.map_err(|e| Error::Wrong(e.to_string()))??;
        }
        let root = remote.root.clone();
        for (digest, document, data) in remote.documents() {
            let kept = Descriptor::new(document.media_type(), digest.clone(), data.len() as u64);
            // Of an index that only led to one image nothing is kept.
            let needed = *platforms == Platforms::All || *digest == root.digest || root.is_index();
            if needed && !layout.has(&kept) {
                let mut receiver = layout.receive(&kept)?;
                receiver.restart()?;
                receiver.write(data)?;
                receiver.finish()?;
            }
        }
        Ok(root)
    }

    async fn receive(
        &self,
        reference: Reference,
        layout: Layout,
        blob: Descriptor,
        listener: Listener,
    ) -> Result<(), Error> {
        let (client, handle) = (self.clone(), tokio::runtime::Handle::current());
        let work = move || {
            let fill = |mut receiver: Receiver| {
                let mut stream =
                    client.stream(&handle, &reference, &blob.digest, blob.size, receiver.offset());
                let mut parts = Vec::new();
                loop {
                    // What came before it broke off is kept for the next try.
                    let came = stream.gather(&mut parts);
                    receiver.append(&parts)?;
                    came?;
                    if parts.is_empty() {
                        break;
                    }
                    let size = parts.iter().map(|part| part.len() as u64).sum();
                    listener(Progress::Moved(blob.digest.clone(), size));
                }
                Ok::<(), Error>(receiver.finish()?)
            };
            let receiver = layout.receive(&blob)?;
            let resumed = receiver.offset();
            listener(Progress::Begin(blob.digest.clone(), blob.size, resumed));
            if let Err(error) = fill(receiver) {
                // What an earlier try has left may be what is wrong: then it is gone now.
                let receiver = layout.receive(&blob)?;
                if resumed == 0 || receiver.offset() > 0 {
                    return Err(error);
                }
                fill(receiver)?;
            }
            listener(Progress::Done(blob.digest.clone(), How::Moved));
            Ok(())
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::Wrong(e.to_string()))?
    }
}

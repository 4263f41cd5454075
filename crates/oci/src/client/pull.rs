//! Pulling images into a layout.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Client, Error, Platforms, Progress, ProgressReporter, TransferOutcome, unique_blobs};
use crate::layout::{BlobIngest, Layout};
use crate::model::Descriptor;
use crate::reference::Reference;

impl Client {
    /// Pulls an image: downloads missing blobs in parallel and verifies their digests. Returns the descriptor of the
    /// selected image or of the index; adds no tag to the layout.
    pub async fn pull(
        &self,
        reference: &Reference,
        layout: &Layout,
        platforms: &Platforms,
        progress: &ProgressReporter,
    ) -> Result<Descriptor, Error> {
        crate::disk::raise_mmap_threshold();
        let remote = self.open(reference, platforms).await?;
        let blobs = unique_blobs(remote.documents().map(|(_, document, _)| document));
        let permits = Arc::new(Semaphore::new(self.inner.options.jobs.max(1)));
        let mut tasks = JoinSet::new();
        for blob in blobs {
            if layout.has_blob(&blob) {
                progress(Progress::Finished(blob.digest, TransferOutcome::AlreadyExists));
                continue;
            }
            let (client, reference, layout) = (self.clone(), reference.clone(), layout.clone());
            let (permits, progress) = (permits.clone(), progress.clone());
            tasks.spawn(async move {
                let _permit = permits.acquire_owned().await;
                client.download_blob(reference, layout, blob, progress).await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.map_err(|e| Error::Unexpected(e.to_string()))??;
        }
        let root = remote.root.clone();
        for (digest, document, data) in remote.documents() {
            let descriptor = Descriptor::new(document.media_type(), digest.clone(), data.len() as u64);
            // An index that was only used to select an image is not stored.
            let required = *platforms == Platforms::All || *digest == root.digest || root.is_index();
            if required && !layout.has_blob(&descriptor) {
                let mut ingest = layout.ingest(&descriptor)?;
                ingest.restart()?;
                ingest.write(data)?;
                ingest.finish()?;
            }
        }
        Ok(root)
    }

    async fn download_blob(
        &self,
        reference: Reference,
        layout: Layout,
        blob: Descriptor,
        progress: ProgressReporter,
    ) -> Result<(), Error> {
        let (client, handle) = (self.clone(), tokio::runtime::Handle::current());
        let work = move || {
            let download = |mut ingest: BlobIngest| {
                let mut stream =
                    client.blob_stream(&handle, &reference, &blob.digest, blob.size, ingest.offset());
                let mut batch = Vec::new();
                loop {
                    // Keep what was received before the interruption.
                    let received = stream.next_batch(&mut batch);
                    ingest.append(&batch)?;
                    received?;
                    if batch.is_empty() {
                        break;
                    }
                    let size = batch.iter().map(|chunk| chunk.len() as u64).sum();
                    progress(Progress::Transferred(blob.digest.clone(), size));
                }
                Ok::<(), Error>(ingest.finish()?)
            };
            let ingest = layout.ingest(&blob)?;
            let resumed = ingest.offset();
            progress(Progress::Started(blob.digest.clone(), blob.size, resumed));
            if let Err(error) = download(ingest) {
                // The resumed content was corrupt and has been discarded; download it again.
                let ingest = layout.ingest(&blob)?;
                if resumed == 0 || ingest.offset() > 0 {
                    return Err(error);
                }
                download(ingest)?;
            }
            progress(Progress::Finished(blob.digest.clone(), TransferOutcome::Transferred));
            Ok(())
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::Unexpected(e.to_string()))?
    }
}

//! A thread with a client and a tokio runtime of its own: a caller that starts a cluster may be inside another runtime.

use std::path::PathBuf;
use std::thread::JoinHandle;

use podium_client::{Client, ClientConfig, client};
use tokio::sync::oneshot;

use super::Error;

/// The thread; it ends when this value is dropped.
pub(super) struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Connects as the user of a kubeconfig, waits until `prepare` is done, and leaves `run` running.
    pub(super) fn start(
        kubeconfig: PathBuf,
        prepare: impl AsyncFnOnce(Client) -> Result<(), client::Error> + Send + 'static,
        run: impl AsyncFnOnce(Client) + Send + 'static,
    ) -> Result<Self, Error> {
        let (stop, stopped) = oneshot::channel();
        let (report, ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(report.send(Err(error.to_string()))),
            };
            runtime.block_on(async {
                let access = ClientConfig { kubeconfig: Some(kubeconfig), ..ClientConfig::default() };
                let prepared = async {
                    let client = Client::new(&access).await?;
                    prepare(client.clone()).await.map(|()| client)
                };
                let client = match prepared.await {
                    Ok(client) => client,
                    Err(error) => return drop(report.send(Err(error.to_string()))),
                };
                let _ = report.send(Ok(()));
                tokio::select! {
                    _ = stopped => {}
                    () = run(client) => {}
                }
            });
        });
        let background = Background { stop: Some(stop), thread: Some(thread) };
        match ready.recv() {
            Ok(Ok(())) => Ok(background),
            Ok(Err(reason)) => Err(Error::Background(reason)),
            Err(_) => Err(Error::Background("its thread has ended".to_owned())),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! Serves the API, for looking at it by hand: `serve DIR PORT`; DIR/kubeconfig is how clients reach it.

use podium_apiserver::{Options, run};

fn main() {
    let mut args = std::env::args().skip(1);
    let (dir, port) = (args.next().unwrap(), args.next().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let options = Options {
            home: dir.into(),
            address: format!("127.0.0.1:{port}"),
            hosts: Vec::new(),
            users: Vec::new(),
            store: podium_store::Options::default(),
        };
        let running = run(options).await.unwrap();
        eprintln!("{}", running.url);
        std::future::pending::<()>().await;
    });
}

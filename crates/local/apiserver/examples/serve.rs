//! Serves the API without TLS, for looking at it by hand: `serve DIR PORT`.

use podium_apiserver::{Api, bootstrap};
use podium_serve::{Limits, Server};
use podium_store::{Options, Store};

fn main() {
    let mut args = std::env::args().skip(1);
    let (dir, port) = (args.next().unwrap(), args.next().unwrap());
    let store = Store::open(dir, Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let api = Api::new(store, String::new());
        bootstrap(&api).await.map_err(|refusal| refusal.message).unwrap();
        let server = Server::bind(&format!("127.0.0.1:{port}"), Limits { connections: 10_000, ..Limits::default() }).await.unwrap();
        server.run(move |request| api.clone().answer(request), std::future::pending()).await;
    });
}

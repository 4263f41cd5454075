use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;

/// A server that counts: every answer says how many requests there were; a watch says its number every 100 ms.
struct Real {
    target: Target,
    count: Arc<AtomicUsize>,
}

impl Real {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let of_thread = count.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = of_thread.clone();
                std::thread::spawn(move || converse(stream, &count));
            }
        });
        Real { target: Target { url, token: "secret".to_owned() }, count }
    }
}

fn converse(stream: TcpStream, count: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        reader.read_exact(&mut vec![0; length.unwrap_or(0)]).ok()?;
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        if head.contains("watch=true") {
            write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").ok()?;
            for number in 1..=5 {
                let line = format!("{{\"type\":\"ADDED\",\"object\":{number}}}\n");
                write!(stream, "{:x}\r\n{line}\r\n", line.len()).ok()?;
                std::thread::sleep(Duration::from_millis(100));
            }
            write!(stream, "0\r\n\r\n").ok()?;
            continue;
        }
        let known = head.contains("authorization: bearer secret");
        let body = format!("{{\"number\":{number},\"known\":{known}}}");
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .ok()?;
    }
}

/// A request of its own connection; the body of the answer with its status before it, or nothing.
fn ask(proxy: &Proxy, method: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(proxy.url().strip_prefix("http://")?).ok()?;
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(format!("{} {body}", head.split(' ').nth(1)?))
}

fn proxy(real: &Real) -> Proxy {
    Proxy::before(real.target.clone(), None, &std::env::temp_dir()).unwrap()
}

fn process(proxy: &Proxy) {
    proxy.run(Command::new("sleep").arg("1000")).unwrap();
}

fn dies(proxy: &Proxy) -> bool {
    let begin = Instant::now();
    while proxy.ended().is_none() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    proxy.ended().is_some()
}

const MAP: &str = "/api/v1/namespaces/n/configmaps/a";

#[test]
fn the_token_is_the_proxys_and_what_no_plan_is_about_passes() {
    let real = Real::start();
    let proxy = proxy(&real);
    assert_eq!(ask(&proxy, "GET", "/version").unwrap(), r#"200 {"number":1,"known":true}"#);
    assert_eq!(ask(&proxy, "DELETE", MAP).unwrap(), r#"200 {"number":2,"known":true}"#);
    assert_eq!((proxy.numbers(), proxy.struck()), ([1, 0, 0], 0));
    let _ = std::fs::remove_file(proxy.kubeconfig());
}

#[test]
fn a_process_dies_at_the_write_that_was_planned() {
    // What the process hears of it, and whether the server has done it.
    let cases = [(Blow::KillBefore, false, 1), (Blow::KillLost, false, 2), (Blow::KillAfter, true, 2)];
    for (blow, hears, done) in cases {
        let real = Real::start();
        let proxy = proxy(&real);
        process(&proxy);
        proxy.plan(Plan::blow(2, blow));
        assert!(ask(&proxy, "PUT", MAP).is_some() && proxy.ended().is_none());
        assert_eq!(ask(&proxy, "PUT", MAP).is_some(), hears, "{blow:?}");
        // Nothing that comes later is heard.
        assert!(ask(&proxy, "PUT", MAP).is_none(), "{blow:?}");
        assert!(dies(&proxy), "{blow:?}");
        assert_eq!(real.count.load(Ordering::SeqCst), done, "{blow:?}");
        // The next process is heard again.
        process(&proxy);
        assert!(ask(&proxy, "PUT", MAP).is_some() && proxy.ended().is_none(), "{blow:?}");
        let _ = std::fs::remove_file(proxy.kubeconfig());
    }
}

#[test]
fn answers_are_lost_refused_and_old() {
    let real = Real::start();
    let proxy = proxy(&real);
    process(&proxy);
    proxy.plan(Plan {
        writes: [(1, Blow::Lost), (2, Blow::Refuse(503))].into(),
        reads: [2].into(),
        ..Plan::default()
    });
    assert_eq!(ask(&proxy, "POST", "/api/v1/namespaces/n/configmaps"), None);
    let refused = ask(&proxy, "PUT", MAP).unwrap();
    assert!(refused.starts_with("503 ") && refused.contains("ServiceUnavailable"), "{refused}");
    let read = || ask(&proxy, "GET", MAP).unwrap();
    let (first, second, third, fourth) = (read(), read(), read(), read());
    assert!(first.contains(r#""number":2"#) && second.contains(r#""number":3"#), "{first} {second}");
    assert_eq!(third, second, "the second that has an older state gets it");
    assert!(fourth.contains(r#""number":5"#), "{fourth}");
    assert!(proxy.ended().is_none());
    let _ = std::fs::remove_file(proxy.kubeconfig());
}

#[test]
fn events_come_at_once_or_as_planned() {
    let real = Real::start();
    let proxy = proxy(&real);
    let watch = "/api/v1/configmaps?watch=true";
    let mut stream = TcpStream::connect(proxy.url().strip_prefix("http://").unwrap()).unwrap();
    let begin = Instant::now();
    write!(stream, "GET {watch} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.any(|line| line.unwrap().contains(r#""object":1"#)));
    assert!(begin.elapsed() < Duration::from_millis(400), "the first event must not wait for the others");
    let events = |plan: Plan| {
        proxy.plan(plan);
        let text = ask(&proxy, "GET", watch).unwrap();
        (1..=5)
            .map(|n| text.contains(&format!("\"object\":{n}}}")))
            .collect::<Vec<_>>()
            .into_iter()
            .filter(|x| *x)
            .count()
            + if text.contains("Expired") { 100 } else { 0 }
    };
    assert_eq!(events(Plan::default()), 5);
    assert_eq!(events(Plan { events: [(3, Cut::Break)].into(), ..Plan::default() }), 2);
    assert_eq!(events(Plan { events: [(3, Cut::Lose)].into(), ..Plan::default() }), 102);
    let begin = Instant::now();
    let late = Cut::Delay(Duration::from_millis(900));
    assert_eq!(events(Plan { events: [(5, late)].into(), ..Plan::default() }), 5);
    assert!(begin.elapsed() > Duration::from_millis(900));
    let _ = std::fs::remove_file(proxy.kubeconfig());
}

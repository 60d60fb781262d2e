//! `weir --url`: commands that call a server elsewhere, over HTTP and HTTPS, and what they say when they cannot.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::home::{Home, Run, Server};
use crate::{metrics_page, tour};

/// A server with its folder, and the folder of a user elsewhere.
struct Site {
    theirs: Home,
    ours: Home,
    server: Server,
    url: String,
    key: String,
}

impl Site {
    fn http() -> Site {
        let theirs = cheap_home();
        let server = theirs.serve("weir-data");
        let url = format!("http://{}", server.address);
        Site::new(theirs, server, url)
    }

    /// Its certificate is of a CA in `ca.pem`.
    fn https() -> Site {
        let theirs = cheap_home();
        certify(&theirs);
        let flags = ["--data", "weir-data"];
        let files = [("WEIR_TLS_CERT", "cert.pem"), ("WEIR_TLS_KEY", "key.pem")];
        let server = theirs.serve_in(&files, &flags);
        let url = format!("https://localhost:{}", server.address.rsplit_once(':').unwrap().1);
        Site::new(theirs, server, url)
    }

    fn new(theirs: Home, server: Server, url: String) -> Site {
        let key = std::fs::read_to_string(theirs.path("weir-data/admin.key")).unwrap();
        Site { theirs, ours: Home::new(), server, url, key: key.trim().to_owned() }
    }

    /// Runs a command elsewhere, with the admin key.
    fn weir(&self, line: &str) -> Run {
        self.weir_as(&self.key, line)
    }

    fn weir_as(&self, token: &str, line: &str) -> Run {
        let ca = self.theirs.path("ca.pem");
        let mut variables = vec![("WEIR_URL", self.url.as_str()), ("WEIR_TOKEN", token)];
        if ca.exists() {
            variables.push(("WEIR_CA_FILE", ca.to_str().unwrap()));
        }
        self.ours.weir_in(&variables, line)
    }
}

/// A folder whose server hashes secrets at little cost.
fn cheap_home() -> Home {
    let home = Home::new();
    home.configure("[keeper]\nbcrypt_cost = 4\n");
    home
}

/// Writes a CA, and the key and certificate of `localhost`.
fn certify(home: &Home) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Another name than that of the certificate, which would count as self-signed.
    params.distinguished_name.push(DnType::CommonName, "a CA of the tests");
    let ca_key = KeyPair::generate().unwrap();
    std::fs::write(home.path("ca.pem"), params.self_signed(&ca_key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(params, ca_key);
    let key = KeyPair::generate().unwrap();
    let cert = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let cert = cert.signed_by(&key, &issuer).unwrap();
    std::fs::write(home.path("cert.pem"), cert.pem()).unwrap();
    std::fs::write(home.path("key.pem"), key.serialize_pem()).unwrap();
}

/// Takes the tour from elsewhere: nothing is opened or made here.
fn tour_of(site: &Site) {
    tour::pack(&site.ours);
    let mut stops = 0;
    tour::take(&site.ours, |line| site.weir(line), |_, _| stops += 1);
    assert!(stops > 100, "{stops}");
    assert!(!site.ours.path("weir-data").exists(), "a command opened a store here");
}

#[test]
fn every_command_calls_a_server_elsewhere() {
    tour_of(&Site::http());
}

#[test]
fn every_command_calls_a_server_elsewhere_over_https() {
    let site = Site::https();
    tour_of(&site);
    metrics_page::check(&metrics(&site));
}

/// The metrics of a server, as Prometheus gets them.
fn metrics(site: &Site) -> String {
    let mut curl = std::process::Command::new("curl");
    curl.arg("-sS").arg("--cacert").arg(site.theirs.path("ca.pem"));
    curl.arg("-H").arg(format!("X-API-Key: {}", site.key)).arg(format!("{}/metrics", site.url));
    let output = curl.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_token_comes_from_a_flag_a_file_or_a_variable() {
    let site = Site::http();
    let (url, key) = (&site.url, &site.key);
    std::fs::write(site.ours.path("key.txt"), format!("{key}\n")).unwrap();
    let weir = |variables: &[(&str, &str)], line: &str| site.ours.weir_in(variables, line);
    weir(&[], &format!("--url {url} --token {key} token list")).ok();
    weir(&[], &format!("--url {url} --token-file key.txt token list")).ok();
    weir(&[("WEIR_TOKEN_FILE", "key.txt")], &format!("--url {url} token list")).ok();
    weir(&[("WEIR_URL", url), ("WEIR_TOKEN", key)], "token list").ok();
    // A flag wins over a variable.
    weir(&[("WEIR_TOKEN", "wrong")], &format!("--url {url} --token-file key.txt token list")).ok();
    let token = weir(&[], &format!("--url {url} --token {key} token issue ci --scope ns:default"));
    assert_eq!(token.code, Some(0), "{token:?}");
    let limits = "limiter limits set --system --limit rpm=10/min";
    site.weir_as(token.out.trim(), limits).ok();
}

#[test]
fn credentials_that_are_not_enough_are_explained() {
    let site = Site::http();
    let url = format!("--url {}", site.url);
    let none = site.ours.weir(&format!("{url} token list"));
    none.fails(3, &["X-API-Key", "WEIR_TOKEN", "--token-file"]);
    site.weir_as("wak_wrong", "token list").fails(3, &["the key is not valid", "WEIR_TOKEN"]);
    site.weir_as("eyJh.eyJh.c2ln", "token list").fails(3, &["the token is not valid"]);
    let token = site.weir("token issue ci --scope ns:default").out;
    let narrow = site.weir_as(token.trim(), "jobs list");
    narrow.fails(3, &["the scope admin", "weir token issue NAME --scope 'admin'"]);
}

#[test]
fn a_server_that_cannot_be_reached_is_explained() {
    let home = Home::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let weir = |url: &str| home.weir(&format!("--url {url} token list"));
    weir(&format!("http://{free}")).fails(1, &["nothing listens on", "--url"]);
    weir("http://weir.invalid").fails(1, &["weir.invalid", "cannot be looked up"]);
    weir("weir.example.com").fails(2, &["is not an address like https://"]);
    weir("https://x/?a=b").fails(2, &["is not an address like https://"]);
    home.weir("--url http://x --token-file none.txt token list").fails(2, &["none.txt"]);
    for line in
        ["--url https://u:pass-word@x token list", "--url https://u:pass-word@x tables list"]
    {
        let run = home.weir(line);
        assert!(!format!("{run:?}").contains("pass-word"), "{run:?}");
        run.fails(2, &["the address of the server has credentials in it", "--token-file"]);
    }
    for id in [".", ".."] {
        home.weir(&format!("--url http://127.0.0.1:1 token revoke {id}"))
            .fails(2, &["cannot stand in the address", "help: "]);
    }
    home.weir("--url https://x --ca-file orders.json token list").fails(2, &["orders.json"]);
    let both = [("WEIR_URL", "http://x"), ("WEIR_TOKEN", "a"), ("WEIR_TOKEN_FILE", "b")];
    home.weir_in(&both, "token list").fails(2, &["WEIR_TOKEN and WEIR_TOKEN_FILE"]);
}

#[test]
fn a_certificate_that_is_not_trusted_is_explained() {
    let site = Site::https();
    let ca = site.theirs.path("ca.pem");
    let weir = |url: &str, flags: &str| site.ours.weir(&format!("--url {url} {flags} token list"));
    weir(&site.url, "").fails(1, &["a CA that is not trusted", "--ca-file"]);
    let trusted = format!("--ca-file {}", ca.display());
    weir(&site.url, &trusted).fails(3, &["X-API-Key"]);
    let by_address = site.url.replace("localhost", "127.0.0.1");
    weir(&by_address, &trusted).fails(1, &["no secure connection", "not valid for name"]);
    // HTTP on the port of HTTPS, and the other way round.
    weir(&site.url.replace("https", "http"), "").fails(1, &["not like a Weir server"]);
    let plain = Site::http();
    weir(&plain.url.replace("http", "https"), "").fails(1, &["does not speak TLS", "http://"]);
    drop(site.server);
}

#[test]
fn another_server_is_not_taken_for_weir() {
    let home = Home::new();
    for (response, says) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "not like a Weir server"),
        ("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", "status 502"),
        (
            "HTTP/1.1 301 Moved\r\nlocation: https://elsewhere/\r\ncontent-length: 0\r\n\r\n",
            "redirects to https://elsewhere/",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap();
            stream.write_all(response.as_bytes()).unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        let run = home.weir(&format!("--url http://{address}/gate --token k token list"));
        run.fails(1, &[says, "--url"]);
        let head = answering.join().unwrap();
        assert!(head.starts_with("GET /gate/v1/tokens?"), "{head}");
        assert!(head.contains("x-api-key: k"), "{head}");
    }
}

#[test]
fn a_command_for_a_store_does_not_take_a_server_for_it() {
    let home = Home::with_orders();
    let elsewhere = [("WEIR_URL", "http://127.0.0.1:1")];
    for line in ["tables list", "table scan orders", "backup x", "tables delete orders --yes"] {
        home.weir_in(&elsewhere, line).fails(2, &["works on a store", "--data"]);
        home.weir(&format!("--url http://127.0.0.1:1 {line}")).fails(2, &["works on a store"]);
        home.weir(&format!("--url http://127.0.0.1:1 {line} --data weir-data"))
            .fails(2, &["--data and --url exclude each other"]);
    }
    assert!(home.weir_in(&elsewhere, "tables list --data weir-data").ok().contains("orders"));
    for line in ["limiter import-zae --from embedded:x --table y", "practice migrate status"] {
        home.weir_in(&elsewhere, line).fails(2, &["works on a store"]);
    }
    for line in ["serve", "config", "doctor", "completions bash"] {
        home.weir(&format!("--url http://127.0.0.1:1 {line}")).fails(2, &["--url is for commands"]);
    }
    home.weir_in(&elsewhere, "config").ok();
    home.weir("--token x token list").fails(2, &["--token is for a server elsewhere"]);
    home.weir("token list --url http://x").fails(2, &["--url stands before the command"]);
}

#[test]
fn a_new_admin_key_of_a_server_elsewhere_is_not_saved_here() {
    let site = Site::http();
    let made = site.ours.weir("tables create --spec orders.json");
    assert_eq!(made.code, Some(0), "{made:?}");
    let new = site.weir("admin-key rotate");
    assert_eq!(new.code, Some(0), "{new:?}");
    assert!(!site.ours.path("weir-data/admin.key").exists());
    site.weir("token list").fails(3, &["the key is not valid"]);
    site.weir_as(new.out.trim(), "token list").ok();
}

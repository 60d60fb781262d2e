//! The page and its files: what browsers get, with a strict policy, and what programs do not.

use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::Scene;

const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";
const POLICY: &str = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";

const KINDS: [(&str, &str); 3] = [
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".svg", "image/svg+xml"),
];

async fn open(scene: &Scene, path: &str) -> Reply {
    scene.app.get(path).header("accept", BROWSER).send().await
}

#[tokio::test]
async fn every_path_of_a_section_is_the_same_page() {
    let scene = Scene::start().await;
    let home = open(&scene, "/").await;
    assert_eq!(home.status, 200);
    assert!(home.text().starts_with("<!doctype html>"), "{}", home.text());
    for path in [
        "/",
        "/budgets/acme?day=today",
        "/limits/default/entities/user-1",
        "/reviews/review/x",
        "/practice/jobs/x/y",
        "/settings/tokens",
    ] {
        let section = path.split('/').nth(1).unwrap();
        let of_section = open(&scene, &format!("/{section}")).await;
        let page = open(&scene, path).await;
        assert_eq!((page.status, page.text()), (200, of_section.text()), "{path}");
        assert_eq!(page.header("content-security-policy"), POLICY, "{path}");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert_eq!(page.header("cache-control"), "no-cache");
        let program = scene.app.get(path).header("accept", "application/json").send().await;
        program.problem(Code::NOT_FOUND);
    }
    scene.app.get("/").send().await.problem(Code::NOT_FOUND);
    open(&scene, "/nowhere").await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn files_that_the_page_names_are_there() {
    let scene = Scene::start().await;
    let page = open(&scene, "/").await.text();
    let files = files_of(&page);
    // One script and one style sheet: each file more takes time in a browser.
    for ending in ["/app/first-paint.js", "/console.js", "/console.css", "/icon.svg"] {
        assert!(files.iter().any(|file| file.ends_with(ending)), "{ending} in {page}");
    }
    assert_eq!(files.len(), 4, "{page}");
    check_files(&scene, &page).await;
}

/// The files that a page names have their version in their address, and are kept by browsers.
async fn check_files(scene: &Scene, page: &str) {
    for file in files_of(page) {
        let reply = scene.app.get(&format!("/assets/{file}")).send().await;
        assert_eq!(reply.status, 200, "{file}");
        assert_eq!(reply.header("cache-control"), "public, max-age=31536000, immutable", "{file}");
        assert_eq!(reply.header("content-security-policy"), POLICY, "{file}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{file}");
        let kind = KINDS.iter().find(|(ending, _)| file.ends_with(ending)).unwrap().1;
        assert_eq!(reply.header("content-type"), kind, "{file}");
    }
}

fn files_of(page: &str) -> Vec<&str> {
    page.split("/assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[tokio::test]
async fn a_page_from_before_an_upgrade_gets_the_files_of_now() {
    let scene = Scene::start().await;
    let page = open(&scene, "/").await.text();
    let (version, file) = files_of(&page)[0].split_once('/').unwrap();
    let now = scene.app.get(&format!("/assets/{version}/{file}")).send().await;
    for path in [format!("0123456789abcdef/{file}"), file.to_owned()] {
        let reply = scene.app.get(&format!("/assets/{path}")).send().await;
        assert_eq!((reply.status, reply.text()), (200, now.text()), "{path}");
        assert_eq!(reply.header("cache-control"), "no-cache", "{path}");
        assert_eq!(reply.header("etag"), now.header("etag"), "{path}");
    }
}

#[tokio::test]
async fn nothing_outside_the_console_is_a_file_of_it() {
    let scene = Scene::start().await;
    for path in [
        "none.js",
        "../Cargo.toml",
        "..%2f..%2fCargo.toml",
        "app/%2e%2e/%2e%2e/Cargo.toml",
        "%2fetc%2fpasswd",
        "app",
        "app/",
        ".",
        "%00",
        "app%5capi.js",
    ] {
        let reply = scene.app.get(&format!("/assets/{path}")).send().await;
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
    }
}

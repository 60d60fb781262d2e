//! The page and its files: what browsers get, with a strict policy, and what programs do not.

use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::Scene;

const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";
const POLICY: &str = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";

async fn open(scene: &Scene, path: &str) -> Reply {
    scene.app.get(path).header("accept", BROWSER).send().await
}

#[tokio::test]
async fn every_path_of_the_console_is_the_same_page() {
    let scene = Scene::start().await;
    let home = open(&scene, "/").await;
    assert_eq!(home.status, 200);
    assert!(home.text().starts_with("<!doctype html>"), "{}", home.text());
    for path in [
        "/budgets",
        "/budgets/acme?day=today",
        "/limits",
        "/limits/default/entities/user-1",
        "/reviews",
        "/practice/jobs/x/y",
        "/settings",
        "/settings/tokens",
    ] {
        let page = open(&scene, path).await;
        assert_eq!((page.status, page.text()), (200, home.text()), "{path}");
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
    let mut files: Vec<&str> = page.split("/assets/").skip(1).collect();
    files = files.into_iter().map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(files.len() > 2, "{page}");
    for file in files {
        let reply = scene.app.get(&format!("/assets/{file}")).send().await;
        assert_eq!(reply.status, 200, "{file}");
        assert_eq!(reply.header("content-security-policy"), POLICY, "{file}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{file}");
        let kind = match file.rsplit('.').next().unwrap() {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            other => panic!("a file of the type {other}"),
        };
        assert_eq!(reply.header("content-type"), kind, "{file}");
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

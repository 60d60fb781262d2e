//! Connections with TLS are verified.

use weir_practice::migrate::Migration;
use weir_testkit::Postgres;

use crate::scene::Scene;

scenes!(@on embedded a_certificate_is_verified);

async fn a_certificate_is_verified(scene: &Scene) {
    let names = vec!["localhost".to_owned()];
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(names).unwrap();
    let server = Postgres::start_with_tls(&cert.pem(), &signing_key.serialize_pem()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, cert.pem()).unwrap();
    let (address, roots) = (server.url(), roots.display());
    let connect =
        async |url: String| Migration::connect(&url, scene.practice.clone()).await.map(|_| ());
    let named = address.replace("127.0.0.1", "localhost");
    connect(format!("{named}/postgres?sslmode=require&sslrootcert={roots}")).await.unwrap();
    connect(format!("{named}/postgres?sslmode=verify-full&sslrootcert={roots}")).await.unwrap();
    connect(format!("{address}/postgres?sslmode=disable")).await.unwrap();
    // The machine does not trust it, and it is not of this name.
    connect(format!("{named}/postgres?sslmode=require")).await.unwrap_err();
    connect(format!("{address}/postgres?sslmode=require&sslrootcert={roots}")).await.unwrap_err();
    connect(format!("{named}/postgres?sslrootcert=/nowhere")).await.unwrap_err();
}

//! The bound of connections per address.

use weir_framework::networks::Networks;
use weir_testkit::eventually_eq;

use crate::attack::{Attack, HALF_HEAD};
use crate::site::{Site, builder};

/// More than the connections that one honest client leaves behind at a time.
const MAX: usize = 50;
const REFUSED: &str = "weir_connections_refused_total";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_holds_too_many_connections_gets_no_more() {
    let bounded = builder().listen(|listen| {
        listen.connections_per_address_max = MAX;
        listen.bounds_loopback = true;
    });
    let site = Site::start(bounded).await;
    let within = Attack::start(site.address(), MAX, HALF_HEAD).await;
    let beyond = Attack::start(site.address(), 5, HALF_HEAD).await;
    assert!(beyond.answers().await.iter().all(String::is_empty), "closed without a response");
    assert_eq!(site.metric(REFUSED).await, 5);
    site.serves().await;
    assert_eq!(within.open(), MAX, "who is connected stays connected");
    drop(within);
    let free = async || {
        let again = Attack::start(site.address(), 1, HALF_HEAD).await;
        site.serves().await;
        again.open() == 1
    };
    eventually_eq(true, free).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_proxy_may_have_any_number_of_connections() {
    let trusting = builder().listen(|listen| {
        listen.connections_per_address_max = 1;
        listen.bounds_loopback = true;
        listen.trusted_proxies = Networks::parse(&["127.0.0.0/8"]).unwrap();
    });
    let site = Site::start(trusting).await;
    let many = Attack::start(site.address(), MAX, HALF_HEAD).await;
    site.serves().await;
    assert_eq!((many.open(), site.metric(REFUSED).await), (MAX, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_of_this_machine_get_in_beside_any_number_of_its_connections() {
    let site = Site::start(builder().listen(|listen| listen.connections_per_address_max = 1)).await;
    let many = Attack::start(site.address(), MAX, HALF_HEAD).await;
    site.serves().await;
    assert_eq!((many.open(), site.metric(REFUSED).await), (MAX, 0));
}

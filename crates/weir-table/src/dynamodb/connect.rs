//! Connection options: endpoint, region, timeouts and retries.

use std::collections::HashMap;
use std::net::IpAddr;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials as _};
use aws_smithy_http_client::tls;
use parking_lot::{Mutex, RwLock};

use super::Dynamo;
use super::empty_maps::NamesEmptyMaps;
use super::meter::Meter;
use super::retry::{Retries, RetryOptions, Timeouts};
use super::streams::Readers;
use crate::error::{Error, Result};

/// Options of a connection.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// URL of the endpoint; `None` for AWS.
    pub endpoint: Option<String>,
    /// The region; `None` takes it from the AWS settings. A custom endpoint falls back to `us-east-1`.
    pub region: Option<String>,
    /// Prefix of every table name in DynamoDB.
    pub table_prefix: String,
    /// Timeouts of calls.
    pub timeouts: Timeouts,
    /// Retries of calls.
    pub retry: RetryOptions,
}

const DEFAULT_REGION: &str = "us-east-1";

impl Dynamo {
    /// Prepares a connection. The first request opens it.
    ///
    /// # Errors
    /// An option is invalid, or credentials or a region are missing.
    pub async fn connect(options: Options) -> Result<Dynamo> {
        check(&options)?;
        let config = load(&options).await?;
        let tables = aws_sdk_dynamodb::Client::new(&config);
        let streams = streams(&config, options.endpoint.is_some());
        Ok(Dynamo {
            tables,
            streams,
            meter: Meter::new(&options.table_prefix),
            prefix: options.table_prefix,
            retries: Retries::new(options.retry, options.timeouts),
            specs: RwLock::new(HashMap::new()),
            readers: Mutex::new(Readers::default()),
        })
    }
}

/// The client for the change feed.
fn streams(config: &SdkConfig, is_custom: bool) -> aws_sdk_dynamodbstreams::Client {
    let mut builder = aws_sdk_dynamodbstreams::config::Builder::from(config);
    if is_custom && let Some(http) = config.http_client() {
        builder = builder.http_client(NamesEmptyMaps::new(http));
    }
    aws_sdk_dynamodbstreams::Client::from_conf(builder.build())
}

fn check(options: &Options) -> Result<()> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !options.table_prefix.chars().all(good) {
        return Err(Error::invalid("table_prefix", "takes letters, digits, '_', '-' and '.'"));
    }
    if let Some(endpoint) = &options.endpoint
        && host(endpoint).is_none()
    {
        return Err(Error::invalid(
            "endpoint",
            format!("{endpoint:?} is not a URL like http://127.0.0.1:8000"),
        ));
    }
    if options.retry.attempts_max == 0 {
        return Err(Error::invalid("retry.attempts_max", "must be at least 1"));
    }
    Ok(())
}

async fn load(options: &Options) -> Result<SdkConfig> {
    let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    let http = aws_smithy_http_client::Builder::new().tls_provider(ring).build_https();
    let timeouts = TimeoutConfig::builder().connect_timeout(options.timeouts.connect).build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts);
    if let Some(region) = region(options) {
        loader = loader.region(Region::new(region));
    }
    if let Some(endpoint) = &options.endpoint {
        loader = loader.endpoint_url(endpoint);
        if is_loopback(endpoint) && std::env::var_os("AWS_ACCESS_KEY_ID").is_none() {
            let dummy = Credentials::new("local", "local", None, None, "loopback endpoint");
            loader = loader.credentials_provider(dummy);
        }
    }
    let config = loader.load().await;
    if config.region().is_none() {
        let problem = "none is set; give one, or set AWS_REGION";
        return Err(Error::invalid("region", problem));
    }
    if let Some(provider) = config.credentials_provider() {
        provider
            .provide_credentials()
            .await
            .map_err(|source| Error::backend("finding AWS credentials", source))?;
    }
    Ok(config)
}

/// The region, if it need not be looked up. A custom endpoint must not wait for a lookup.
fn region(options: &Options) -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let named = options.region.clone();
    if options.endpoint.is_none() {
        return named;
    }
    named
        .or_else(|| set("AWS_REGION"))
        .or_else(|| set("AWS_DEFAULT_REGION"))
        .or_else(|| Some(DEFAULT_REGION.to_owned()))
}

/// The host of an `http` or `https` URL that names no user.
fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split_once(']')?.0,
        None => authority.split(':').next()?,
    };
    (!host.is_empty() && !authority.contains('@')).then_some(host)
}

fn is_loopback(url: &str) -> bool {
    host(url).is_some_and(|host| {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dummy_credentials_go_to_this_machine_only() {
        for url in [
            "http://localhost:8000",
            "http://127.0.0.1:8000/",
            "https://127.9.9.9",
            "http://[::1]:8000",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://127.0.0.1.example.com",
            "http://localhost.example.com:8000",
            "http://user@localhost",
            "http://10.0.0.1",
            "https://dynamodb.eu-west-1.amazonaws.com",
            "ftp://localhost",
            "http://",
            "",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[tokio::test]
    async fn wrong_options_are_named() {
        for (options, field) in [
            (Options { endpoint: Some("localhost:8000".into()), ..Options::default() }, "endpoint"),
            (Options { table_prefix: "a/".into(), ..Options::default() }, "table_prefix"),
        ] {
            let error = Dynamo::connect(options).await.unwrap_err();
            assert_eq!(error.field(), Some(field));
        }
    }
}

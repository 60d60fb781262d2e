//! Where the archive is: a folder, or a bucket of S3 or of what speaks like it.

use std::path::Path as FilePath;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, PutOptions};

use crate::error::{Error, Result};

/// A place that keeps old audit events. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archive {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Archive {
    /// The archive at `file:///folder`, which is made where it is missing, or at `s3://bucket/prefix`. `endpoint` is where S3 is
    /// when it is not Amazon's. Credentials and region are taken from the environment, as AWS's tools name them, or from the
    /// machine's role; on a loopback endpoint none are needed.
    ///
    /// # Errors
    /// The address is not one of these, or the folder cannot be made.
    pub fn open(url: &str, endpoint: Option<&str>) -> Result<Archive> {
        if let Some(folder) = url.strip_prefix("file://") {
            return Archive::folder(FilePath::new(folder));
        }
        let Some(rest) = url.strip_prefix("s3://") else {
            let problem = format!("is {url:?}; it begins with file:// or s3://");
            return Err(Error::invalid("audit_archive", problem));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(Error::invalid("audit_archive", "names no bucket"));
        }
        Ok(Archive { objects: s3(bucket, endpoint)?, prefix: Path::from(prefix) })
    }

    fn folder(folder: &FilePath) -> Result<Archive> {
        if !folder.is_absolute() {
            return Err(Error::invalid("audit_archive", "is a folder that is not absolute"));
        }
        std::fs::create_dir_all(folder).map_err(|source| {
            weir_table::Error::io(format!("making the folder {}", folder.display()), source)
        })?;
        let objects = LocalFileSystem::new_with_prefix(folder).map_err(failed)?;
        // Events are deleted once they are archived, so a power cut must not take them.
        Ok(Archive { objects: Arc::new(objects.with_fsync(true)), prefix: Path::default() })
    }

    /// Writes an object, whole or not at all, in place of one of the same name.
    pub(super) async fn put(&self, name: &str, content: Vec<u8>) -> Result<()> {
        let parts = self.prefix.parts().map(|part| part.as_ref().to_owned());
        let name = name.split('/').map(str::to_owned);
        let at: Path = parts.chain(name).collect();
        let put = self.objects.put_opts(&at, content.into(), PutOptions::default());
        put.await.map_err(failed)?;
        Ok(())
    }
}

fn failed(source: object_store::Error) -> Error {
    Error::Store(weir_table::Error::backend("writing the audit archive", source))
}

#[cfg(not(feature = "s3"))]
fn s3(_: &str, _: Option<&str>) -> Result<Arc<dyn ObjectStore>> {
    Err(Error::invalid("audit_archive", "is in S3, which this build cannot write to"))
}

#[cfg(feature = "s3")]
fn s3(bucket: &str, endpoint: Option<&str>) -> Result<Arc<dyn ObjectStore>> {
    use object_store::aws::AmazonS3Builder;

    // Whoever installed one before us has the same right to.
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
        if is_loopback(endpoint) && std::env::var_os("AWS_ACCESS_KEY_ID").is_none() {
            builder = builder.with_access_key_id("local").with_secret_access_key("local");
        }
    }
    Ok(Arc::new(builder.build().map_err(failed)?))
}

#[cfg(feature = "s3")]
fn is_loopback(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => authority.split(':').next(),
    };
    host.is_some_and(|host| {
        let is_local = |ip: std::net::IpAddr| ip.is_loopback();
        host == "localhost" || host.parse().is_ok_and(is_local)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_refused() {
        for wrong in ["", "bucket", "http://x/y", "s3://", "s3:///x", "file://relative"] {
            let error = Archive::open(wrong, None).unwrap_err().to_string();
            assert!(error.starts_with("audit_archive"), "{wrong}: {error}");
        }
    }
}

//! Object stores for exports and archives: a folder, or a bucket with the S3 API.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use weir_table::{Error, Result};

/// Opens `file:///folder`, which is created if it is missing, or `s3://bucket/prefix`. Returns the object store and the prefix.
/// `field` is the setting that contains the URL. Credentials, region and endpoint come from the AWS environment variables or
/// from the machine's role.
///
/// # Errors
/// The URL is neither of these, or the folder cannot be created.
pub fn open(field: &str, url: &str) -> Result<(Arc<dyn ObjectStore>, String)> {
    if let Some(folder) = url.strip_prefix("file://") {
        return Ok((open_folder(field, Path::new(folder))?, String::new()));
    }
    let Some(rest) = url.strip_prefix("s3://") else {
        let problem = format!("is {url:?}; it begins with file:// or s3://");
        return Err(Error::invalid(field, problem));
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(Error::invalid(field, "names no bucket"));
    }
    Ok((s3(field, bucket)?, prefix.to_owned()))
}

/// Opens a folder, which is created if it is missing. `field` is the setting that names it.
///
/// # Errors
/// The path is not absolute, or the folder cannot be created.
pub fn open_folder(field: &str, folder: &Path) -> Result<Arc<dyn ObjectStore>> {
    if !folder.is_absolute() {
        return Err(Error::invalid(field, "is a folder that is not absolute"));
    }
    let making = || format!("making the folder {}", folder.display());
    std::fs::create_dir_all(folder).map_err(|source| Error::io(making(), source))?;
    let objects = LocalFileSystem::new_with_prefix(folder)
        .map_err(|source| Error::backend("opening a folder for objects", source))?;
    // Exported data is deleted from the store, so it must survive a power cut.
    Ok(Arc::new(objects.with_fsync(true)))
}

#[cfg(not(feature = "dynamodb"))]
fn s3(field: &str, _: &str) -> Result<Arc<dyn ObjectStore>> {
    Err(Error::invalid(field, "is in S3, which this build cannot write to"))
}

#[cfg(feature = "dynamodb")]
fn s3(_: &str, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
    use object_store::aws::AmazonS3Builder;

    // Another part of the process may have installed one before.
    tokio_rustls::rustls::crypto::ring::default_provider().install_default().ok();
    let built = AmazonS3Builder::from_env().with_bucket_name(bucket).build();
    Ok(Arc::new(built.map_err(|source| Error::backend("opening a bucket", source))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_and_an_address_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b");
        open("export", &format!("file://{}", inside.display())).unwrap();
        assert!(inside.is_dir());
        for wrong in ["", "bucket", "http://x/y", "s3://", "s3:///x", "file://relative"] {
            let error = open("export", wrong).unwrap_err().to_string();
            assert!(error.contains("export"), "{wrong}: {error}");
        }
    }
}

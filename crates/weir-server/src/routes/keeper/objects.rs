//! Where counters are exported to: a folder, or a bucket of S3.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use weir_keeper::export::Exports;
use weir_table::{Error, Result};

const FIELD: &str = "keeper.export";

/// The place at `file:///folder`, which is made where it is missing, or at `s3://bucket/prefix`. Credentials and region are
/// taken from the environment, as AWS's tools name them, or from the machine's role.
///
/// # Errors
/// The address is not one of these, or the folder cannot be made.
pub(super) fn open(url: &str) -> Result<Exports> {
    if let Some(folder) = url.strip_prefix("file://") {
        let folder = Path::new(folder);
        if !folder.is_absolute() {
            return Err(Error::invalid(FIELD, "is a folder that is not absolute"));
        }
        let making = || format!("making the folder {}", folder.display());
        std::fs::create_dir_all(folder).map_err(|source| Error::io(making(), source))?;
        let objects = LocalFileSystem::new_with_prefix(folder)
            .map_err(|source| Error::backend("opening the exports", source))?;
        // Counters expire once they are exported, so a power cut must not take the export.
        return Ok(Exports::new(Arc::new(objects.with_fsync(true)), ""));
    }
    let Some(rest) = url.strip_prefix("s3://") else {
        return Err(Error::invalid(FIELD, "begins with neither file:// nor s3://"));
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(Error::invalid(FIELD, "names no bucket"));
    }
    Ok(Exports::new(s3(bucket)?, prefix))
}

#[cfg(not(feature = "dynamodb"))]
fn s3(_: &str) -> Result<Arc<dyn ObjectStore>> {
    Err(Error::invalid(FIELD, "is in S3, which this build cannot write to"))
}

#[cfg(feature = "dynamodb")]
fn s3(bucket: &str) -> Result<Arc<dyn ObjectStore>> {
    use object_store::aws::AmazonS3Builder;

    // Whoever installed one before us has the same right to.
    tokio_rustls::rustls::crypto::ring::default_provider().install_default().ok();
    let built = AmazonS3Builder::from_env().with_bucket_name(bucket).build();
    Ok(Arc::new(built.map_err(|source| Error::backend("opening the exports", source))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_go_to_a_folder_that_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b");
        open(&format!("file://{}", inside.display())).unwrap();
        assert!(inside.is_dir());
        for wrong in ["", "a", "file://a", "s3://", "https://h"] {
            assert!(open(wrong).is_err(), "{wrong}");
        }
    }
}

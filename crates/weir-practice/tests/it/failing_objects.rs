//! An object storage that can be killed together with the store.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio_stream::Stream;
use weir_testkit::watched::{Strike, Watch};

type BoxStream<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// Objects in memory; after a number of calls it and the store fail for good.
#[derive(Debug)]
pub(crate) struct FailingObjects {
    inner: Arc<InMemory>,
    watch: Watch,
    left: AtomicI64,
}

impl FailingObjects {
    pub(crate) fn new(inner: Arc<InMemory>, watch: Watch) -> FailingObjects {
        FailingObjects { inner, watch, left: AtomicI64::new(i64::MAX) }
    }

    /// Fails every call after so many.
    pub(crate) fn kill_after(&self, calls: i64) {
        self.left.store(calls, Ordering::SeqCst);
    }

    /// Works again; returns whether it had failed.
    pub(crate) fn revive(&self) -> bool {
        self.watch.down(None);
        self.left.swap(i64::MAX, Ordering::SeqCst) < 0
    }

    fn call(&self) -> Result<()> {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        self.watch.down(Some(Strike::Before));
        Err(Error::Generic { store: "test", source: "injected by a test".into() })
    }
}

impl std::fmt::Display for FailingObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FailingObjects")
    }
}

#[async_trait::async_trait]
impl ObjectStore for FailingObjects {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.call()?;
        self.inner.put_opts(at, bytes, opts).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.call()?;
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(&self, all: BoxStream<Path>) -> BoxStream<Path> {
        match self.call() {
            Ok(()) => self.inner.delete_stream(all),
            Err(error) => Box::pin(tokio_stream::once(Err(error))),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<ObjectMeta> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

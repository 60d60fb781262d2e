//! An object storage in memory, whose calls wait and fail as those of the store do.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result,
};
use parking_lot::Mutex;

use crate::store::Memory;

/// An object storage as an instance calls it. Clones share the objects.
#[derive(Debug, Clone)]
pub struct Objects {
    calls: Memory,
    objects: Arc<InMemory>,
    stored: Arc<Mutex<Vec<String>>>,
}

impl Objects {
    /// An empty storage, as the instance of this store calls it.
    #[must_use]
    pub fn new(calls: Memory) -> Objects {
        Objects { calls, objects: Arc::default(), stored: Arc::default() }
    }

    /// The same objects for another instance.
    #[must_use]
    pub fn of_instance(&self, instance: usize) -> Objects {
        Objects { calls: self.calls.of_instance(instance), ..self.clone() }
    }

    /// The keys of objects that were stored since this was last asked.
    #[must_use]
    pub fn take_stored(&self) -> Vec<String> {
        std::mem::take(&mut self.stored.lock())
    }

    /// The keys of all objects.
    pub async fn keys(&self) -> Vec<String> {
        let mut listed = self.objects.list(None);
        let mut keys = Vec::new();
        while let Some(Ok(object)) = listed.next().await {
            keys.push(object.location.to_string());
        }
        keys
    }

    async fn call<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let failed = |error: weir_table::Error| Error::Generic {
            store: "simulated",
            source: Box::new(error),
        };
        self.calls.call_beside(work).await.map_err(failed)?
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("simulated")
    }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(&self, at: &Path, content: PutPayload, of: PutOptions) -> Result<PutResult> {
        let work = async {
            self.stored.lock().push(at.to_string());
            self.objects.put_opts(at, content, of).await
        };
        self.call(work).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        of: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(at, of).await
    }

    async fn get_opts(&self, at: &Path, of: GetOptions) -> Result<GetResult> {
        self.call(self.objects.get_opts(at, of)).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let objects = self.clone();
        let delete = move |at: Result<Path>| {
            let objects = objects.clone();
            async move {
                let at = at?;
                objects.call(objects.objects.delete(&at)).await?;
                Ok(at)
            }
        };
        locations.then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, of: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, of).await
    }
}

//! The object storage that the archive is in.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, PutOptions};

use crate::error::{Error, Result};

/// The archive of audit events. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archive {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Archive {
    /// An archive below a prefix. Events are deleted from the table once they are archived, so the storage must survive a power
    /// failure.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: &str) -> Archive {
        Archive { objects, prefix: Path::from(prefix) }
    }

    /// Writes an object, completely or not at all; replaces one of the same name.
    pub(super) async fn put(&self, name: &str, content: Vec<u8>) -> Result<()> {
        let parts = self.prefix.parts().map(|part| part.as_ref().to_owned());
        let name = name.split('/').map(str::to_owned);
        let at: Path = parts.chain(name).collect();
        let put = self.objects.put_opts(&at, content.into(), PutOptions::default());
        let failed = |source| weir_table::Error::backend("writing the audit archive", source);
        put.await.map_err(|source| Error::Store(failed(source)))?;
        Ok(())
    }
}

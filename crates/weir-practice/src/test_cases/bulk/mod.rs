//! Uploads of many test cases: a JSON array, JSON lines, or a zip archive.
//!
//! [`BulkUpload`] collects the parts of a body up to a bound. [`BulkUpload::check`] reads all of it and refuses what is
//! invalid, before anything is stored; it takes long, so call it on a thread for blocking work. Texts of an archive are
//! decompressed again when they are stored, so that memory holds the upload and one batch.

mod json;
mod zip;

use sha2::{Digest as _, Sha256};

use self::zip::Archive;
use super::NewTestCase;
use crate::bounds::{BULK_BYTES_MAX, TEST_CASES_MAX};
use crate::error::{Error, Result};

/// Format of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkFormat {
    /// A JSON array of test cases `{"input", "output", "sample"}`.
    Json,
    /// One such object on each line.
    JsonLines,
    /// A zip archive with an entry `….in` and an entry `….out` for each test case. Those below a folder `sample` or
    /// `samples` are samples.
    Zip,
}

/// An upload that is being received.
#[derive(Debug)]
pub struct BulkUpload {
    format: BulkFormat,
    bytes: Vec<u8>,
}

impl BulkUpload {
    /// An upload of this format.
    #[must_use]
    pub fn new(format: BulkFormat) -> BulkUpload {
        BulkUpload { format, bytes: Vec::new() }
    }

    /// Takes the next part.
    ///
    /// # Errors
    /// The upload is larger than [`BULK_BYTES_MAX`].
    pub fn push(&mut self, part: &[u8]) -> Result<()> {
        let bytes = self.bytes.len() as u64 + part.len() as u64;
        if bytes > BULK_BYTES_MAX {
            let problem = format!("is larger than {BULK_BYTES_MAX} bytes");
            return Err(Error::too_large("upload", problem));
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// Reads the whole upload once.
    ///
    /// # Errors
    /// The upload is invalid or exceeds a bound; the error names the test case or the entry.
    pub fn check(self) -> Result<CheckedUpload> {
        let digest = Sha256::digest(&self.bytes).into();
        let cases = match self.format {
            BulkFormat::Json => Cases::Read(json::array(&self.bytes)?),
            BulkFormat::JsonLines => Cases::Read(json::lines(&self.bytes)?),
            BulkFormat::Zip => Cases::Zip(Archive::open(self.bytes)?),
        };
        Ok(CheckedUpload { digest, cases })
    }
}

/// A valid upload.
#[derive(Debug)]
pub struct CheckedUpload {
    digest: [u8; 32],
    cases: Cases,
}

#[derive(Debug)]
enum Cases {
    Read(Vec<NewTestCase>),
    Zip(Archive),
}

impl CheckedUpload {
    /// The number of test cases.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.cases {
            Cases::Read(cases) => cases.len(),
            Cases::Zip(archive) => archive.count(),
        }
    }

    /// The SHA-256 of the upload.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// A test case, by its number.
    ///
    /// # Errors
    /// There is no such number.
    pub fn read(&mut self, number: usize) -> Result<NewTestCase> {
        let missing = || Error::invalid("upload", format!("has no test case {number}"));
        match &mut self.cases {
            Cases::Read(cases) => cases.get(number).cloned().ok_or_else(missing),
            Cases::Zip(archive) => archive.read(number)?.ok_or_else(missing),
        }
    }
}

/// Refuses an upload with more test cases than a problem may have.
fn check_count(count: usize) -> Result<()> {
    if count <= TEST_CASES_MAX {
        return Ok(());
    }
    let problem = format!("has more than {TEST_CASES_MAX} test cases");
    Err(Error::too_large("upload", problem))
}

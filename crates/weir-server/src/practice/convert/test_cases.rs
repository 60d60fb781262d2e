//! Test cases.

use weir_api::practice as api;
use weir_practice::test_cases::{NewTestCase, TestCase, Uploaded};

use super::seconds;

/// A test case to store.
pub(in crate::practice) fn new_test_case(request: api::NewTestCase) -> NewTestCase {
    NewTestCase { input: request.input, output: request.output, is_sample: request.sample }
}

/// A stored test case.
pub(in crate::practice) fn test_case(case: TestCase) -> api::TestCase {
    api::TestCase {
        id: case.id.to_string(),
        input: case.input,
        output: case.output,
        sample: case.is_sample,
        created_at: seconds(case.created_s),
        updated_at: seconds(case.updated_s),
    }
}

/// The result of an upload.
pub(in crate::practice) fn uploaded(uploaded: Uploaded) -> api::UploadResponse {
    let Uploaded { added, unchanged } = uploaded;
    api::UploadResponse { added: added as u64, unchanged: unchanged as u64 }
}

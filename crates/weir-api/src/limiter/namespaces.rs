//! Namespaces, the tenants of the limiter: `/v1/namespaces/…`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamespaceResponse {
    /// Name of the namespace.
    pub name: String,
    /// Id of the namespace, which the keys of its items begin with.
    pub id: String,
    /// State of the namespace.
    pub state: NamespaceState,
    /// Time at which the namespace was created.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time at which the namespace was deleted.
    #[schema(format = DateTime)]
    pub deleted_at: Option<String>,
}

/// The states of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamespaceState {
    /// The namespace is in use.
    Active,
    /// The namespace is out of use; its data remains and it can be recovered.
    Deleted,
    /// A background job is removing the data of the namespace.
    Purging,
}

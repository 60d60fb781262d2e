//! Requests and responses of the keeper.

//! Requests and responses of the limiter.

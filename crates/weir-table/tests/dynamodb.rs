//! What only the DynamoDB back-end does, on DynamoDB Local: names on the wire, errors, lost
//! answers, retries, cost and Streams. What both back-ends do is in the contract suite.
#![cfg(feature = "dynamodb")]

#[cfg(test)]
#[path = "dynamodb/connected.rs"]
mod connected;
#[cfg(test)]
#[path = "dynamodb/cost.rs"]
mod cost;
#[cfg(test)]
#[path = "dynamodb/errors.rs"]
mod errors;
#[cfg(test)]
#[path = "dynamodb/faults.rs"]
mod faults;
#[cfg(test)]
#[path = "dynamodb/proxy.rs"]
mod proxy;
#[cfg(test)]
#[path = "dynamodb/tables.rs"]
mod tables;
#[cfg(test)]
#[path = "dynamodb/verbs.rs"]
mod verbs;

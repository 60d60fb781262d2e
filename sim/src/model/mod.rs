//! What the domains are checked against: the rules once more, written as plainly as possible and for one reader at a time.

pub mod bucket;
pub mod lease;
pub mod ledger;
pub mod practice;
pub mod review;

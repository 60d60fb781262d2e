//! The routes of the console: its sessions, and what it shows of several services at once.

mod live;
mod overview;
mod session;
mod settings;

pub use self::live::{NamespaceRates, OrgSpend, ResourceRates, Tick, TotalRates};
pub use self::overview::{
    BudgetsOverview, JobsHealth, Overview, ResourceTraffic, StoreHealth, TrafficOverview,
};
pub use self::session::{Session, SignIn, SignOutParams};
pub use self::settings::{ConfigEntry, ConfigLayer};

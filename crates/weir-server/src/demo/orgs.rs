//! The orgs of the demo. They are invented.

/// The state of an org that the demo shows today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Today {
    /// An ordinary day.
    Ordinary,
    /// Hardly any traffic, ever.
    Quiet,
    /// This percentage of the first model's quota is spent.
    Near(u64),
    /// The first model's quota is spent, so the org has fallen back to the second.
    FallenBack,
    /// All quotas are spent.
    Exceeded,
}

/// An app and its share of the org's traffic, in percent.
pub(super) type App = (&'static str, &'static str, u64);

/// An org.
pub(super) struct Org {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) zone: &'static str,
    /// Hours that its clocks are ahead of UTC, about.
    pub(super) offset_hours: i64,
    /// Labels, the preferred one first, with their daily quotas in dollars.
    pub(super) chain: &'static [(&'static str, u64)],
    /// Whether each app has quotas of its own.
    pub(super) by_app: bool,
    pub(super) apps: &'static [App],
    /// Spend of an ordinary working day, in percent of the first quota.
    pub(super) spend_pct: u64,
    pub(super) today: Today,
    pub(super) admin: &'static str,
}

pub(super) const ORGS: [Org; 6] = [
    Org {
        id: "northwind-analytics",
        name: "Northwind Analytics",
        zone: "America/New_York",
        offset_hours: -5,
        chain: &[("premium", 120), ("standard", 60), ("economy", 25)],
        by_app: false,
        apps: &[
            ("insights-chat", "Insights chat", 55),
            ("report-writer", "Report writer", 30),
            ("sql-copilot", "SQL copilot", 15),
        ],
        spend_pct: 72,
        today: Today::Near(85),
        admin: "dana@northwind.example",
    },
    Org {
        id: "helios-health",
        name: "Helios Health",
        zone: "Europe/Berlin",
        offset_hours: 1,
        chain: &[("ultra_premium", 80), ("premium", 50), ("standard", 20)],
        by_app: true,
        apps: &[("triage-assistant", "Triage assistant", 60), ("claims-coder", "Claims coder", 40)],
        spend_pct: 64,
        today: Today::Ordinary,
        admin: "maria@helios.example",
    },
    Org {
        id: "kitsune-games",
        name: "Kitsune Games",
        zone: "Asia/Tokyo",
        offset_hours: 9,
        chain: &[("premium", 90), ("economy", 30)],
        by_app: false,
        apps: &[
            ("npc-dialogue", "NPC dialogue", 45),
            ("chat-moderation", "Chat moderation", 30),
            ("localisation", "Localisation", 15),
            ("playtest-notes", "Playtest notes", 10),
        ],
        spend_pct: 81,
        today: Today::FallenBack,
        admin: "kenji@kitsune.example",
    },
    Org {
        id: "fjord-logistics",
        name: "Fjord Logistics",
        zone: "Europe/Oslo",
        offset_hours: 1,
        chain: &[("standard", 30), ("economy", 10)],
        by_app: false,
        apps: &[("route-notes", "Route notes", 70), ("customs-forms", "Customs forms", 30)],
        spend_pct: 9,
        today: Today::Quiet,
        admin: "astrid@fjord.example",
    },
    Org {
        id: "banyan-bank",
        name: "Banyan Bank",
        zone: "Asia/Singapore",
        offset_hours: 8,
        chain: &[("ultra_premium", 60), ("premium", 40), ("standard", 20), ("economy", 5)],
        by_app: false,
        apps: &[
            ("fraud-explainer", "Fraud explainer", 50),
            ("kyc-summaries", "KYC summaries", 35),
            ("advisor-notes", "Advisor notes", 15),
        ],
        spend_pct: 76,
        today: Today::Exceeded,
        admin: "wei.ling@banyan.example",
    },
    Org {
        id: "redwood-legal",
        name: "Redwood Legal",
        zone: "America/Los_Angeles",
        offset_hours: -8,
        chain: &[("premium", 70), ("standard", 35), ("economy", 10)],
        by_app: false,
        apps: &[
            ("contract-review", "Contract review", 65),
            ("discovery-search", "Discovery search", 25),
            ("intake-bot", "Intake bot", 10),
        ],
        spend_pct: 58,
        today: Today::Ordinary,
        admin: "sam@redwood.example",
    },
];

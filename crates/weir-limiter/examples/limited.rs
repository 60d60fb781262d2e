//! Limits in a process of its own, with no server: `docs/limiter.md` shows what follows.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use weir_limiter::acquire::Acquire;
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::ids::{EntityId, LimitName, NamespaceName, Resource};
use weir_limiter::lease::Leased;
use weir_limiter::{Limiter, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?; // one that stays, in earnest
    let embedded = Embedded::open(Options::new(folder.path()))?;
    let cursors = embedded.cursor_key();
    let store = Store::new(embedded, cursors);
    let settings = Settings::new(false, store.derived_key("leases")?);
    let limiter = Limiter::open(store, Clock::System, settings).await?;
    let limits = limiter.namespace(&NamespaceName::new("default")?).await?;

    let (model, tpm) = (Resource::new("gpt-4")?, LimitName::new("tpm")?);
    let thousand = vec![Limit::per_minute(tpm.clone(), 1_000)];
    let config = LevelConfig { limits: thousand, ..LevelConfig::default() };
    limits.set_limits(&Level::Resource(model.clone()), config, "me").await?;

    let most = 600;
    let ask = Acquire::new(EntityId::new("user-1")?, model, [(tpm.clone(), most)].into());
    for question in ["how deep?", "how wide?", "how far?"] {
        match limits.lease(&ask).await? {
            Leased::Granted(lease) => {
                let used = 250; // what the model says it used
                lease.commit_actual([(tpm.clone(), used)].into()).await?;
                println!("{question} used {used} tokens");
            }
            Leased::Refused(no) => {
                println!("{question} again in {} s", (no.retry_after_ms + 999) / 1000);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limiter.md");
    const THIS: &str = include_str!("limited.rs");

    #[test]
    fn it_runs() {
        super::main().unwrap();
    }

    #[test]
    fn the_page_shows_it_as_it_is() {
        let begin = THIS.find("use weir_limiter").unwrap();
        let end = THIS.find("\n#[cfg(test)]").unwrap();
        let shown = &THIS[begin..end];
        let mut page = std::fs::read_to_string(PAGE).unwrap();
        let mark = "<!-- limited.rs -->\n```rust\n";
        let at = page.find(mark).unwrap() + mark.len();
        let end = at + page[at..].find("```\n").unwrap();
        if std::env::var_os("WEIR_TEST_BLESS").is_some() {
            page.replace_range(at..end, shown);
            std::fs::write(PAGE, page).unwrap();
        } else {
            assert!(&page[at..end] == shown, "it differs; WEIR_TEST_BLESS=1 rewrites the page");
        }
    }
}

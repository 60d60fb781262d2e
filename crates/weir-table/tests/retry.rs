//! Optimistic retries: conflicts are sent again, refusals and faults are not.

#![cfg(feature = "embedded")]

#[cfg(test)]
mod tests {
    use weir_table::embedded::{Embedded, Options};
    use weir_table::expr::{add, attr};
    use weir_table::retry::{PAGE_MAX, TRIES_MAX, TransactOptions};
    use weir_table::{Error, Get, Item, Key, Kind, Query, Store, TableSpec, Write};
    use weir_testkit::watched::{Strike, Watch, Watched};

    const TABLE: &str = "items";
    const TRIES: u64 = TRIES_MAX as u64;

    struct Setup {
        store: Store<Watched<Embedded>>,
        watch: Watch,
        _folder: tempfile::TempDir,
    }

    async fn setup() -> Setup {
        let folder = tempfile::tempdir().unwrap();
        let inner = Embedded::open(Options::new(folder.path())).unwrap();
        let (cursors, watch) = (inner.cursor_key(), Watch::default());
        let store = Store::new(Watched { inner, watch: watch.clone() }, cursors);
        let spec = TableSpec::new(TABLE, "id", Kind::S).sort("n", Kind::N);
        store.create_table(&spec).await.unwrap();
        Setup { store, watch, _folder: folder }
    }

    fn count() -> Write {
        Write::update(TABLE, Key::new("a", 1), add("count", 1))
    }

    fn refused() -> Write {
        count().when(attr("count").lt(0))
    }

    impl Setup {
        async fn counted(&self) -> Option<i64> {
            let get = Get::new(TABLE, Key::new("a", 1));
            self.store.get(&get).await.unwrap().and_then(|item| item.i64("count"))
        }
    }

    #[tokio::test]
    async fn a_write_is_sent_again_after_conflicts() {
        let setup = setup().await;
        setup.watch.fail(0, 3, Strike::Conflict);
        assert!(setup.store.write_with_retry(count()).await.unwrap().is_applied());
        assert_eq!((setup.watch.calls().writes, setup.counted().await), (4, Some(1)));
        // A refused condition is a result.
        assert!(!setup.store.write_with_retry(refused()).await.unwrap().is_applied());
        assert_eq!(setup.watch.calls().writes, 5);
    }

    #[tokio::test]
    async fn conflicts_without_end_are_an_error() {
        let setup = setup().await;
        setup.watch.fail(0, u64::MAX, Strike::Conflict);
        let error = setup.store.write_with_retry(count()).await.unwrap_err();
        assert!(error.is_conflict(), "{error:?}");
        assert_eq!(setup.watch.calls().writes, TRIES);
        let options = TransactOptions::default();
        let error = setup.store.transact_with_retry(vec![count()], options).await.unwrap_err();
        assert!(error.is_conflict(), "{error:?}");
        assert_eq!(setup.watch.calls().transactions, TRIES);
        setup.watch.cancel();
        assert_eq!(setup.counted().await, None);
    }

    #[tokio::test]
    async fn a_write_whose_outcome_is_unknown_is_not_sent_again() {
        let setup = setup().await;
        for strike in [Strike::Before, Strike::After] {
            setup.watch.fail_once(0, strike);
            let error = setup.store.write_with_retry(count()).await.unwrap_err();
            assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        }
        assert_eq!(setup.counted().await, Some(1));
    }

    #[tokio::test]
    async fn a_transaction_whose_response_was_lost_is_applied_once() {
        let setup = setup().await;
        setup.watch.fail(0, 2, Strike::After);
        let options = TransactOptions { unavailable_tries_max: 3, ..TransactOptions::default() };
        let done = setup.store.transact_with_retry(vec![count()], options).await.unwrap();
        assert!(done.is_applied());
        assert_eq!((setup.watch.calls().transactions, setup.counted().await), (3, Some(1)));
        setup.watch.fail(0, 3, Strike::Before);
        let error = setup.store.transact_with_retry(vec![count()], options).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        let done = setup.store.transact_with_retry(vec![refused()], options).await.unwrap();
        assert!(!done.is_applied());
        assert_eq!(setup.counted().await, Some(1));
    }

    #[tokio::test]
    async fn one_attempt_tells_a_lost_race_from_a_fault() {
        let setup = setup().await;
        assert!(setup.store.try_write(count()).await.unwrap());
        assert!(setup.store.try_transact(vec![count()]).await.unwrap());
        assert!(!setup.store.try_write(refused()).await.unwrap());
        assert!(!setup.store.try_transact(vec![refused()]).await.unwrap());
        setup.watch.fail(0, 2, Strike::Conflict);
        assert!(!setup.store.try_write(count()).await.unwrap());
        assert!(!setup.store.try_transact(vec![count()]).await.unwrap());
        setup.watch.fail(0, 2, Strike::Before);
        assert!(setup.store.try_write(count()).await.is_err());
        assert!(setup.store.try_transact(vec![count()]).await.is_err());
        assert_eq!(setup.counted().await, Some(2));
    }

    #[tokio::test]
    async fn pages_are_bounded_and_continue_at_their_cursor() {
        let setup = setup().await;
        for n in 0..PAGE_MAX + 5 {
            let item = Item::new().with("id", "a").with("n", i64::from(n));
            setup.store.write(Write::put(TABLE, item).flushed()).await.unwrap();
        }
        let query = || Query::partition(TABLE, "a");
        let page = async |limit, cursor| setup.store.page(query(), limit, cursor).await;
        assert_eq!(page(0, None).await.unwrap().items.len(), 1);
        let first = page(u32::MAX, None).await.unwrap();
        assert_eq!(first.items.len(), PAGE_MAX as usize);
        let rest = page(u32::MAX, first.cursor).await.unwrap();
        assert_eq!((rest.items.len(), rest.cursor), (5, None));
        let error = page(10, Some("nonsense".to_owned())).await.unwrap_err();
        assert_eq!(error.field(), Some("cursor"));
    }
}

//! What an emulator is known to get wrong, by name and with the reason. No skip is silent: the test
//! says so, and `skips_are_counted` prints them all.

/// Scenarios that do not run on one back-end.
pub(crate) struct Skip {
    /// The back-end.
    pub(crate) backend: &'static str,
    /// What is wrong there.
    pub(crate) reason: &'static str,
    /// The scenarios.
    pub(crate) scenarios: &'static [&'static str],
}

/// Why `scenario` does not run on `backend`, if so.
pub(crate) fn reason(backend: &str, scenario: &str) -> Option<&'static str> {
    SKIPS
        .iter()
        .find(|skip| skip.backend == backend && skip.scenarios.contains(&scenario))
        .map(|skip| skip.reason)
}

const fn skip(
    backend: &'static str,
    reason: &'static str,
    scenarios: &'static [&'static str],
) -> Skip {
    Skip { backend, reason, scenarios }
}

/// All skips.
pub(crate) const SKIPS: &[Skip] = &[
    skip(
        "dynamodb_local",
        "it counts only what the filter lets through towards the 1 MB of a page",
        &["a_filter_does_not_stretch_the_1_mb"],
    ),
    skip(
        "dynamodb_local",
        "when it removes expired items is undependable",
        &[
            "an_expired_item_is_removed_in_the_end",
            "an_expired_item_leaves_the_index",
            "an_expiry_that_is_not_a_number_is_ignored",
            "an_item_whose_expiry_moves_on_stays",
            "an_item_without_expiry_stays",
        ],
    ),
    skip(
        "dynamodb_local",
        "its streams do not say that a removal was by expiry",
        &["the_feed_marks_expired_items"],
    ),
    skip(
        "dynamodb_local",
        "several deletes at once may each return the item",
        &["concurrent_deletes_find_the_item_once"],
    ),
    skip(
        "moto",
        "it never removes expired items",
        &[
            "an_expired_item_is_removed_in_the_end",
            "an_expired_item_leaves_the_index",
            "an_expiry_that_is_not_a_number_is_ignored",
            "an_item_whose_expiry_moves_on_stays",
            "an_item_without_expiry_stays",
            "the_feed_marks_expired_items",
        ],
    ),
    skip(
        "moto",
        "it ignores idempotency tokens",
        &[
            "a_token_seen_before_does_nothing_again",
            "a_token_with_another_request_is_refused",
            "a_repeated_token_hides_later_changes",
            "a_token_sent_by_many_at_once_counts_once",
        ],
    ),
    skip(
        "moto",
        "it does not check an index key that an update sets",
        &[
            "an_empty_index_key_is_refused",
            "an_index_key_of_the_wrong_kind_is_refused",
            "an_index_key_of_the_wrong_kind_is_refused_in_a_transaction",
            "a_longer_index_key_is_refused",
        ],
    ),
    skip(
        "moto",
        "it lets an update remove a field of a text",
        &["a_path_into_another_kind_is_refused"],
    ),
    skip(
        "moto",
        "it answers 500 when a number is compared with a text",
        &["a_guard_on_a_missing_or_greater_attribute_is_true"],
    ),
    skip(
        "moto",
        "it keeps the first sums when a later one fails",
        &["a_sum_out_of_range_is_refused_and_nothing_added"],
    ),
    skip("moto", "it rounds sums to 38 digits", &["a_sum_of_39_digits_is_refused"]),
    skip("moto", "it answers 500 to a sum out of range", &["a_sum_out_of_range_is_refused"]),
    skip("moto", "it knows begins_with for text only", &["begins_with_matches_bytes"]),
    skip(
        "moto",
        "it knows contains for text, sets and lists only",
        &["contains_finds_bytes_in_bytes"],
    ),
    skip(
        "moto",
        "it answers 500 to an ordered comparison of two kinds",
        &["kinds_that_differ_are_in_no_order", "a_size_is_a_number_and_equals_no_text"],
    ),
    skip(
        "moto",
        "it answers 500 to a comparison with the size of what has none",
        &["size_counts_by_kind", "values_without_a_size_never_compare"],
    ),
    skip("moto", "it counts characters", &["the_size_of_a_text_is_its_utf16_units"]),
    skip(
        "moto",
        "it feeds a write that changes nothing",
        &["a_write_that_changes_nothing_is_not_fed"],
    ),
    skip(
        "moto",
        "it feeds an update that makes an item as two changes",
        &["an_update_that_makes_an_item_is_fed_once"],
    ),
    skip(
        "moto",
        "it counts more than 400 kB for an item of 400 kB",
        &[
            "an_item_can_grow_to_400_kb_by_update",
            "an_item_of_400_kb_is_stored",
            "an_update_that_outgrows_400_kb_is_refused",
        ],
    ),
    skip(
        "moto",
        "it misreads list elements in a projection",
        &["a_projection_joins_paths_of_one_attribute", "a_projection_of_elements_closes_the_gaps"],
    ),
    skip(
        "moto",
        "it answers 500 to a projection of a path into a number",
        &["a_projection_of_a_path_into_nothing_is_left_out"],
    ),
    skip(
        "moto",
        "it counts more than 100 kB for an item of 100 kB",
        &["a_page_without_limit_ends_at_1_mb"],
    ),
    skip("moto", "it allows 25 gets in a transaction", &["transact_get_reads_100_items"]),
    skip(
        "moto",
        "it ignores projections in transactions",
        &["transact_get_returns_only_projected_attributes"],
    ),
    skip(
        "moto",
        "it answers 500 to an update without changes",
        &["an_empty_update_makes_an_item_of_its_key"],
    ),
    skip(
        "moto",
        "it takes reading a key attribute for changing it",
        &["set_copies_a_key_attribute"],
    ),
    skip(
        "moto",
        "it appends elements in the order they are written",
        &["several_elements_set_past_the_end_append_in_order"],
    ),
    skip(
        "moto",
        "it has no locks, so requests at once undo each other",
        &[
            "concurrent_increments_are_never_lost",
            "a_concurrent_conditional_put_has_one_winner",
            "concurrent_takes_never_overdraw",
            "concurrent_version_checks_apply_each_version_once",
            "concurrent_members_are_all_in_the_set",
            "concurrent_deletes_find_the_item_once",
            "concurrent_transfers_keep_the_sum",
            "transact_get_never_sees_half_a_transfer",
            "concurrent_transactions_apart_are_all_applied",
            "concurrent_transactions_and_updates_both_count",
            "a_query_during_writes_sees_each_item_once",
            "an_index_is_in_step_after_concurrent_changes",
            "concurrent_changes_are_each_fed_once",
            "additions_at_once_are_each_counted_once",
        ],
    ),
    skip(
        "dynoxide",
        "it never removes expired items over HTTP",
        &[
            "an_expired_item_is_removed_in_the_end",
            "an_expired_item_leaves_the_index",
            "an_expiry_that_is_not_a_number_is_ignored",
            "an_item_whose_expiry_moves_on_stays",
            "an_item_without_expiry_stays",
            "the_feed_marks_expired_items",
        ],
    ),
    skip(
        "dynoxide",
        "it feeds a write that changes nothing",
        &["a_write_that_changes_nothing_is_not_fed"],
    ),
    skip(
        "dynoxide",
        "it does not check the length of an index key that an update sets",
        &["a_longer_index_key_is_refused"],
    ),
    skip(
        "dynoxide",
        "it counts the item at a page's end on both pages",
        &["a_filter_does_not_stretch_the_1_mb"],
    ),
    skip(
        "dynoxide",
        "it returns the keys with every projection in a transaction",
        &["transact_get_returns_only_projected_attributes"],
    ),
    skip(
        "aws",
        "it removes expired items within days",
        &[
            "an_expired_item_is_removed_in_the_end",
            "an_expired_item_leaves_the_index",
            "an_expiry_that_is_not_a_number_is_ignored",
            "an_item_whose_expiry_moves_on_stays",
            "an_item_without_expiry_stays",
            "the_feed_marks_expired_items",
        ],
    ),
];

//! Keys of the migration itself.

use weir_table::Key;

use super::entity::Entity;

/// How far a table is copied.
pub(super) fn checkpoint(entity: Entity) -> Key {
    Key::new("MIGRATION", format!("CHECKPOINT#{}", entity.table()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_checkpoint_is_stable() {
        let text = checkpoint(Entity::Usage).to_string();
        assert_eq!(text, "MIGRATION | CHECKPOINT#usage_logs");
    }
}

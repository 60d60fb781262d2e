-- Ids of records that were created in Weir: `weir practice migrate` writes them back with the next id of their table, and
-- remembers it here. It can be dropped when the migration is over.
CREATE TABLE IF NOT EXISTS weir_ids (
    entity  text NOT NULL,
    weir_id text NOT NULL,
    row_id  bigint NOT NULL,
    PRIMARY KEY (entity, weir_id),
    UNIQUE (entity, row_id)
);

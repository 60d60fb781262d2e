-- What Weir's table has missed: the rows that were written by anyone but `weir practice migrate`, in the order of their
-- writes. Triggers fill it in the transaction of the write itself.
CREATE TABLE IF NOT EXISTS weir_missed (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entity    text NOT NULL,
    row_id    bigint NOT NULL,
    operation text NOT NULL CHECK (operation IN ('write', 'delete')),
    -- Of a deleted problem or test case: the names of the problem.
    platform   text,
    problem_id text,
    -- Why Weir refused it; it is not tried again until this is null.
    problem   text,
    queued_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS weir_missed_of_row ON weir_missed (entity, row_id);

-- It runs with the rights of its owner, so that the application needs none on the queue.
CREATE OR REPLACE FUNCTION weir_queue() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    gone jsonb;
BEGIN
    IF current_setting('weir.applier', true) = 'on' THEN
        RETURN NULL;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO weir_missed (entity, row_id, operation) VALUES (TG_TABLE_NAME, NEW.id, 'write');
        RETURN NULL;
    END IF;
    gone := to_jsonb(OLD);
    IF TG_TABLE_NAME = 'problems' THEN
        INSERT INTO weir_missed (entity, row_id, operation, platform, problem_id)
        VALUES (TG_TABLE_NAME, OLD.id, 'delete', gone ->> 'platform', gone ->> 'problem_id');
    ELSIF TG_TABLE_NAME = 'test_cases' THEN
        -- Without a row of the problem all its test cases go with it.
        INSERT INTO weir_missed (entity, row_id, operation, platform, problem_id)
        SELECT TG_TABLE_NAME, OLD.id, 'delete', p.platform, p.problem_id
        FROM problems p WHERE p.id = (gone ->> 'problem_id')::bigint;
    ELSIF TG_TABLE_NAME <> 'usage_logs' THEN
        -- Usage expires on each side by its own rules.
        INSERT INTO weir_missed (entity, row_id, operation)
        VALUES (TG_TABLE_NAME, OLD.id, 'delete');
    END IF;
    RETURN NULL;
END $$;

"""The totals of usage follow its entries by themselves, whoever stores, mends or removes them."""

from django.db import migrations

TRIGGER = """
CREATE FUNCTION contracts_usage_is_added_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO contracts_usagetotal AS known
        (contract_id, active_seconds, model_turns, tool_attempts, tokens, cost)
    SELECT contract_id,
        COALESCE(sum(amount) FILTER (WHERE measure = 'active_seconds'), 0),
        COALESCE(sum(amount) FILTER (WHERE measure = 'model_turns'), 0),
        COALESCE(sum(amount) FILTER (WHERE measure = 'tool_attempts'), 0),
        COALESCE(sum(amount) FILTER (WHERE measure = 'tokens'), 0),
        COALESCE(sum(amount) FILTER (WHERE measure = 'cost'), 0)
    FROM added GROUP BY contract_id
    ON CONFLICT (contract_id) DO UPDATE SET
        active_seconds = known.active_seconds + excluded.active_seconds,
        model_turns = known.model_turns + excluded.model_turns,
        tool_attempts = known.tool_attempts + excluded.tool_attempts,
        tokens = known.tokens + excluded.tokens,
        cost = known.cost + excluded.cost;
    RETURN NULL;
END
$$;
CREATE FUNCTION contracts_usage_is_added_up_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE contracts_usagetotal AS known SET
        active_seconds = (SELECT COALESCE(sum(amount), 0) FROM contracts_usageentry
            WHERE contract_id = known.contract_id AND measure = 'active_seconds'),
        model_turns = (SELECT COALESCE(sum(amount), 0) FROM contracts_usageentry
            WHERE contract_id = known.contract_id AND measure = 'model_turns'),
        tool_attempts = (SELECT COALESCE(sum(amount), 0) FROM contracts_usageentry
            WHERE contract_id = known.contract_id AND measure = 'tool_attempts'),
        tokens = (SELECT COALESCE(sum(amount), 0) FROM contracts_usageentry
            WHERE contract_id = known.contract_id AND measure = 'tokens'),
        cost = (SELECT COALESCE(sum(amount), 0) FROM contracts_usageentry
            WHERE contract_id = known.contract_id AND measure = 'cost')
    WHERE contract_id IN (SELECT contract_id FROM changed);
    RETURN NULL;
END
$$;
CREATE TRIGGER usage_is_added_up AFTER INSERT ON contracts_usageentry
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION contracts_usage_is_added_up();
CREATE TRIGGER usage_is_mended AFTER UPDATE ON contracts_usageentry
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION contracts_usage_is_added_up_again();
CREATE TRIGGER usage_is_removed AFTER DELETE ON contracts_usageentry
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION contracts_usage_is_added_up_again();
INSERT INTO contracts_usagetotal (contract_id, active_seconds, model_turns, tool_attempts, tokens, cost)
SELECT contract.id,
    COALESCE(sum(amount) FILTER (WHERE measure = 'active_seconds'), 0),
    COALESCE(sum(amount) FILTER (WHERE measure = 'model_turns'), 0),
    COALESCE(sum(amount) FILTER (WHERE measure = 'tool_attempts'), 0),
    COALESCE(sum(amount) FILTER (WHERE measure = 'tokens'), 0),
    COALESCE(sum(amount) FILTER (WHERE measure = 'cost'), 0)
FROM contracts_contract contract LEFT JOIN contracts_usageentry entry ON entry.contract_id = contract.id
GROUP BY contract.id;
"""
UNDO = """
DROP TRIGGER usage_is_removed ON contracts_usageentry;
DROP TRIGGER usage_is_mended ON contracts_usageentry;
DROP TRIGGER usage_is_added_up ON contracts_usageentry;
DROP FUNCTION contracts_usage_is_added_up, contracts_usage_is_added_up_again;
"""


class Migration(migrations.Migration):
    dependencies = [("contracts", "0005_let_workers_in")]

    operations = [migrations.RunSQL(TRIGGER, UNDO)]

"""Separation of duties in the database: who wrote or last edited a draft decides on it only where the policy says so.

It depends on two rows, the item and the policy it is bound to, so it is a trigger; the name it raises is the code
of the refusal, like the name of any other constraint.
"""

from django.db import migrations

TRIGGER = """
CREATE FUNCTION contracts_bar_author(barred text, item contracts_approval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    wrote boolean := barred <> '' AND barred IN (item.author, item.last_editor);
BEGIN
    IF barred <> '' AND barred = item.requester THEN
        RAISE EXCEPTION 'who asked cannot decide'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'requester_cannot_decide';
    END IF;
    IF wrote AND NOT EXISTS (
        SELECT 1 FROM contracts_approvalpolicy
        WHERE contract_id = item.contract_id AND number = item.policy_number AND author_may_decide
    ) THEN
        RAISE EXCEPTION 'the author cannot decide'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'author_cannot_decide';
    END IF;
END
$$;
CREATE FUNCTION contracts_decider_is_apart() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM contracts_bar_author(NEW.decided_by::text, NEW);
    RETURN NEW;
END
$$;
CREATE FUNCTION contracts_voter_is_apart() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    item contracts_approval;
BEGIN
    SELECT * INTO item FROM contracts_approval WHERE id = NEW.approval_id AND contract_id = NEW.contract_id;
    PERFORM contracts_bar_author(NEW.decider::text, item);
    RETURN NEW;
END
$$;
CREATE TRIGGER decider_is_apart BEFORE INSERT OR UPDATE ON contracts_approval
    FOR EACH ROW EXECUTE FUNCTION contracts_decider_is_apart();
CREATE TRIGGER voter_is_apart BEFORE INSERT OR UPDATE ON contracts_approvalvote
    FOR EACH ROW EXECUTE FUNCTION contracts_voter_is_apart();
"""
UNDO = """
DROP TRIGGER voter_is_apart ON contracts_approvalvote;
DROP TRIGGER decider_is_apart ON contracts_approval;
DROP FUNCTION contracts_voter_is_apart, contracts_decider_is_apart, contracts_bar_author;
"""


class Migration(migrations.Migration):
    dependencies = [("contracts", "0003_tell_pass_on_and_look")]

    operations = [migrations.RunSQL(TRIGGER, UNDO)]

"""The database itself refuses to change or delete audit entries."""

from django.db import migrations

_REFUSE = """
CREATE FUNCTION refuse_to_change_the_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed or deleted' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON documents_auditentry
    FOR EACH ROW EXECUTE FUNCTION refuse_to_change_the_audit();
"""
_ALLOW = """
DROP TRIGGER audit_is_append_only ON documents_auditentry;
DROP FUNCTION refuse_to_change_the_audit();
"""


class Migration(migrations.Migration):
    dependencies = [("documents", "0002_documents_versions_pages_and_audit")]

    operations = [migrations.RunSQL(_REFUSE, _ALLOW)]

"""At most so many running jobs of a key: who holds a slot, who is blocked, and triggers that unblock. docs/adr/0011."""

from django.db import migrations, models
from django.db.models import F, Q

# The number is jobqueue.rows.concurrency.LOCK_CLASS. Each schema has functions of its own, bound to its tables, since a
# transaction may commit while another tenant is the active one. Above READ COMMITTED the snapshot may be older than the
# lock: then it is left to the look for forgotten jobs. Each type and queue of a key has its next job unblocked: the
# first of all may be one that no worker takes now. A wake-up names the tenant where there is a ledger, whose names are
# those of schemas.
FUNCTIONS = """
CREATE FUNCTION jobqueue_unblock(wanted text) RETURNS integer LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    running integer;
    unblocked integer;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(1246708300, hashtext(current_schema()));
    running := (
        SELECT count(*) FROM processing_jobs WHERE concurrency_key = wanted AND concurrency_slot IS NOT NULL
    );
    WITH RECURSIVE kinds (job_type, queue_name, concurrency_limit) AS (
        (SELECT job_type, queue_name, concurrency_limit FROM processing_jobs
         WHERE concurrency_key = wanted AND blocked_due_at IS NOT NULL
         ORDER BY job_type, queue_name LIMIT 1)
      UNION ALL
        SELECT next.* FROM kinds AS kind CROSS JOIN LATERAL (
            SELECT job_type, queue_name, concurrency_limit FROM processing_jobs
            WHERE concurrency_key = wanted AND blocked_due_at IS NOT NULL
              AND (job_type, queue_name) > (kind.job_type, kind.queue_name)
            ORDER BY job_type, queue_name LIMIT 1
        ) AS next
    ),
    next AS MATERIALIZED (
        SELECT first.id FROM kinds AS kind CROSS JOIN LATERAL (
            SELECT id FROM processing_jobs AS job
            WHERE concurrency_key = wanted AND blocked_due_at IS NOT NULL
              AND job.job_type = kind.job_type AND job.queue_name = kind.queue_name
              AND job.concurrency_limit > running
            ORDER BY priority DESC, blocked_due_at, id LIMIT greatest(kind.concurrency_limit - running, 1)
            FOR UPDATE SKIP LOCKED
        ) AS first
    )
    UPDATE processing_jobs SET available_at = blocked_due_at, blocked_due_at = NULL
    WHERE id = ANY (ARRAY(SELECT id FROM next));
    GET DIAGNOSTICS unblocked = ROW_COUNT;
    IF unblocked > 0 THEN
        PERFORM pg_notify('jobqueue', CASE WHEN to_regclass('public.jobqueue_wakeups') IS NULL THEN ''
                                           ELSE current_schema() END);
    END IF;
    RETURN unblocked;
END $$;

CREATE FUNCTION jobqueue_unblock_next() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM jobqueue_unblock(OLD.concurrency_key);
    RETURN NULL;
END $$;
"""

# Deferred, so that a handler that completes its job early in a long transaction holds nobody up. Besides what frees a
# slot: a job that was unblocked and can't use it after all.
TRIGGERS = """
CREATE CONSTRAINT TRIGGER jobqueue_unblock_after_update AFTER UPDATE ON processing_jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.concurrency_key IS NOT NULL AND (
        OLD.concurrency_slot IS NOT NULL AND NEW.concurrency_slot IS NULL
        OR OLD.status = 'pending' AND OLD.blocked_due_at IS NULL AND NEW.blocked_due_at IS NULL AND (
            NEW.status NOT IN ('pending', 'processing') OR NEW.available_at > OLD.available_at
            OR NEW.queue_name <> OLD.queue_name OR NEW.concurrency_key IS DISTINCT FROM OLD.concurrency_key
        )
    ))
    EXECUTE FUNCTION jobqueue_unblock_next();
CREATE CONSTRAINT TRIGGER jobqueue_unblock_after_delete AFTER DELETE ON processing_jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.concurrency_key IS NOT NULL AND (
        OLD.concurrency_slot IS NOT NULL OR OLD.status = 'pending' AND OLD.blocked_due_at IS NULL
    ))
    EXECUTE FUNCTION jobqueue_unblock_next();
"""

NEITHER = """
DROP TRIGGER jobqueue_unblock_after_update ON processing_jobs;
DROP TRIGGER jobqueue_unblock_after_delete ON processing_jobs;
DROP FUNCTION jobqueue_unblock_next();
DROP FUNCTION jobqueue_unblock(text);
UPDATE processing_jobs SET available_at = blocked_due_at WHERE blocked_due_at IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("jobqueue", "0005_traceparent")]

    operations = [
        migrations.AddField("processingjob", "concurrency_key", models.CharField(max_length=255, null=True)),
        migrations.AddField(
            "processingjob",
            "concurrency_limit",
            models.SmallIntegerField(null=True, help_text="so many with this key run at once, at most"),
        ),
        migrations.AddField(
            "processingjob",
            "concurrency_slot",
            models.SmallIntegerField(null=True, help_text="held while it runs, from 1 to the limit"),
        ),
        migrations.AddField(
            "processingjob",
            "blocked_due_at",
            models.DateTimeField(null=True, help_text="since when it is due; NULL: it is not blocked"),
        ),
        migrations.AddConstraint(
            "processingjob",
            models.UniqueConstraint(
                fields=["concurrency_key", "concurrency_slot"],
                name="concurrency_slot_is_held_once",
                condition=Q(concurrency_slot__isnull=False),
            ),
        ),
        migrations.AddConstraint(
            "processingjob",
            models.CheckConstraint(
                name="concurrency_key_has_limit",
                condition=Q(concurrency_key__isnull=True, concurrency_limit__isnull=True)
                | Q(concurrency_key__isnull=False, concurrency_limit__isnull=False, concurrency_limit__gte=1),
            ),
        ),
        migrations.AddConstraint(
            "processingjob",
            models.CheckConstraint(
                name="concurrency_slot_only_while_processing",
                condition=Q(concurrency_slot__isnull=True)
                | Q(
                    status="processing",
                    concurrency_slot__gte=1,
                    concurrency_slot__lte=F("concurrency_limit"),
                    concurrency_key__isnull=False,
                ),
            ),
        ),
        migrations.AddConstraint(
            "processingjob",
            models.CheckConstraint(
                name="blocked_only_while_pending",
                condition=Q(blocked_due_at__isnull=True) | Q(status="pending", concurrency_key__isnull=False),
            ),
        ),
        migrations.AddIndex(
            "processingjob",
            models.Index(
                fields=["concurrency_key", "available_at"],
                name="jobs_pending_by_key",
                condition=Q(status="pending", concurrency_key__isnull=False),
            ),
        ),
        migrations.AddIndex(
            "processingjob",
            models.Index(
                fields=["concurrency_key", "job_type", "queue_name", "-priority", "blocked_due_at", "id"],
                name="jobs_blocked",
                condition=Q(blocked_due_at__isnull=False),
            ),
        ),
        migrations.RunSQL(FUNCTIONS + TRIGGERS, NEITHER),
    ]

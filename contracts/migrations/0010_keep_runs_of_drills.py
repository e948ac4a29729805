"""Runs of drills and their results: a run never changes once it has ended, a result never at all."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

TRIGGER = """
CREATE FUNCTION contracts_drill_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what a drill came to is only ever added' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER drill_result_is_final BEFORE UPDATE OR DELETE ON contracts_drillresult
    FOR EACH ROW EXECUTE FUNCTION contracts_drill_is_final();
CREATE TRIGGER ended_drill_is_final BEFORE UPDATE ON contracts_drillrun
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION contracts_drill_is_final();
CREATE TRIGGER drill_stays BEFORE DELETE ON contracts_drillrun
    FOR EACH ROW EXECUTE FUNCTION contracts_drill_is_final();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('contracts', '0009_let_leases_be_short'),
    ]

    operations = [
        migrations.CreateModel(
            name='DrillResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('window', models.CharField(choices=[('before_commit', 'Crash before checkpoint commit'), ('after_commit', 'Crash after commit, before it is known'), ('receipt_lost', 'Remote write accepted, receipt lost'), ('two_resumes', 'Two resumes at once'), ('frozen_owner', 'Lease lapsed, old worker alive'), ('changed_while_paused', 'Source or approval changed while paused')], max_length=20)),
                ('verdict', models.CharField(blank=True, choices=[('held', 'Held'), ('unknown_held', 'Unknown, held'), ('failed', 'Failed'), ('not_expressible', 'Cannot be expressed')], max_length=20)),
                ('counters', models.JSONField()),
                ('sentence', models.TextField()),
                ('values', models.JSONField(blank=True, default=dict)),
                ('evidence', models.CharField(blank=True, max_length=2000)),
                ('stored_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='DrillRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_id', models.CharField(max_length=40, unique=True)),
                ('adapter', models.CharField(max_length=60)),
                ('target', models.CharField(choices=[('plain', 'Accepts everything'), ('deduplicates', 'Recognises a key it has seen'), ('checks_generation', 'Refuses a former generation'), ('proxy', 'Reached by the single write proxy')], max_length=20)),
                ('windows', models.JSONField()),
                ('repeat', models.PositiveIntegerField()),
                ('workflow_version', models.CharField(blank=True, max_length=200)),
                ('language', models.CharField(blank=True, max_length=20)),
                ('asked_by', models.CharField(max_length=200)),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('state', models.CharField(choices=[('queued', 'Waiting for its turn'), ('running', 'Running'), ('stopping', 'Being stopped'), ('done', 'Done'), ('stopped', 'Stopped'), ('failed', 'Broken off')], default='queued', max_length=20)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('end_reason', models.CharField(blank=True, choices=[('completed', 'Every cell was run.'), ('asked', 'Somebody stopped it; cells that were finished by then stay.'), ('runner_ended', 'The workbench was shut down; cells that were finished by then stay.'), ('runner_gone', 'The process that ran it died; cells that were finished by then stay.'), ('parts_missing', 'What this worker needs is not installed here.'), ('fault', 'The runner itself failed, so this says nothing about the worker.')], max_length=20)),
                ('fault', models.TextField(blank=True)),
                ('stopped_by', models.CharField(blank=True, max_length=200)),
                ('versions', models.JSONField(blank=True, default=dict)),
                ('folder', models.CharField(blank=True, max_length=2000)),
                ('host', models.CharField(blank=True, max_length=200)),
                ('pid', models.PositiveIntegerField(blank=True, null=True)),
                ('pid_began', models.FloatField(blank=True, null=True)),
                ('at_window', models.CharField(blank=True, choices=[('before_commit', 'Crash before checkpoint commit'), ('after_commit', 'Crash after commit, before it is known'), ('receipt_lost', 'Remote write accepted, receipt lost'), ('two_resumes', 'Two resumes at once'), ('frozen_owner', 'Lease lapsed, old worker alive'), ('changed_while_paused', 'Source or approval changed while paused')], max_length=20)),
                ('repetitions_done', models.PositiveIntegerField(default=0)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='windowrow',
            name='window_verdict_is_known',
        ),
        migrations.AlterField(
            model_name='windowrow',
            name='verdict',
            field=models.CharField(blank=True, choices=[('held', 'Held'), ('unknown_held', 'Unknown, held'), ('failed', 'Failed'), ('not_expressible', 'Cannot be expressed')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='windowrow',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['held', 'unknown_held', 'failed', 'not_expressible']), ('verdict', ''), _connector='OR'), name='window_verdict_is_known'),
        ),
        migrations.AddField(
            model_name='drillrun',
            name='contract',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='contracts.contract'),
        ),
        migrations.AddField(
            model_name='drillresult',
            name='run',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='results', to='contracts.drillrun'),
        ),
        migrations.AddIndex(
            model_name='drillrun',
            index=models.Index(fields=['adapter', 'target', '-id'], name='runs_by_adapter_and_target'),
        ),
        migrations.AddIndex(
            model_name='drillrun',
            index=models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['id'], name='open_runs'),
        ),
        migrations.AddConstraint(
            model_name='drillrun',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'stopping', 'done', 'stopped', 'failed'])), name='run_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='drillrun',
            constraint=models.CheckConstraint(condition=models.Q(('target__in', ['plain', 'deduplicates', 'checks_generation', 'proxy'])), name='run_target_is_known'),
        ),
        migrations.AddConstraint(
            model_name='drillrun',
            constraint=models.CheckConstraint(condition=models.Q(('repeat__range', (1, 1000))), name='run_repeats_in_range'),
        ),
        migrations.AddConstraint(
            model_name='drillrun',
            constraint=models.CheckConstraint(condition=models.Q(('end_reason__in', ['completed', 'asked', 'runner_ended', 'runner_gone', 'parts_missing', 'fault']), ('end_reason', ''), _connector='OR'), name='run_end_is_known'),
        ),
        migrations.AddConstraint(
            model_name='drillrun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('end_reason', ''), ('ended_at__isnull', True), ('state__in', ['queued', 'running', 'stopping'])), models.Q(models.Q(('state__in', ['queued', 'running', 'stopping']), _negated=True), ('ended_at__isnull', False), models.Q(('end_reason', ''), _negated=True)), _connector='OR'), name='run_end_has_reason'),
        ),
        migrations.AddConstraint(
            model_name='drillrun',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running', 'stopping'])), fields=('contract',), name='one_open_run_per_contract'),
        ),
        migrations.AddConstraint(
            model_name='drillresult',
            constraint=models.UniqueConstraint(fields=('run', 'window'), name='one_result_per_window'),
        ),
        migrations.AddConstraint(
            model_name='drillresult',
            constraint=models.CheckConstraint(condition=models.Q(('window__in', ['before_commit', 'after_commit', 'receipt_lost', 'two_resumes', 'frozen_owner', 'changed_while_paused'])), name='result_window_is_known'),
        ),
        migrations.AddConstraint(
            model_name='drillresult',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['held', 'unknown_held', 'failed', 'not_expressible']), ('verdict', ''), _connector='OR'), name='result_verdict_is_known'),
        ),
        migrations.RunSQL(TRIGGER, "DROP FUNCTION contracts_drill_is_final CASCADE"),
    ]

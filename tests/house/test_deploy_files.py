"""What operators are given beside the code names nothing that isn't there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dms_project.operators import exposition
from jobqueue.control import reasons
from jobqueue.management.commands.runworker import Command

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
ALERTS = (DEPLOY / "prometheus/alerts.yml").read_text()
RUNBOOK = (ROOT / "docs/how-to/runbook.md").read_text()


def metrics(text: str) -> set[str]:
    return set(re.findall(r"\bdms_(?:jobs|database|oldest|job|tenants|worker)[a-z_]*", text))


def test_alerts_and_dashboard_ask_for_metrics_that_there_are() -> None:
    known = metrics(Path(exposition.__file__).read_text())
    dashboard = json.loads((DEPLOY / "grafana/jobs.json").read_text())
    asked = metrics(" ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"]))
    assert asked <= known
    assert metrics(" ".join(re.findall(r"expr: (.*)", ALERTS))) <= known


def test_each_alert_has_its_entry_in_the_runbook() -> None:
    names = re.findall(r"- alert: (\w+)", ALERTS)
    assert names
    assert re.findall(r"runbook_url: (.*)", ALERTS) == [f"docs/how-to/runbook.md#{name.lower()}" for name in names]
    assert {f"## {name}" for name in names} <= set(RUNBOOK.splitlines())


def test_each_reason_why_a_job_is_not_running_has_its_entry() -> None:
    codes = set(re.findall(r'Reason\(\s*"(\w+)"', Path(reasons.__file__).read_text()))
    assert set(re.findall(r"^\| `(\w+)` \|", RUNBOOK, re.MULTILINE)) == codes


@pytest.mark.parametrize("name", ["systemd/dms-worker@.service", "container/compose.yaml"])
def test_workers_are_started_with_options_that_there_are(name: str) -> None:
    text = (DEPLOY / name).read_text()
    parser: Any = Command().create_parser("manage.py", "runworker")
    options = set(re.findall(r"(?<![\w-])--[a-z-]+", text.partition("runworker")[2].partition("\n")[0]))
    assert options
    assert options <= set(parser._option_string_actions)


def test_no_shell_stands_between_a_supervisor_and_the_worker() -> None:
    """It would swallow SIGTERM, and each stop would end in SIGKILL (O10)."""
    units = [path.read_text() for path in sorted((DEPLOY / "systemd").glob("*.service"))]
    started = [line for unit in units for line in unit.splitlines() if line.startswith("ExecStart=")]
    assert len(started) == 5
    assert all(line.startswith("ExecStart=/srv/dms/.venv/bin/") for line in started)
    assert all(int(wait) > 20 for unit in units for wait in re.findall(r"TimeoutStopSec=(\d+)", unit))
    container = (DEPLOY / "container/Containerfile").read_text()
    assert re.findall(r"^(?:CMD|ENTRYPOINT) .", container, re.MULTILINE) == ["CMD ["]

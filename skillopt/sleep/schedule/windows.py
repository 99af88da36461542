"""Windows: a task of the Task Scheduler, as the XML that `schtasks /Create /XML` takes."""

from __future__ import annotations

import subprocess
from xml.etree import ElementTree

from skillopt.sleep.schedule.job import Job

_SPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"


def task_name(job_id: str) -> str:
    """`SkillOpt-Sleep-<20 hex>`."""
    return f"SkillOpt-Sleep-{job_id}"


def task_xml(job: Job) -> bytes:
    """The task's bytes (UTF-16, as the scheduler wants them)."""
    root = ElementTree.Element("Task", {"version": "1.2", "xmlns": _SPACE})
    trigger = ElementTree.SubElement(ElementTree.SubElement(root, "Triggers"), "CalendarTrigger")
    ElementTree.SubElement(trigger, "StartBoundary").text = f"2026-01-01T{job.hour:02}:{job.minute:02}:00"
    ElementTree.SubElement(ElementTree.SubElement(trigger, "ScheduleByDay"), "DaysInterval").text = "1"
    settings = ElementTree.SubElement(root, "Settings")
    ElementTree.SubElement(settings, "MultipleInstancesPolicy").text = "IgnoreNew"
    ElementTree.SubElement(settings, "StartWhenAvailable").text = "true"
    action = ElementTree.SubElement(ElementTree.SubElement(root, "Actions"), "Exec")
    program, *arguments = job.command
    ElementTree.SubElement(action, "Command").text = program
    ElementTree.SubElement(action, "Arguments").text = subprocess.list2cmdline(arguments)
    return ElementTree.tostring(root, encoding="utf-16", xml_declaration=True)

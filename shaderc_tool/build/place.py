"""Bring one planned output into place: keep it, take it from the store, or write what was just made.

Modules are not flushed to the disk one by one, which costs more than making them: the state is, after them, and it
knows each by size, times and digest, so that one which a power failure damaged is made again.
"""

from __future__ import annotations

import hashlib

from shaderc_tool.build.plan import Action, decide, key_of
from shaderc_tool.build.records import BUILT, CACHED, KEPT, ActionRecord
from shaderc_tool.build.session import Session
from shaderc_tool.build.sources import Closure


def plan(session: Session, output: str, kind: str, subject: str, parts: dict[str, str], closure: Closure) -> Action:
    """The action for one output whose key is made of `parts`."""
    key = key_of(parts, kind)
    known = session.state.outputs.get(output) if session.request.use_cache else None
    verdict, reason = decide(known, key, parts, closure, session.index, session.output_signature(output))
    return Action(output, kind, subject, key, parts, closure, verdict, reason)


def keep(session: Session, record: ActionRecord) -> None:
    """The output is in place and current."""
    before = session.state.outputs[record.output]
    record.status, record.sha256, record.size = KEPT, before["sha256"], before["size"]


def restore(session: Session, record: ActionRecord, action: Action) -> bool:
    """Put the stored result of the same key in place; false when there is none."""
    entry = session.store.get(action.key)
    if entry is None:
        return False
    session.folder.write(record.output, entry.data, durable=False)
    record.status, record.sha256, record.size = CACHED, entry.sha256, len(entry.data)
    record.note = entry.messages or record.note
    session.remember_output(record, action.key, action.parts)
    session.progress.step(record)
    return True


def put(session: Session, record: ActionRecord, action: Action, data: bytes) -> None:
    """Write a new result, store it and remember it."""
    record.status, record.sha256, record.size = BUILT, hashlib.sha256(data).hexdigest(), len(data)
    session.folder.write(record.output, data, durable=False)
    session.store.put(action.key, data, record.note)
    session.remember_output(record, action.key, action.parts)

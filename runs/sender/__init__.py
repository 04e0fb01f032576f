"""What an agent imports to report to Footprint. It needs no Django.

`AsyncSender` is for asyncio programs, `Sender` for all others (it has a thread of its own); both take the same events
and have the same methods. `Buffer` and `DiskBuffer` set other limits than the usual ones.
"""

from runs.sender.buffer import Buffer
from runs.sender.client import AsyncSender
from runs.sender.disk import DiskBuffer
from runs.sender.emitter import Status
from runs.sender.protocol import Refusal
from runs.sender.run import Run
from runs.sender.sync import Sender

__all__ = ["AsyncSender", "Buffer", "DiskBuffer", "Refusal", "Run", "Sender", "Status"]

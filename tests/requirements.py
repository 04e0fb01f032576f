"""What some tests need beside Python: each is found on the PATH, or its tests say the one command that brings it."""

import os
import shutil
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    marker: str
    programs: tuple[str, ...]  # any one of them
    command: str
    required_by: str  # the environment variable that turns a skip into a failure

    def path(self) -> str | None:
        return next((path for name in self.programs if (path := shutil.which(name))), None)

    @property
    def is_required(self) -> bool:
        return os.environ.get(self.required_by) == "1"

    @property
    def sentence(self) -> str:
        return f"needs {self.programs[0]} on the PATH; this brings it: {self.command}"


CHROMIUM = Requirement(
    "browser",
    ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "sudo apt-get install -y chromium",
    "FOOTPRINT_REQUIRE_BROWSER",
)
NODE = Requirement("node", ("node",), "sudo apt-get install -y nodejs", "FOOTPRINT_REQUIRE_NODE")
ALL = (CHROMIUM, NODE)

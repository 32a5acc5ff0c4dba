"""`make campaign NAME=…`: run a campaign of scripts/campaigns.toml, all nightly ones, or list them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("campaigns.toml")
NIGHTLY = "nightly"


@dataclass(frozen=True)
class Campaign:
    """A campaign: shell commands with the variables that they read.

    `minutes` is its time on two idle cores, `needs` are its requirements beyond `make test`, `set` has the defaults of
    its variables.
    """

    name: str
    about: str
    minutes: int
    run: str
    needs: str = ""
    nightly: bool = True
    set: dict[str, str] = field(default_factory=dict)

    def shown(self) -> str:
        """Return the campaign's lines of the list."""
        variables = " ".join(
            f"{name}={value!r}" if " " in value else f"{name}={value}" for name, value in self.set.items()
        )
        more = [text for text in (f"needs {self.needs}" if self.needs else "", variables) if text]
        lines = [f"{self.name:<16} {self.minutes:>4} min  {self.about}", *(f"{'':<27}{text}" for text in more)]
        return "\n".join(lines)

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """Return the variables of its commands: the given values, else the defaults."""
        return {"ARGS": "", "WORKERS": "2", "PYTHON": sys.executable} | self.set | given


def campaigns() -> dict[str, Campaign]:
    """Return the campaigns by name, in the order of the table."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: Campaign(name=name, **entry) for name, entry in table.items()}


def run(campaign: Campaign) -> bool:
    """Run a campaign; return whether it passed."""
    print(f"== {campaign.name}: {campaign.about} (about {campaign.minutes} minutes)", flush=True)
    command = ["bash", "-euo", "pipefail", "-c", campaign.run]
    given = {name: value for name, value in os.environ.items() if value or name not in campaign.set}
    return subprocess.run(command, env=campaign.environment(given), cwd=TABLE.parents[1], check=False).returncode == 0


def main(name: str) -> int:
    """Run the campaign of a name, or every nightly one; without a name print the list."""
    known = campaigns()
    if not name:
        print(*(campaign.shown() for campaign in known.values()), sep="\n")
        print(f"{NIGHTLY:<16}           all campaigns above that are not part of the gate")
        return 0
    if name != NIGHTLY and name not in known:
        print(f"There is no campaign {name!r}; the campaigns are: {', '.join((*known, NIGHTLY))}", file=sys.stderr)
        return 2
    chosen = [c for c in known.values() if c.nightly] if name == NIGHTLY else [known[name]]
    failed = [campaign.name for campaign in chosen if not run(campaign)]
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))

"""The command `paimon-sql`, also as `python -m paimon_sql`. Commands on tables start without PySpark."""

from __future__ import annotations

import gc
import sys

from paimon_core.optional_packages import missing_pyspark
from paimon_sql.shell.tables import TABLE_COMMANDS, run_table_command


def main() -> int:
    """Run the command, and return its exit status."""
    words = sys.argv[1:]
    if words[:1] and words[0] in TABLE_COMMANDS and words != ["doctor"]:  # without a table it checks Spark
        return run_table_command(words)
    if words[:1] == ["ui"]:
        from paimon_sql.shell.ui import run_ui  # noqa: PLC0415  other commands need none of it

        return run_ui(words[1:])
    try:
        from paimon_sql.shell.main import main as run_shell  # noqa: PLC0415  it imports PySpark
    except ModuleNotFoundError as error:
        problem = missing_pyspark(f"This command needs Spark, unlike {', '.join(TABLE_COMMANDS)}: it", error)
        if problem is error:
            raise
        sys.stderr.write(f"{problem}\n")
        return 1
    return run_shell()


def command() -> None:
    """Run the command as the only work of this process, and end the process."""
    status = main()
    if sys.argv[1:2] and sys.argv[1] in TABLE_COMMANDS:
        gc.freeze()  # before it ends, Python would search all objects for garbage: a tenth of the time of a look-up
    sys.exit(status)


if __name__ == "__main__":
    command()

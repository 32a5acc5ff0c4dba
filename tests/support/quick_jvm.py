"""Options of the JVMs that tests start, each for many short statements."""

import sys
from pathlib import Path

# compiled quickly rather than well; a cache of the usual size would be full soon, and methods be compiled again
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
# of this environment's Spark, by scripts/class_archive. A JVM that it does not fit goes on without it, silently
_CLASSES = Path(sys.prefix) / "spark-classes.jsa"
ARCHIVED = (
    f"{QUICK_JVM} -Xshare:auto -Xlog:disable -XX:SharedArchiveFile={_CLASSES}" if _CLASSES.exists() else QUICK_JVM
)

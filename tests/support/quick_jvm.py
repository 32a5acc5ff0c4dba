"""Options of the JVMs that tests start, each for many short statements."""

import sys
from importlib.metadata import version
from pathlib import Path

# compiled quickly rather than well; a cache of the usual size would be full soon, and methods be compiled again
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
# of this environment's Spark, by scripts/class_archive; empty where there is none for this Java
CLASSES = Path(sys.prefix) / f"spark-{version('pyspark')}-classes.jsa"
_HAS_CLASSES = CLASSES.exists() and CLASSES.stat().st_size > 0
# a JVM that the classes do not fit goes on without them, silently
ARCHIVED = f'{QUICK_JVM} -Xlog:disable -XX:SharedArchiveFile="{CLASSES}"' if _HAS_CLASSES else QUICK_JVM

"""Options of the JVMs that tests start, each for many short statements."""

import sys
from importlib.metadata import version
from pathlib import Path

# compile quickly rather than well; with a cache of the usual size, methods would soon be compiled again
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
# an archive of the classes of this environment's Spark, by scripts/class_archive; empty if there is none for this Java
CLASSES = Path(sys.prefix) / f"spark-{version('pyspark')}-classes.jsa"
_HAS_CLASSES = CLASSES.exists() and CLASSES.stat().st_size > 0
# a JVM that the archive does not fit silently runs without it
ARCHIVED = f'{QUICK_JVM} -Xlog:disable -XX:SharedArchiveFile="{CLASSES}"' if _HAS_CLASSES else QUICK_JVM

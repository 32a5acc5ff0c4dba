"""Options of the JVMs that tests start, each for many short statements."""

# compiled quickly rather than well; a cache of the usual size would be full soon, and methods be compiled again
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"

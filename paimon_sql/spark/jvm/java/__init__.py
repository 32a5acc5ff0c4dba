"""Java that is compiled in the driver's JVM: one class per file, see `Jvm.compiled`. This module imports nothing."""

package paimon_sql;

import java.util.Map;
import scala.Option;
import org.apache.spark.SparkConf;

/** The choice of the Python for a driver, and the errors of one that cannot be used. */
public final class Interpreter {
  private static final String SET_IT = "spark.pyspark.driver.python";

  /** Reports a line for what is missing; else runs until the driver ends. Any version of Python can read it. */
  public static final String BOOTSTRAP =
    "import sys\n"
    + "def lacks(what):\n"
    + "    sys.stdout.write(what + '\\n')\n"
    + "    sys.stdout.flush()\n"
    + "    sys.exit(1)\n"
    + "sys.path[:] = [path for path in sys.path if path]\n"
    + "if sys.version_info < (3, 11):\n"
    + "    lacks('python %d.%d' % tuple(sys.version_info[:2]))\n"
    + "import importlib.util\n"
    + "if importlib.util.find_spec('paimon_sql') is None:\n"
    + "    lacks('package paimon_sql')\n"
    + "try:\n"
    + "    if importlib.util.find_spec('paimon_sql.door') is None:\n"
    + "        lacks('version')\n"
    + "    from paimon_sql.door.start import main\n"
    + "except ImportError as error:\n"
    + "    lacks('failed ' + str(error))\n"
    + "main()\n";

  /** The command of Python, by Spark's settings and variables; `environment` is the driver's. */
  public static String command(SparkConf settings, Map environment) {
    String[] keys = new String[] {SET_IT, "spark.pyspark.python"};
    for (int i = 0; i < keys.length; i++) {
      Option found = settings.getOption(keys[i]);
      if (found.isDefined() && !((String) found.get()).isEmpty()) return (String) found.get();
    }
    String[] names = new String[] {"PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"};
    for (int i = 0; i < names.length; i++) {
      String found = (String) environment.get(names[i]);
      if (found != null && !found.isEmpty()) return found;
    }
    return "python3";
  }

  /** The error for a Python that cannot be started. */
  public static DoorException notFound(String command, Throwable cause) {
    return new DoorException("Python could not be started for Paimon tables: " + cause.getMessage() + ". Set " + SET_IT
      + " to the path of a Python of version 3.11 or later that has paimon-sql.", cause);
  }

  /** The error for a line that `BOOTSTRAP` has written, or `paimon_sql.door.start` after it. */
  public static DoorException lacking(String command, String line) {
    String other = "or set " + SET_IT + " to the path of a Python that has it.";
    if (line.startsWith("python "))
      return new DoorException("Python " + command + " cannot serve Paimon tables: its version is "
        + line.substring(7) + ", and paimon-sql needs 3.11 or later. Install one with paimon-sql, and set " + SET_IT
        + " to its path.", null);
    if (line.startsWith("package "))
      return new DoorException("Python " + command + " cannot serve Paimon tables: the package paimon-sql is missing. "
        + "Install it: " + command + " -m pip install paimon-sql, " + other, null);
    if (line.equals("version"))
      return new DoorException("Python " + command + " cannot serve Paimon tables: its package paimon-sql does not fit "
        + "this jar. Make the jar again with that package: paimon-sql jar --out paimon-sql-door.jar.", null);
    String reason = line.startsWith("failed ") ? line.substring(7) : line;
    return new DoorException("Python " + command + " could not begin to serve Paimon tables: " + reason, null);
  }
}

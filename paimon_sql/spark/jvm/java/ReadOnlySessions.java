import java.util.*;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * A check of Spark's analyzer that refuses each command but those that are known to write nothing.
 *
 * What changes data, files or a catalog is a command, however it was asked for: as SQL, by a DataFrame's writer, or by a
 * statement of ours. Spark analyzes each before it runs. A stream that writes is a plan of another kind, and procedures
 * run while they are analyzed: a rule that sees plans before that refuses them.
 */
public class ReadOnlySessions {
  private static final Set HARMLESS = new HashSet(Arrays.asList(new Object[] {
    "CacheTable", "CacheTableAsSelect", "ClearCacheCommand", "CloseCursor", "CommandResult", "CreateTempViewUsing",
    "CreateVariable", "DeclareCursor", "DropTempViewCommand", "DropVariable", "FetchCursor", "ListArchivesCommand",
    "ListFilesCommand", "ListJarsCommand", "OpenCursor", "RefreshFunction", "RefreshFunctionCommand", "RefreshResource",
    "RefreshTable", "RefreshTableCommand", "ResetCommand", "SetCatalogAndNamespace", "SetCatalogCommand", "SetCommand",
    "SetNamespaceCommand", "SetPathCommand", "SetVariable", "UncacheTable"}));

  /** Have the sessions that are made from one refuse writes with an error of this condition. */
  public void install(SparkSessionExtensions extensions, final String condition) {
    extensions.injectCheckRule(new AbstractFunction1() {
      public Object apply(Object session) { return check(condition); }
    });
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) { return new Uncalled(condition); }
    });
  }

  static class Uncalled extends Rule {
    private final String condition;

    Uncalled(String condition) { this.condition = condition; }

    public TreeNode apply(TreeNode plan) {
      if (plan instanceof Call) refuse(condition, "Call");
      return plan;
    }
  }

  private static Function1 check(final String condition) {
    final Function1 each = new AbstractFunction1() {
      public Object apply(Object node) {
        if (!isHarmless(node)) refuse(condition, node.getClass().getSimpleName());
        return BoxedUnit.UNIT;
      }
    };
    return new AbstractFunction1() {
      public Object apply(Object plan) {
        ((LogicalPlan) plan).foreach(each);
        return BoxedUnit.UNIT;
      }
    };
  }

  private static boolean isHarmless(Object node) {
    String name = node.getClass().getSimpleName();
    if (name.startsWith("WriteToStream") || name.startsWith("WriteToMicroBatch")) return false;
    if (!(node instanceof Command)) return true;
    if (HARMLESS.contains(name) || name.startsWith("Show") || name.startsWith("Describe")) return true;
    if (name.endsWith("ExplainCommand")) return true;
    if (name.equals("CreateViewCommand")) return !answer(node, "viewType").equals("PersistedView");
    return name.endsWith("FunctionCommand") && answer(node, "isTemp").equals("true");
  }

  /** What a method of a command says, as text; nothing where it has none of the name. */
  private static String answer(Object node, String method) {
    try {
      String said = String.valueOf(node.getClass().getMethod(method, new Class[0]).invoke(node, new Object[0]));
      return said.endsWith("$") ? said.substring(0, said.length() - 1) : said;
    } catch (Exception e) {
      return "";
    }
  }

  private static void refuse(String condition, String name) {
    String message = "This server only reads, and the statement (" + name + ") may write: use one that was started "
      + "without --read-only.";
    scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
    scala.collection.immutable.Map values = (scala.collection.immutable.Map) none.updated("message", message);
    Platform.throwException(new AnalysisException(condition, values));
  }
}

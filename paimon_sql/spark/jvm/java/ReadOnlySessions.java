import java.lang.reflect.Method;
import java.util.*;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Two checks in Spark's analyzer that refuse each statement unless it is known to only read.
 *
 * Every request of a client, as SQL or by a DataFrame, is a tree of plans and expressions, which Spark analyzes before it
 * runs. The trees are checked twice. First as parsed, because Spark evaluates parts of them while it analyzes. Then as
 * analyzed, because only then they include the definitions of views and functions. Each class, function, data source,
 * option and setting must be on a list.
 */
public class ReadOnlySessions {
  private static final String SPARK = "org.apache.spark.sql.";
  private static final Pattern OF_OPTIONS = Pattern.compile("(?:from|to|schema_of)_(?:avro|csv|json|xml)");
  private static final String PATHS = "paimon_path";  // the catalog in which a table's name is its path
  private static final String OURS = "paimon";  // the format of our tables
  private static final String TEMPORARY = "only temporary ones are allowed";
  private static final String OF_ALL = "other sessions see it";

  /** Make sessions created from this one refuse names that are not listed for their kind, with errors of a condition. */
  public void install(SparkSessionExtensions extensions, final String condition, BiPredicate listed) {
    final Reads reads = new Reads(condition, listed);
    extensions.injectCheckRule(new AbstractFunction1() {
      public Object apply(Object session) {
        return new AbstractFunction1() {
          public Object apply(Object plan) {
            reads.checkAll((LogicalPlan) plan, false);
            return BoxedUnit.UNIT;
          }
        };
      }
    });
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) { return new Parsed(reads); }
    });
  }

  /** A rule that checks plans before they are analyzed. */
  static class Parsed extends Rule {
    private final Reads reads;

    Parsed(Reads reads) { this.reads = reads; }

    public TreeNode apply(TreeNode plan) {
      reads.checkAll((LogicalPlan) plan, true);
      return plan;
    }
  }

  /** The check of a plan against the lists. */
  static class Reads {
    private final String condition;
    private final BiPredicate listed;

    Reads(String condition, BiPredicate listed) {
      this.condition = condition;
      this.listed = listed;
    }

    private boolean has(String kind, String name) { return listed.test(kind, name); }

    void checkAll(LogicalPlan plan, boolean parsed) {
      listed.test("plan is checked", Boolean.TRUE);
      try {
        check(plan, parsed);
      } finally {
        listed.test("plan is checked", Boolean.FALSE);
      }
    }

    private void check(LogicalPlan plan, boolean parsed) {
      String name = nameOf(plan);
      String reason = name == null || !has("plan", name) && !(parsed && has("parsed", name)) ? "" : refusal(plan, name);
      if (reason == null) reason = ofName(answer(plan, hasMember(plan, "nameParts") ? "nameParts" : "multipartIdentifier"));
      if (reason != null) refuse(plan.getClass().getSimpleName() + (reason.isEmpty() ? "" : ": " + reason));
      for (Iterator each = plan.expressions().iterator(); each.hasNext();) checkExpression((Expression) each.next(), parsed);
      for (Iterator each = plan.children().iterator(); each.hasNext();) check((LogicalPlan) each.next(), parsed);
      Object relation = answer(plan, "relation");  // the table of time travel, which is not a child
      if (relation instanceof LogicalPlan) check((LogicalPlan) relation, parsed);
      if (name.equals("ExplainCommand")) return;  // it analyzes the explained plan, which is then checked
      for (Iterator each = plan.innerChildren().iterator(); each.hasNext();) {
        Object inner = each.next();
        if (inner instanceof LogicalPlan) check((LogicalPlan) inner, parsed);
      }
    }

    private void checkExpression(Expression one, boolean parsed) {
      String name = nameOf(one);
      if (name == null || !has("expression", name)) refuse(one.getClass().getSimpleName());
      if (name.equals("UnresolvedFunction")) checkFunction(answer(one, "nameParts"));
      String reason = parsed ? ofArguments(one, name) : ofOptions(answer(one, "options"));
      if (reason != null) refuse(reason);
      if (one instanceof PlanExpression) {
        Object inner = ((PlanExpression) one).plan();
        if (inner instanceof LogicalPlan) check((LogicalPlan) inner, parsed);
      }
      for (Iterator each = one.children().iterator(); each.hasNext();) checkExpression((Expression) each.next(), parsed);
    }

    /** A function of Spark must be listed. Functions of catalogs and temporary ones are checked once they are resolved. */
    private void checkFunction(Object parts) {
      String name = lastOf(parts);
      if (has("function", name)) return;
      FunctionIdentifier known = new FunctionIdentifier(name);
      if (FunctionRegistry$.MODULE$.builtin().functionExists(known)
          || TableFunctionRegistry$.MODULE$.builtin().functionExists(known)) refuse("the function " + name);
    }

    /** The reason to refuse a plan of a listed class; null if it is allowed. */
    private String refusal(LogicalPlan plan, String name) {
      if (name.equals("SetCommand")) return ofSettings(answer(plan, "kv"), true);
      if (name.equals("SetCatalogCommand") || name.equals("SetPathCommand"))  // a name without a path could be one then
        return plan.simpleString(Integer.MAX_VALUE).toLowerCase(Locale.ROOT).indexOf(PATHS) < 0 ? null : "the catalog " + PATHS;
      if (name.equals("ResetCommand")) return ofSettings(answer(plan, "config"), false);
      if (name.equals("CreateTempViewUsing"))
        return is(answer(plan, "global"), "false") ? ofSource(answer(plan, "provider"), answer(plan, "options")) : OF_ALL;
      if (name.equals("UnresolvedDataSource")) {
        String reason = ofPaths(answer(plan, "paths"));
        return reason == null ? ofSource(answer(plan, "format"), answer(plan, "options")) : reason;
      }
      if (name.equals("CreateViewCommand")) return ofView(answer(plan, "viewType"));
      if (name.endsWith("FunctionCommand") && hasMember(plan, "isTemp"))
        return is(answer(plan, "isTemp"), "true") ? null : TEMPORARY;
      if (name.equals("UnresolvedTableValuedFunction")) checkFunction(answer(plan, "name"));
      if (name.equals("UnresolvedRelation") || name.equals("RelationChanges")) return ofOptions(answer(plan, "options"));
      if (name.equals("LogicalRelation")) return ofLoaded(answer(plan, "relation"), answer(plan, "catalogTable"));
      return null;
    }

    private static String ofView(Object kind) {
      if (is(kind, "LocalTempView")) return null;
      return is(kind, "GlobalTempView") ? OF_ALL : TEMPORARY;
    }

    private String ofSettings(Object asked, boolean isSet) {
      if (asked == null) return "";
      scala.Option given = (scala.Option) asked;
      if (given.isEmpty()) return null;
      if (!isSet) return has("setting", String.valueOf(given.get())) ? null : "the setting " + given.get();
      scala.Tuple2 pair = (scala.Tuple2) given.get();
      if (((scala.Option) pair._2()).isEmpty()) return null;
      boolean isListed = has("setting", String.valueOf(pair._1())) && has("value", String.valueOf(((scala.Option) pair._2()).get()));
      return isListed ? null : "the setting " + pair._1();
    }

    private String ofSource(Object source, Object options) {
      String name = String.valueOf(source).toLowerCase(Locale.ROOT);
      if (!has("source", name)) return "the data source " + name;
      return ofOptions(options);
    }

    /** The reason to refuse a name, null if it is allowed. The name may be a path: after a data source, or of a Paimon table. */
    private String ofName(Object parts) {
      if (!(parts instanceof scala.collection.Seq) || ((scala.collection.Seq) parts).isEmpty()) return null;
      scala.collection.Seq all = (scala.collection.Seq) parts;
      String last = String.valueOf(all.last());
      boolean isPath = String.valueOf(all.head()).equalsIgnoreCase(PATHS);
      if (isPath && all.size() > 1) return ofPath(joined(all, 1), "place");
      if (String.valueOf(all.head()).indexOf('/') >= 0 && all.size() > 1) return ofPath(joined(all, 0), "place");
      String place = last.indexOf('$') < 0 ? last : last.substring(0, last.indexOf('$'));
      boolean isNamed = isPath || place.indexOf('/') >= 0 || all.size() == 2 && (place.indexOf(':') >= 0 || isOfSource(String.valueOf(all.head())));
      boolean isOurs = isPath || all.size() == 2 && OURS.equalsIgnoreCase(String.valueOf(all.head()));
      return isNamed ? ofPath(last, isOurs ? "place" : "tree") : null;
    }

    /** Return whether Spark reads the second part of a name as a relative path, because the first part is a data source and not a database. */
    private boolean isOfSource(String source) {
      if (!has("source", source.toLowerCase(Locale.ROOT)) && source.indexOf('.') < 0) return false;
      CatalogManager catalogs = ((SparkSession) SparkSession.active()).sessionState().catalogManager();
      Object current = catalogs.currentCatalog();
      boolean isDatabase = current instanceof SupportsNamespaces && ((SupportsNamespaces) current).namespaceExists(new String[] {source});
      return !isDatabase && !catalogs.isCatalogRegistered(source);
    }

    /** The parts of a name from one on, joined to a path. */
    private static String joined(scala.collection.Seq parts, int first) {
      StringBuilder path = new StringBuilder();
      for (int i = first; i < parts.size(); i++) path.append(i > first ? "/" : "").append(parts.apply(i));
      return path.toString();
    }

    private String ofPaths(Object paths) {
      if (!(paths instanceof scala.collection.Seq)) return null;
      for (Iterator each = ((scala.collection.Seq) paths).iterator(); each.hasNext();) {
        String reason = ofPath(each.next(), "tree");
        if (reason != null) return reason;
      }
      return null;
    }

    /** The reason to refuse a path. Spark opens all files below it (a tree); our tables open files by their metadata. */
    private String ofPath(Object path, String kind) {
      if (has(kind, String.valueOf(path))) return null;
      return "the path " + path + ", which is outside of this server's warehouses";
    }

    /** The reason to refuse options. Unlisted ones may configure Hadoop, a storage or another catalog, or name files. */
    private String ofOptions(Object options) {
      for (java.util.Iterator each = keys(options).iterator(); each.hasNext();) {
        String key = String.valueOf(each.next());
        if (!has("option", key)) return "the option " + key;
      }
      for (java.util.Iterator each = pairs(options).entrySet().iterator(); each.hasNext();) {
        Map.Entry one = (Map.Entry) each.next();
        String key = String.valueOf(one.getKey()).toLowerCase(Locale.ROOT), reason;
        boolean isPath = key.equals("path") || key.equals("basepath");
        if (isPath && (reason = ofPath(one.getValue(), "tree")) != null) return reason;
        if (key.equals("catalog") && PATHS.equalsIgnoreCase(String.valueOf(one.getValue()))) return "the catalog " + PATHS;
      }
      return null;
    }

    private static Map pairs(Object options) {
      if (options instanceof Map) return (Map) options;
      Map found = new HashMap();
      if (!(options instanceof scala.collection.Map)) return found;
      for (Iterator each = ((scala.collection.Map) options).iterator(); each.hasNext();) {
        scala.Tuple2 one = (scala.Tuple2) each.next();
        found.put(one._1(), one._2());
      }
      return found;
    }

    /** Check the options of a function. They must be literals, because Spark may evaluate a function early in the analysis. */
    private String ofArguments(Expression function, String name) {
      if (!name.equals("UnresolvedFunction") || !OF_OPTIONS.matcher(lastOf(answer(function, "nameParts"))).matches()) return null;
      for (Iterator each = function.children().iterator(); each.hasNext();) {
        Expression given = (Expression) each.next();
        if (!isMap(given)) continue;
        Iterator inner = given.children().iterator();
        for (int i = 0; inner.hasNext(); i++) {
          Expression key = (Expression) inner.next();
          if (i % 2 == 1) continue;
          if (!(key instanceof Literal)) return "an option that is not a literal";
          if (!has("option", String.valueOf(((Literal) key).value()))) return "the option " + key;
        }
      }
      return null;
    }

    private static boolean isMap(Expression given) {
      return "UnresolvedFunction".equals(nameOf(given)) && lastOf(answer(given, "nameParts")).equals("map");
    }

    /** The reason to refuse a loaded relation. The files of a catalog's table may be anywhere. */
    private String ofLoaded(Object relation, Object table) {
      if (relation == null || !has("relation", relation.getClass().getSimpleName())) return "its data source";
      boolean isNamed = table instanceof scala.Option && ((scala.Option) table).isDefined();
      Object files = isNamed ? null : answer(relation, "location");
      return files == null ? null : ofPaths(answer(files, "rootPaths"));
    }

    /** The names of options, in any form that Spark has them; none if the value is not of such a form. */
    private static java.util.Collection keys(Object options) {
      if (options instanceof java.util.Map) return ((java.util.Map) options).keySet();
      List found = new ArrayList();
      if (options instanceof Expression) {
        Object value = ((Expression) options).foldable() ? ((Expression) options).eval(null) : "that are not literals";
        if (!(value instanceof MapData)) return value == null ? found : Collections.singletonList(value);
        return Arrays.asList(((MapData) value).keyArray().toObjectArray(DataTypes.StringType));
      }
      if (!(options instanceof scala.collection.Map)) return found;
      for (Iterator each = ((scala.collection.Map) options).keysIterator(); each.hasNext();) found.add(each.next());
      return found;
    }

    private void refuse(String name) {
      String message = "This server only reads, and the statement (" + name + ") may write, or is not known to read: use a "
        + "server that was started without --read-only.";
      scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
      scala.collection.immutable.Map values = (scala.collection.immutable.Map) none.updated("message", message);
      Platform.throwException(new AnalysisException(condition, values));
    }
  }

  /** The last part of a name, in lower case. */
  private static String lastOf(Object parts) {
    return String.valueOf(((scala.collection.Seq) parts).last()).toLowerCase(Locale.ROOT);
  }

  /** The name of a Spark class in the lists, without its package; null for a class of another library. */
  private static String nameOf(Object node) {
    String full = node.getClass().getName();
    if (!full.startsWith(SPARK)) return null;
    String name = full.substring(full.lastIndexOf('.') + 1);
    return name.endsWith("$") ? name.substring(0, name.length() - 1) : name;
  }

  private static boolean is(Object said, String wanted) {
    String text = String.valueOf(said);
    return (text.endsWith("$") ? text.substring(0, text.length() - 1) : text).equals(wanted);
  }

  private static boolean hasMember(Object node, String method) {
    try {
      return node.getClass().getMethod(method, new Class[0]) != null;
    } catch (NoSuchMethodException e) {
      return false;
    }
  }

  /** The value of a plan's member; null if it has no member of this name. */
  private static Object answer(Object node, String method) {
    try {
      Method found = node.getClass().getMethod(method, new Class[0]);
      return found.invoke(node, new Object[0]);
    } catch (Exception e) {
      return null;
    }
  }
}

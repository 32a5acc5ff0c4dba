import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.BindParameters$;
import org.apache.spark.sql.catalyst.analysis.ParameterizedQuery;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import scala.Function2;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** A rule that passes a statement to a function of this package once its parameters have values, before Spark resolves it. */
public class BoundParameters {
  /** Whether a parsed statement has parameters, also in the queries of WITH, which are not children of its node. */
  public boolean has(Object parsed) {
    LogicalPlan plan = (LogicalPlan) parsed;
    if (plan.containsPattern(TreePattern$.MODULE$.PARAMETER())) return true;
    if (!(plan instanceof UnresolvedWith)) return false;
    UnresolvedWith with = (UnresolvedWith) plan;
    for (Iterator it = CollectionConverters.asJava((scala.collection.Iterable) with.cteRelations()).iterator(); it.hasNext();) {
      if (has(((Product) it.next()).productElement(1))) return true;
    }
    return has(with.child());
  }

  /**
   * The text and the values of the query `SELECT mark, text, value, …` as SQL spells them; null for any other plan, and if a
   * parameter has no value.
   */
  public Object[] values(Object parsed, String mark) {
    if (!(parsed instanceof Project) || ((LogicalPlan) parsed).containsPattern(TreePattern$.MODULE$.PARAMETER())) return null;
    List found = new ArrayList();
    for (Iterator each = CollectionConverters.asJava(((Project) parsed).projectList()).iterator(); each.hasNext();) {
      Expression one = (Expression) each.next();
      if (one instanceof UnresolvedAlias) one = ((UnresolvedAlias) one).child();
      if (one instanceof Alias) one = ((Alias) one).child();  // of EXECUTE IMMEDIATE … USING value AS name
      boolean isText = found.size() < 2 && one instanceof Literal;
      found.add(isText ? String.valueOf(((Literal) one).value()) : one.sql());
      if (!found.get(0).equals(mark)) return null;
    }
    return found.subList(1, found.size()).toArray();
  }

  /** Install the rule in a session and in sessions created from it. `rewrite` takes a session and a plan, and returns a plan. */
  public void install(SparkSession session, SparkSessionExtensions extensions, Object analyzer, final Function2 rewrite)
      throws Exception {
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object of) { return new Bound((SparkSession) of, rewrite); }
    });
    Field rules = field(analyzer.getClass());
    rules.setAccessible(true);
    List all = new ArrayList(CollectionConverters.asJava((scala.collection.Seq) rules.get(analyzer)));
    all.add(new Bound(session, rewrite));
    rules.set(analyzer, CollectionConverters.asScala(all).toSeq());
  }

  /** Whether an analyzer has the rule. */
  public boolean isInstalled(Object analyzer) throws Exception {
    Field rules = field(analyzer.getClass());
    rules.setAccessible(true);
    Iterator all = CollectionConverters.asJava((scala.collection.Seq) rules.get(analyzer)).iterator();
    while (all.hasNext()) if (all.next() instanceof Bound) return true;
    return false;
  }

  static Field field(Class of) throws NoSuchFieldException {
    Field[] fields = of.getDeclaredFields();
    for (int i = 0; i < fields.length; i++) if (fields[i].getName().equals("hintResolutionRules")) return fields[i];
    if (of.getSuperclass() == null) throw new NoSuchFieldException("hintResolutionRules");
    return field(of.getSuperclass());
  }

  static class Bound extends Rule {
    private final SparkSession session;
    private final Function2 rewrite;

    Bound(SparkSession session, Function2 rewrite) {
      this.session = session;
      this.rewrite = rewrite;
    }

    public TreeNode apply(TreeNode plan) {
      if (!(plan instanceof ParameterizedQuery)) return plan;
      LogicalPlan bound = (LogicalPlan) BindParameters$.MODULE$.apply((LogicalPlan) plan);
      if (bound instanceof ParameterizedQuery) return plan;
      return (LogicalPlan) rewrite.apply(session, bound);
    }
  }
}

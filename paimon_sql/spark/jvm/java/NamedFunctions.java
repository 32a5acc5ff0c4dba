import java.util.*;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** Renames calls of `sys` functions to temporary functions: Spark before 4.2 lets no catalog make the expression of a call. */
public class NamedFunctions {
  public static class Rule extends AbstractPartialFunction {
    private final String prefix;
    private final Set names, catalogs;
    private final boolean isCurrent;

    Rule(String prefix, Set names, Set catalogs, boolean isCurrent) {
      this.prefix = prefix;
      this.names = names;
      this.catalogs = catalogs;
      this.isCurrent = isCurrent;
    }

    private String name(Object node) {
      if (!(node instanceof UnresolvedFunction)) return null;
      List parts = CollectionConverters.asJava(((UnresolvedFunction) node).nameParts());
      int n = parts.size();
      if (n < 2 || n > 3 || !"sys".equalsIgnoreCase((String) parts.get(n - 2))) return null;
      if (n == 2 ? !isCurrent : !catalogs.contains(parts.get(0))) return null;
      String name = ((String) parts.get(n - 1)).toLowerCase();
      return names.contains(name) ? name : null;
    }

    public boolean isDefinedAt(Object node) { return name(node) != null; }

    public Object applyOrElse(Object node, Function1 other) {
      String name = name(node);
      if (name == null) return other.apply(node);
      UnresolvedFunction called = (UnresolvedFunction) node;
      Object[] parts = new Object[called.productArity()];
      for (int i = 0; i < parts.length; i++) parts[i] = called.productElement(i);
      parts[0] = CollectionConverters.asScala(Collections.singletonList(prefix + name)).toSeq();
      return called.makeCopy(parts);
    }
  }

  /** Common table expressions are no children of the node that has them. */
  public static class Plans extends AbstractPartialFunction {
    private final Rule rule;
    Plans(Rule rule) { this.rule = rule; }
    public boolean isDefinedAt(Object node) { return node instanceof UnresolvedWith; }

    public Object applyOrElse(Object node, Function1 other) {
      if (!isDefinedAt(node)) return other.apply(node);
      UnresolvedWith with = (UnresolvedWith) node;
      List found = new ArrayList();
      for (Iterator it = CollectionConverters.asJava(with.cteRelations()).iterator(); it.hasNext();) {
        Product one = (Product) it.next();
        Object plan = of((LogicalPlan) one.productElement(1), rule);
        found.add(one.productArity() == 2
          ? (Object) new scala.Tuple2(one.productElement(0), plan)
          : (Object) new scala.Tuple3(one.productElement(0), plan, one.productElement(2)));
      }
      Object[] parts = new Object[with.productArity()];
      for (int i = 0; i < parts.length; i++) parts[i] = with.productElement(i);
      parts[1] = CollectionConverters.asScala(found).toSeq();
      return with.makeCopy(parts);
    }
  }

  private static Object of(LogicalPlan plan, Rule rule) {
    LogicalPlan inner = (LogicalPlan) plan.transformDownWithSubqueries(new Plans(rule));
    return inner.transformAllExpressionsWithSubqueries(rule);
  }

  public Object named(Object plan, String prefix, Set names, Set catalogs, boolean isCurrent) {
    return of((LogicalPlan) plan, new Rule(prefix, names, catalogs, isCurrent));
  }
}

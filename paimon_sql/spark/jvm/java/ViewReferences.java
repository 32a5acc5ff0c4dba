import java.util.*;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.*;
import scala.Function1;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** The names in a query, its subqueries and common table expressions: the parts of each name, joined by NULs. */
public class ViewReferences {
  public static class Collector extends AbstractPartialFunction {
    final Set names = new LinkedHashSet(), aliases = new HashSet();

    public boolean isDefinedAt(Object node) {
      if (node instanceof UnresolvedWith) {
        for (Iterator it = CollectionConverters.asJava(((UnresolvedWith) node).cteRelations()).iterator(); it.hasNext();) {
          Product one = (Product) it.next();
          aliases.add(((String) one.productElement(0)).toLowerCase(Locale.ROOT));
          ((LogicalPlan) one.productElement(1)).transformDownWithSubqueries(this);
        }
      } else if (node instanceof UnresolvedRelation) {
        names.add(String.join("\0", CollectionConverters.asJava(((UnresolvedRelation) node).multipartIdentifier())));
      }
      return false;
    }

    public Object applyOrElse(Object node, Function1 other) {
      isDefinedAt(node);
      return other.apply(node);
    }
  }

  /** The tables and views in a parsed query. */
  public String relations(Object plan) {
    Collector found = new Collector();
    ((LogicalPlan) plan).transformDownWithSubqueries(found);
    for (Iterator it = found.names.iterator(); it.hasNext();) {
      if (found.aliases.contains(((String) it.next()).toLowerCase(Locale.ROOT))) it.remove();
    }
    return String.join("\n", found.names);
  }
}

import java.net.URLEncoder;
import java.util.*;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.analysis.*;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import scala.Function1;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Moves options that change a table's columns into the names of a query's tables.
 *
 * Spark before 4.3 passes these options only to the scan, after the columns are resolved. A table keeps its own name as an
 * alias.
 */
public class StateOptions {
  private static String encoded(UnresolvedRelation relation, Set keys) {
    StringBuilder out = new StringBuilder();
    for (Iterator it = relation.options().asCaseSensitiveMap().entrySet().iterator(); it.hasNext();) {
      Map.Entry entry = (Map.Entry) it.next();
      String key = ((String) entry.getKey()).toLowerCase(Locale.ROOT);
      if (!keys.contains(key)) continue;
      if (out.length() > 0) out.append("&");
      try {
        String name = URLEncoder.encode(key, "UTF-8");
        out.append(name).append("=").append(URLEncoder.encode((String) entry.getValue(), "UTF-8"));
      } catch (java.io.UnsupportedEncodingException e) {
        throw new RuntimeException(e);
      }
    }
    return out.toString();
  }

  public static class Rule extends AbstractPartialFunction {
    private final Set keys, ours;
    private final CatalogManager catalogs;
    private final String mark, catalog, namespace;

    Rule(Set keys, Set ours, CatalogManager catalogs, String mark, String catalog, String namespace) {
      this.keys = keys;
      this.ours = ours;
      this.catalogs = catalogs;
      this.mark = mark;
      this.catalog = catalog;
      this.namespace = namespace;
    }

    public boolean isDefinedAt(Object node) {
      if (node instanceof UnresolvedWith) return true;
      if (!(node instanceof UnresolvedRelation)) return false;
      UnresolvedRelation relation = (UnresolvedRelation) node;
      boolean isNamed = ((String) relation.multipartIdentifier().last()).contains(mark);
      return !isNamed && encoded(relation, keys).length() > 0 && mayBeOurs(relation.multipartIdentifier());
    }

    /** Whether a name may lead to a catalog of this package: other catalogs have options of the same names. */
    private boolean mayBeOurs(scala.collection.Seq parts) {
      String first = (String) parts.head();
      if (parts.size() > 1 && ours.contains(first)) return true;
      return ours.contains(catalog) && !(parts.size() > 1 && catalogs.isCatalogRegistered(first));
    }

    public Object applyOrElse(Object node, Function1 other) {
      if (!isDefinedAt(node)) return other.apply(node);
      return node instanceof UnresolvedWith ? of((UnresolvedWith) node) : named((UnresolvedRelation) node);
    }

    private Object named(UnresolvedRelation relation) {
      List parts = new ArrayList(CollectionConverters.asJava(relation.multipartIdentifier()));
      String name = (String) parts.get(parts.size() - 1);
      List qualifier = new ArrayList(parts.subList(0, parts.size() - 1));
      if (qualifier.isEmpty()) qualifier.add(namespace);
      if (qualifier.size() == 1) qualifier.add(0, catalog);
      parts.set(parts.size() - 1, name + mark + encoded(relation, keys));
      UnresolvedRelation named = new UnresolvedRelation(
        CollectionConverters.asScala(parts).toSeq(), relation.options(), relation.isStreaming());
      named.copyTagsFrom(relation);
      return new SubqueryAlias(new AliasIdentifier(name, CollectionConverters.asScala(qualifier).toSeq()), named);
    }

    /** Handle the common table expressions of a node, which are not its children: tuples of names, plans and more. */
    private Object of(UnresolvedWith node) {
      List found = new ArrayList();
      for (Iterator it = CollectionConverters.asJava(node.cteRelations()).iterator(); it.hasNext();) {
        Product one = (Product) it.next();
        Object plan = ((LogicalPlan) one.productElement(1)).transformDownWithSubqueries(this);
        found.add(one.productArity() == 2
          ? (Object) new scala.Tuple2(one.productElement(0), plan)
          : (Object) new scala.Tuple3(one.productElement(0), plan, one.productElement(2)));
      }
      Object[] parts = new Object[node.productArity()];
      for (int i = 0; i < parts.length; i++) parts[i] = node.productElement(i);
      parts[1] = CollectionConverters.asScala(found).toSeq();
      return node.makeCopy(parts);
    }
  }

  /** `ours` are the names of this package's catalogs; `catalog` and `namespace` are current. */
  public Object named(Object plan, Set keys, Set ours, CatalogManager catalogs, String mark, String catalog, String namespace) {
    return ((LogicalPlan) plan).transformDownWithSubqueries(new Rule(keys, ours, catalogs, mark, catalog, namespace));
  }
}

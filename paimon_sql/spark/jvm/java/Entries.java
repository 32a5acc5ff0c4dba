import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.Map;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Maps, lists and expressions as JSON, in one crossing to Python. Otherwise each entry would take a crossing. */
public class Entries {
  private static final List WITH_TERMS = Arrays.asList("Predicate", "And", "Or", "Not", "GeneralScalarExpression");
  private final ObjectMapper json = new ObjectMapper();

  public HashMap of(String text) throws Exception {
    return (HashMap) json.readValue(text, HashMap.class);
  }

  /** The options of a statement, names as typed. */
  public String options(CaseInsensitiveStringMap options) throws Exception {
    return json.writeValueAsString(options.asCaseSensitiveMap());
  }

  public String map(Map texts) throws Exception {
    return json.writeValueAsString(CollectionConverters.asJava(texts));
  }

  public String seq(Seq texts) throws Exception {
    return json.writeValueAsString(CollectionConverters.asJava(texts));
  }

  /** The parts of the namespace, then the name. */
  public String identifier(Identifier identifier) throws Exception {
    List parts = new ArrayList(Arrays.asList(identifier.namespace()));
    parts.add(identifier.name());
    return json.writeValueAsString(parts);
  }

  /** A connector expression, or an Option of one; null for None. See `pushdown.py`. */
  public String term(Object node) throws Exception {
    if (node instanceof Option) return ((Option) node).isDefined() ? term(((Option) node).get()) : "null";
    return json.writeValueAsString(tree((Expression) node));
  }

  /** The connector expressions of an array. It may be of a subclass of `Expression`: Py4J passes such arrays only as `Object`. */
  public String terms(Object nodes) throws Exception {
    List trees = new ArrayList();
    Expression[] given = (Expression[]) nodes;
    for (int i = 0; i < given.length; i++) trees.add(tree(given[i]));
    return json.writeValueAsString(trees);
  }

  private static Object tree(Expression node) {
    String kind = node.getClass().getSimpleName();
    if (kind.equals("FieldReference")) return Arrays.asList("field", ((NamedReference) node).fieldNames());
    if (kind.equals("LiteralValue")) return literal(((LiteralValue) node).value());
    List call = new ArrayList(Arrays.asList("call", kind));
    if (!WITH_TERMS.contains(kind)) return call;
    String name = ((GeneralScalarExpression) node).name();
    Expression[] children = node.children();
    call.set(1, name);
    // do not send thousands of literals for an expression that is not a column
    int wanted = name.equals("IN") && !isColumn(children[0]) ? 1 : children.length;
    LinkedList left = new LinkedList(Arrays.asList(children).subList(0, wanted));
    while (!left.isEmpty()) {
      Expression child = (Expression) left.removeFirst();
      if (isChain(name, child)) left.addAll(0, Arrays.asList(child.children()));
      else call.add(tree(child));
    }
    return call;
  }

  /** Whether an operand of AND or OR has the same operator. Hundreds of them nest deeply, so they are flattened. */
  private static boolean isChain(String name, Expression child) {
    boolean joins = name.equals("AND") || name.equals("OR");
    return joins && child instanceof GeneralScalarExpression && ((GeneralScalarExpression) child).name().equals(name);
  }

  private static boolean isColumn(Expression node) {
    return node.getClass().getSimpleName().equals("FieldReference") && ((NamedReference) node).fieldNames().length == 1;
  }

  /** A literal as JSON. FLOAT and DOUBLE are texts, because JSON has no NaN. Other kinds than number, text, binary are null. */
  private static Object literal(Object value) {
    if (value instanceof Float || value instanceof Double) return Arrays.asList("float", value.toString());
    if (value instanceof byte[]) return Arrays.asList("binary", value);
    boolean plain = value instanceof Number || value instanceof Boolean;
    boolean text = value instanceof UTF8String || value instanceof Decimal;
    return Arrays.asList("literal", plain ? value : text ? value.toString() : null);
  }
}

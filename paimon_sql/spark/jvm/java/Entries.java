import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.ArraysOverlap;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.*;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.Product;
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

  /** The members of a plan by their names: texts, numbers, booleans, and lists and maps of them. An Option is a list. Others are null. */
  public String members(Product plan) throws Exception {
    LinkedHashMap found = new LinkedHashMap();
    for (int i = 0; i < plan.productArity(); i++) found.put(plan.productElementName(i), plain(plan.productElement(i)));
    return json.writeValueAsString(found);
  }

  private static Object plain(Object value) {
    if (value instanceof String || value instanceof Number || value instanceof Boolean) return value;
    if (value instanceof Option)
      return ((Option) value).isDefined() ? Collections.singletonList(plain(((Option) value).get())) : Collections.emptyList();
    if (value instanceof Seq) {
      List found = new ArrayList();
      for (Iterator it = CollectionConverters.asJava((Seq) value).iterator(); it.hasNext();) found.add(plain(it.next()));
      return found;
    }
    if (!(value instanceof Map)) return null;
    LinkedHashMap found = new LinkedHashMap();
    for (Iterator it = CollectionConverters.asJava((Map) value).entrySet().iterator(); it.hasNext();) {
      java.util.Map.Entry entry = (java.util.Map.Entry) it.next();
      found.put(entry.getKey(), plain(entry.getValue()));
    }
    return found;
  }

  private static void put(Object array, int start, Object[] values) {
    for (int i = 0; i < values.length; i++) java.lang.reflect.Array.set(array, start + i, values[i]);
  }

  // Py4J passes no list of Java objects in one call
  public void fill(Object array, int start, Object a) { put(array, start, new Object[] {a}); }
  public void fill(Object array, int start, Object a, Object b) { put(array, start, new Object[] {a, b}); }
  public void fill(Object array, int start, Object a, Object b, Object c) { put(array, start, new Object[] {a, b, c}); }
  public void fill(Object array, int start, Object a, Object b, Object c, Object d) { put(array, start, new Object[] {a, b, c, d}); }
  public void fill(Object array, int start, Object a, Object b, Object c, Object d, Object e) { put(array, start, new Object[] {a, b, c, d, e}); }
  public void fill(Object array, int start, Object a, Object b, Object c, Object d, Object e, Object f) { put(array, start, new Object[] {a, b, c, d, e, f}); }
  public void fill(Object array, int start, Object a, Object b, Object c, Object d, Object e, Object f, Object g) { put(array, start, new Object[] {a, b, c, d, e, f, g}); }
  public void fill(Object array, int start, Object a, Object b, Object c, Object d, Object e, Object f, Object g, Object h) { put(array, start, new Object[] {a, b, c, d, e, f, g, h}); }

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

  /** What an aggregation groups by, and its functions: the kind of each, and for known kinds its column and whether it is distinct. */
  public String aggregation(Aggregation aggregation) throws Exception {
    List groups = new ArrayList(), functions = new ArrayList();
    Expression[] by = aggregation.groupByExpressions();
    for (int i = 0; i < by.length; i++) groups.add(tree(by[i]));
    Expression[] called = aggregation.aggregateExpressions();
    for (int i = 0; i < called.length; i++) {
      Expression one = called[i];
      String kind = one.getClass().getSimpleName();
      if (one instanceof Count) functions.add(Arrays.asList(kind, tree(((Count) one).column()), ((Count) one).isDistinct()));
      else if (one instanceof Sum) functions.add(Arrays.asList(kind, tree(((Sum) one).column()), ((Sum) one).isDistinct()));
      else if (one instanceof Min) functions.add(Arrays.asList(kind, tree(((Min) one).column()), false));
      else if (one instanceof Max) functions.add(Arrays.asList(kind, tree(((Max) one).column()), false));
      else functions.add(Arrays.asList(kind));
    }
    return json.writeValueAsString(Arrays.asList(groups, functions));
  }

  /** A filter of Catalyst's with array_contains or arrays_overlap, which Spark does not translate; null for others. */
  public String arrayFilter(org.apache.spark.sql.catalyst.expressions.Expression filter) throws Exception {
    return json.writeValueAsString(ofArrays(filter));
  }

  private static Object ofArrays(org.apache.spark.sql.catalyst.expressions.Expression node) {
    if (node instanceof And) return ofParts("AND", node);
    if (node instanceof Or) return ofParts("OR", node);
    if (node instanceof Not) return ofParts("NOT", node);
    if (node instanceof ArrayContains) return hasAny(((ArrayContains) node).left(), ((ArrayContains) node).right(), false);
    if (node instanceof ArraysOverlap) {
      Object found = hasAny(((ArraysOverlap) node).left(), ((ArraysOverlap) node).right(), true);
      return found != null ? found : hasAny(((ArraysOverlap) node).right(), ((ArraysOverlap) node).left(), true);
    }
    Option translated = DataSourceV2Strategy$.MODULE$.translateFilterV2(node);
    return translated.isDefined() ? tree((Expression) translated.get()) : null;
  }

  /** The operands of AND, OR or NOT; null if one of them has no translation. */
  private static Object ofParts(String name, org.apache.spark.sql.catalyst.expressions.Expression node) {
    List call = new ArrayList(Arrays.asList("call", name));
    LinkedList left = new LinkedList(CollectionConverters.asJava(node.children()));
    while (!left.isEmpty()) {
      org.apache.spark.sql.catalyst.expressions.Expression child = (org.apache.spark.sql.catalyst.expressions.Expression) left.removeFirst();
      if (child.getClass() == node.getClass() && !(node instanceof Not)) {
        left.addAll(0, CollectionConverters.asJava(child.children()));
        continue;
      }
      Object part = ofArrays(child);
      if (part == null) return null;
      call.add(part);
    }
    return call;
  }

  /** Whether an ARRAY column has one of some constants. NULL equals no element. */
  private static Object hasAny(
      org.apache.spark.sql.catalyst.expressions.Expression column,
      org.apache.spark.sql.catalyst.expressions.Expression given,
      boolean several) {
    if (!(column instanceof AttributeReference) || !(given instanceof Literal) || ((Literal) given).value() == null) return null;
    String name = ((AttributeReference) column).name();
    List call = new ArrayList(Arrays.asList("call", "ARRAYS_OVERLAP", Arrays.asList("field", new String[] {name})));
    Object value = ((Literal) given).value();
    if (!several) call.add(literal(value));
    else {
      ArrayData values = (ArrayData) value;
      for (int i = 0; i < values.numElements(); i++)
        if (!values.isNullAt(i)) call.add(literal(values.get(i, ((ArrayType) given.dataType()).elementType())));
    }
    return call;
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

  /** A literal as JSON. FLOAT and DOUBLE are texts, because JSON has no NaN. Other kinds than number, text, binary are null.
   *  JSON has no text that is not UTF-8: it would equal other values. */
  private static Object literal(Object value) {
    if (value instanceof UTF8String && !((UTF8String) value).isValid()) return Arrays.asList("call", "INVALID_TEXT");
    if (value instanceof Float || value instanceof Double) return Arrays.asList("float", value.toString());
    if (value instanceof byte[]) return Arrays.asList("binary", value);
    boolean plain = value instanceof Number || value instanceof Boolean;
    boolean text = value instanceof UTF8String || value instanceof Decimal;
    return Arrays.asList("literal", plain ? value : text ? value.toString() : null);
  }
}

import java.lang.reflect.*;
import java.util.*;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.util.Utils;
import scala.Product;

/** Finds members of Spark's classes, hundreds in one call, and reads private ones. */
public class Members {
  private static final String[] EMPTY = {"scala.Option", "boolean", "scala.collection.immutable.Map"};

  private static Class load(String name) {
    try {
      return Class.forName(name, false, Utils.getContextOrSparkClassLoader());
    } catch (Throwable e) { // an existing class may need a missing one
      return null;
    }
  }

  private static boolean parses(String statement) {
    try {
      new SparkSqlParser().parsePlan(statement);
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  /** Whether the code of a class mentions another. */
  private static boolean mentions(Class owner, String name) {
    java.io.InputStream code = owner.getResourceAsStream("/" + owner.getName().replace('.', '/') + ".class");
    if (code == null) return false;
    try {
      return new String(code.readAllBytes(), "ISO-8859-1").contains(name.replace('.', '/'));
    } catch (java.io.IOException e) {
      return false;
    }
  }

  /** The methods of a name, of a class and of the classes and interfaces above it; constructors if the name is empty. */
  private static List called(Class owner, String name) {
    List found = new ArrayList();
    if (name.isEmpty()) {
      found.addAll(Arrays.asList(owner.getDeclaredConstructors()));
      return found;
    }
    List all = new ArrayList(Arrays.asList(owner.getMethods()));
    all.addAll(Arrays.asList(owner.getDeclaredMethods()));
    for (Iterator it = all.iterator(); it.hasNext();) {
      Method method = (Method) it.next();
      if (method.getName().equals(name) && !method.isBridge() && !found.contains(method)) found.add(method);
    }
    return found;
  }

  /** A letter for the empty value of a type: N, F and M for None, false and an empty Map; null for a type without one. */
  private static String rest(Class[] types, int given) {
    StringBuilder rest = new StringBuilder();
    for (int i = given; i < types.length; i++) {
      int kind = Arrays.asList(EMPTY).indexOf(types[i].getName());
      if (kind < 0) return null;
      rest.append("NFM".charAt(kind));
    }
    return rest.toString();
  }

  /** The empty values to add to `given` arguments, for the method or constructor with the fewest parameters that they fit. */
  public String added(String owner, String name, int given, boolean isPrivate) {
    Class found = load(owner);
    String best = null;
    for (Iterator it = found == null ? Collections.emptyIterator() : called(found, name).iterator(); it.hasNext();) {
      Executable one = (Executable) it.next();
      if (one.getParameterCount() < given || (isPrivate && !Modifier.isPrivate(one.getModifiers()))) continue;
      String rest = rest(one.getParameterTypes(), given);
      if (rest != null && (best == null || rest.length() < best.length())) best = rest;
    }
    return best;
  }

  private boolean isThere(String[] member) {
    if (member[0].equals("grammar")) return parses(member[2]);
    Class owner = load(member[1]);
    if (owner == null || member[0].equals("class")) return owner != null;
    if (member[0].equals("mention")) return mentions(owner, member[2]);
    if (member[0].equals("field")) {
      Field[] fields = owner.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) if (fields[i].getName().equals(member[2])) return true;
      return false;
    }
    if (member[4].equals("fits")) return added(member[1], member[2], Integer.parseInt(member[3]), false) != null;
    for (Iterator it = called(owner, member[2]).iterator(); it.hasNext();) {
      int count = ((Executable) it.next()).getParameterCount();
      if (member[3].isEmpty() || count == Integer.parseInt(member[3])) return true;
    }
    return false;
  }

  /** Whether a method of an interface may throw an exception. `interfaces` has a name in each line. */
  public boolean mayRaise(String interfaces, String name, Throwable thrown) {
    if (thrown instanceof RuntimeException || thrown instanceof Error) return true;
    String[] names = interfaces.split("\n");
    for (int i = 0; i < names.length; i++) {
      Class owner = load(names[i]);
      for (Iterator it = owner == null ? Collections.emptyIterator() : called(owner, name).iterator(); it.hasNext();) {
        Class[] declared = ((Executable) it.next()).getExceptionTypes();
        for (int j = 0; j < declared.length; j++) if (declared[j].isInstance(thrown)) return true;
      }
    }
    return false;
  }

  /** The names of a plan's members, in lines. */
  public String members(Product plan) {
    StringBuilder names = new StringBuilder();
    for (int i = 0; i < plan.productArity(); i++) names.append(i == 0 ? "" : "\n").append(plan.productElementName(i));
    return names.toString();
  }

  /** A copy of a plan in which some members have other values; null if the plan has no member of one of the `names`, in lines. */
  public Object copied(TreeNode plan, String names, Object values) {
    List known = Arrays.asList(members(plan).split("\n"));
    String[] wanted = names.split("\n");
    Object[] arguments = new Object[known.size()];
    for (int i = 0; i < arguments.length; i++) arguments[i] = ((Product) plan).productElement(i);
    for (int i = 0; i < wanted.length; i++) {
      int at = known.indexOf(wanted[i]);
      if (at < 0) return null;
      arguments[at] = Array.get(values, i);
    }
    return plan.makeCopy(arguments);
  }

  /** The value of a private field of an object's class. */
  public Object value(Object owner, String name) throws Exception {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(owner);
  }

  /** A 1 or a 0 for each line. A line is a member: kind, class, name, number of parameters and `fits`, with tabs between them. */
  public String there(String lines) {
    StringBuilder out = new StringBuilder();
    String[] members = lines.split("\n");
    for (int i = 0; i < members.length; i++) out.append(isThere(members[i].split("\t", -1)) ? '1' : '0');
    return out.toString();
  }
}

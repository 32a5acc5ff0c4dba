import java.util.*;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;

/**
 * What a server that only reads allows: names by their kind, such as a plan, a function or a setting.
 *
 * The checks before each door ask the same lists. A setting or an option may also match a pattern, and variables may always
 * be set. The value of a setting may not name the server's environment. Options have no case.
 */
public class AllowLists implements BiPredicate {
  /** Spark replaces these in the value of a setting when it reads it, also where statements do not replace variables. */
  private static final Pattern OF_SERVER = Pattern.compile("\\$\\{\\w+:");
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private static final String OF_PATTERNS = " pattern";  // ends the kind of a line that has one
  private final Map names = new HashMap();  // sets, by kind
  private final Map patterns = new HashMap();  // lists, by kind

  /** Lists of lines: each has a kind and a name, with a tab between them. */
  public BiPredicate of(String lines) {
    AllowLists made = new AllowLists();
    String[] all = lines.split("\n");
    for (int i = 0; i < all.length; i++) {
      String[] one = all[i].split("\t");
      boolean isPattern = one[0].endsWith(OF_PATTERNS);
      String kind = isPattern ? one[0].substring(0, one[0].length() - OF_PATTERNS.length()) : one[0];
      Map into = isPattern ? made.patterns : made.names;
      if (!into.containsKey(kind)) into.put(kind, new HashSet());
      ((Set) into.get(kind)).add(isPattern ? (Object) Pattern.compile(one[1]) : one[1]);
    }
    return made;
  }

  public boolean test(Object kind, Object name) {
    if (kind.equals("value")) return !OF_SERVER.matcher(String.valueOf(name)).find();
    String asked = kind.equals("option") ? String.valueOf(name).toLowerCase(Locale.ROOT) : String.valueOf(name);
    Set found = (Set) names.get(kind);
    if (found != null && found.contains(asked)) return true;
    return kind.equals("setting") && VARIABLE.matcher(asked).matches() || matches((Set) patterns.get(kind), asked);
  }

  private static boolean matches(Set patterns, String name) {
    if (patterns == null) return false;
    for (Iterator each = patterns.iterator(); each.hasNext();)
      if (((Pattern) each.next()).matcher(name).matches()) return true;
    return false;
  }
}

import java.util.*;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;

/**
 * The names that a read-only server allows, by their kind, such as a plan, a function or a setting.
 *
 * All protocols of the server use the same lists. A setting or an option may also match a pattern, and variables may always
 * be set. A path must be a listed folder, or below one. The value of a setting must not name the server's environment.
 * Options have no case.
 */
public class AllowLists implements BiPredicate {
  /** Spark replaces these in the value of a setting when it reads it, also where statements do not replace variables. */
  private static final Pattern OF_SERVER = Pattern.compile("\\$\\{\\w+:");
  private static final Pattern UNCLEAR = Pattern.compile("\\.\\.|[\\\\\\x00-\\x1f]|\\{.*/.*\\}|^\\s|^//");
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private static final String OF_PATTERNS = " pattern";  // the kind of a line with a pattern ends so
  private final Map names = new HashMap();  // from a kind to a set
  private final Map patterns = new HashMap();  // from a kind to a list

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
    if (kind.equals("place")) return isWithin(String.valueOf(name), (Set) names.get(kind));
    if (kind.equals("value")) return !OF_SERVER.matcher(String.valueOf(name)).find();
    String asked = kind.equals("option") ? String.valueOf(name).toLowerCase(Locale.ROOT) : String.valueOf(name);
    Set found = (Set) names.get(kind);
    if (found != null && found.contains(asked)) return true;
    return kind.equals("setting") && VARIABLE.matcher(asked).matches() || matches((Set) patterns.get(kind), asked);
  }

  /** Whether a path is a listed folder, or below one. */
  private static boolean isWithin(String path, Set places) {
    String asked = place(path);
    if (asked == null || places == null) return false;
    for (Iterator each = places.iterator(); each.hasNext();) {
      String one = place((String) each.next());
      if (one != null && (asked.equals(one) || asked.startsWith(one.endsWith("/") ? one : one + "/"))) return true;
    }
    return false;
  }

  /**
   * Return a path with its scheme, without repeated separators; null for a path that Hadoop may read as one outside
   * of the folder that it begins with: by `..`, by an escaped character, or by alternatives, which are several paths.
   */
  private static String place(String path) {
    if (path.length() == 0 || UNCLEAR.matcher(path).find()) return null;
    int colon = path.indexOf(':'), slash = path.indexOf('/');
    boolean hasScheme = colon >= 0 && (slash < 0 || colon < slash);
    String scheme = hasScheme ? path.substring(0, colon).toLowerCase(Locale.ROOT) : "file";
    if (scheme.equals("s3a") || scheme.equals("s3n")) scheme = "s3";
    String rest = hasScheme ? path.substring(colon + 1) : path;
    String host = "";
    if (rest.startsWith("//")) {
      int end = rest.indexOf('/', 2);
      host = rest.substring(2, end < 0 ? rest.length() : end);
      rest = end < 0 ? "/" : rest.substring(end);
    }
    if (scheme.equals("file") && host.length() > 0) return null;
    if (!rest.startsWith("/")) {
      if (hasScheme) return null;
      rest = System.getProperty("user.dir") + "/" + rest;
    }
    rest = rest.replaceAll("/(?:\\.?/)+", "/").replaceAll("(?<=.)/\\.?$", "");
    return scheme + "://" + host + rest;
  }

  private static boolean matches(Set patterns, String name) {
    if (patterns == null) return false;
    for (Iterator each = patterns.iterator(); each.hasNext();)
      if (((Pattern) each.next()).matcher(name).matches()) return true;
    return false;
  }
}
